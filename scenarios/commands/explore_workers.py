"""Processes that try scenarios side by side, with their answers in the order of the questions."""

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

A = TypeVar("A")
B = TypeVar("B")

AT_A_TIME = 4
"""So many questions go to a process at once: enough not to count, few enough for all to end at about the same time."""
AHEAD = 4
"""For each process, so many lots are under way or wait to be read."""


class WorkerDiedError(Exception):
    """A process that did the work was ended from outside."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(jobs: int, work: Callable[[A], B], asked: Iterable[A]) -> Generator[B, None, None]:
    """Yield the answer to each question, in order; questions are asked ahead, so that nobody waits for the slowest.

    Args:
        jobs: how many processes; with 1 all is done in this one.
        work: can be pickled, as can its arguments and what it returns.

    Raises: WorkerDiedError.
    """
    if jobs == 1:
        yield from map(work, asked)
        return
    questions = iter(asked)
    # A fresh interpreter for each, on every platform: nothing of this one's threads and locks is taken along.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_leave_ctrl_c_to_the_parent)
    try:
        under_way: deque[Future[list[B]]] = deque()
        while True:
            while len(under_way) < AHEAD * jobs and (lot := list(islice(questions, AT_A_TIME))):
                under_way.append(pool.submit(partial(_do_all, work), lot))
            if not under_way:
                return
            yield from under_way.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerDiedError("a process that tried scenarios was killed, for want of memory perhaps") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _do_all(work: Callable[[A], B], lot: list[A]) -> list[B]:
    return [work(one) for one in lot]


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
