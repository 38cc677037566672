"""How far an exploration has come: a bar on a terminal, a line now and then without one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from kcsim.scenarios.exploring.campaign import Campaign

SECONDS_BETWEEN_LINES = 10.0

Progress = Callable[["Campaign"], None]
"""Told the sum after each run."""


@contextmanager
def progress_on(file: IO[str], what: str, how_many: int | None) -> Iterator[Progress]:
    """Tell on a file how far it is.

    Args:
        how_many: runs there will be; None if nobody knows.
    """
    from kcsim.scenarios.telling.timeline import console_on

    console = console_on(file)
    if not console.is_terminal:
        yield _lines(file, what, how_many)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=how_many)
        yield lambda campaign: bar.update(task, completed=campaign.runs, description=f"{what}: {_found(campaign)}")


def _lines(file: IO[str], what: str, how_many: int | None) -> Progress:
    last: float | None = None

    def tell(campaign: "Campaign") -> None:
        nonlocal last
        if last is None or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            of = f" of {how_many}" if how_many is not None else ""
            print(f"{what}: {campaign.runs}{of} runs, {_found(campaign)}", file=file, flush=True)

    return tell


def _found(campaign: "Campaign") -> str:
    known = sum(runs for runs, _ in campaign.known.values())
    return f"{len(campaign.failing)} violated, {known} with known faults"
