"""Worker processes that run trials in parallel; their results come in the order of the items."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from typing import TypeVar

from kcsim.scenarios.explore.garbage_collection import garbage_collected_seldom

A = TypeVar("A")
B = TypeVar("B")

BATCH_SIZE = 4
"""Items per batch for a process: enough to hide the overhead, few enough for all processes to end at about the same time."""
BATCHES_PER_PROCESS = 4
"""Number of batches per process that are being worked on or wait to be read."""


class WorkerDiedError(Exception):
    """A worker process was ended from outside."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(jobs: int, work: Callable[[A], B], items: Iterable[A]) -> Generator[B, None, None]:
    """Yield the result for each item, in order. Items are submitted ahead, so that no process waits for the slowest one.

    Args:
        jobs: number of processes; with 1 all work is done in this process.
        work: can be pickled, as can its arguments and results.

    Raises: WorkerDiedError.
    """
    if jobs == 1:
        with garbage_collected_seldom():
            yield from map(work, items)
        return
    remaining = iter(items)
    # A fresh interpreter for each, on every platform: the processes inherit no threads and no locks of this one.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_ignore_sigint)
    try:
        under_way: deque[Future[list[B]]] = deque()
        while True:
            while len(under_way) < BATCHES_PER_PROCESS * jobs and (batch := list(islice(remaining, BATCH_SIZE))):
                under_way.append(pool.submit(partial(_do_all, work), batch))
            if not under_way:
                return
            yield from under_way.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerDiedError("a process that tried scenarios was killed, for want of memory perhaps") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _do_all(work: Callable[[A], B], batch: list[A]) -> list[B]:
    with garbage_collected_seldom():
        return [work(one) for one in batch]


def _ignore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
