"""Measuring and printing of benchmarks: the median of a few rounds, and ratios between them."""

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of one measurement. `seconds` is the median of the rounds; `spread` is the smallest and the largest round."""

    name: str
    count: int
    seconds: float
    spread: tuple[float, float]

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


def measure(name: str, count: int, work: Callable[[], object], rounds: int = 3) -> Measured:
    """Time `work`, which handles `count` items, several times by the wall clock."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return summed_up(name, count, taken)


async def measure_async(name: str, count: int, work: Callable[[], Coroutine[Any, Any, object]], rounds: int = 3) -> Measured:
    """Time `work` as `measure` does, where `work` is asynchronous."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return summed_up(name, count, taken)


def summed_up(name: str, count: int, taken: Sequence[float]) -> Measured:
    """Return the median and the spread of these rounds, in seconds."""
    return Measured(name, count, statistics.median(taken), (min(taken), max(taken)))


def processor_seconds_of_children() -> float:
    """Return the processor time of all processes that this one has started and waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_environment() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.machine()}")


def print_table(title: str, baseline: Measured, *others: Measured) -> None:
    """Print one line for each measurement, with its speed as a multiple of the baseline's."""
    print(f"\n{title}")
    for measured in (baseline, *others):
        low, high = measured.spread
        print(
            f"  {measured.name:<58} {measured.seconds:8.2f} s ({low:.2f} to {high:.2f}) {measured.per_second:>12,.0f}/s"
            f" {measured.per_second / baseline.per_second:8.1f} x"
        )
