"""kcsim spark follow: transitions, running analyses and a page of event logs that are still being written."""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.options import DEFAULT_MASTER, Conf, Master, local_path, milliseconds, session

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.streaming.followed import Followed, MicroBatch
    from kcsim.scenarios.analysis.streaming.followed_log import FollowedLog
    from kcsim.scenarios.analysis.streaming.live_page import Pace

PAGE = "live.html"
SECONDS_BETWEEN_LINES = 10.0
RATE_OVER_SECONDS = 10.0


def follow(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="An event log (JSON lines), a folder of them, or kafka://host:port,…/TOPIC."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", parser=local_path, metavar="DIR", help="The dataset; one that was followed goes on."),
    ],
    until_end: Annotated[bool, typer.Option("--until-end", help="Stop when all that is there has been read.")] = False,
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="The batch of these runs; today's date (UTC) if not given.")
    ] = None,
    lateness: Annotated[
        str, typer.Option(metavar="TIME", help="How long to wait for an event that is missing: 10s, 1m.")
    ] = "10s",
    slots: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Parts in which partitions are folded at a time; the cores if not given."),
    ] = None,
    max_bytes: Annotated[int, typer.Option(metavar="N", min=1, help="What a micro-batch reads at most.")] = 32 * 2**20,
    interval: Annotated[str, typer.Option(metavar="TIME", help="The least time between two micro-batches.")] = "1s",
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
) -> None:
    """Follow event logs while they are written: replay them, analyse them, and show them on a page.

    DIR/live.html shows the cluster, and loads itself again. DIR/transitions is what `kcsim spark replay` writes for the
    whole log. After Ctrl-C, a crash or a power cut, the same command goes on where it was stopped: nothing is lost or
    counted twice.

    \b
    kcsim up --trace up.jsonl        # in another terminal
    kcsim spark follow up.jsonl -o live/
    kcsim spark follow kafka://127.0.0.1:9092/events -o live/

    Exit status: 0 the end was reached (--until-end), 2 a job failed, no broker has answered, or the log was truncated or
    replaced, 64 DIR is something else, there is no such log, or the command is invalid, 130 interrupted.
    """
    lateness_ms, interval_ms = milliseconds("--lateness", lateness), milliseconds("--interval", interval)
    from kcsim.scenarios.analysis.streaming.followed import FollowSettings, OtherSettingsError, batch_of, opened
    from kcsim.scenarios.analysis.tables.dataset import PathExistsError
    from kcsim.scenarios.analysis.tables.spark_session import cores_of

    followed_log = _checked(log)
    name = batch or batch_of(out) or time.strftime("%Y-%m-%d", time.gmtime())
    wanted = FollowSettings(str(followed_log), name, slots or cores_of(master), lateness_ms, max_bytes)
    try:
        with ExitStack() as stack:
            followed = stack.enter_context(opened(out, wanted))
            with _stderr_off():
                spark = stack.enter_context(session(master, conf, out, reads=()))  # Python reads the log
            from kcsim.scenarios.analysis.streaming.follow import follow as start

            display = _Display(followed, followed_log, interval_ms / 1_000)
            query = start(spark, followed, until_end=until_end, interval_ms=interval_ms, done=display.show)
            print(f"following {log}: {(out / PAGE).resolve().as_uri()}", file=sys.stderr, flush=True)
            try:
                query.awaitTermination()
            finally:
                display.end()
    except (OtherSettingsError, PathExistsError) as error:
        fail(str(error), ExitStatus.USAGE)
    print(display.line())


def _checked(text: str) -> "FollowedLog":
    """Return the log that the argument names, if it can be read; else end the command."""
    from kcsim.scenarios.analysis.streaming.event_log_source import log_at
    from kcsim.scenarios.analysis.streaming.followed_log import LogError
    from kcsim.scenarios.analysis.streaming.kafka_topic import (
        SCHEME,
        InvalidTopicUrlError,
        KafkaTopic,
        NoKafkaClientError,
        NoTopicError,
    )

    try:
        path = None if text.startswith(SCHEME) else local_path(text)
        if path is not None and not path.exists():
            fail(f"{text}: no such file or folder", ExitStatus.USAGE)
        log = log_at(text if path is None else str(path.resolve()))
        if isinstance(log, KafkaTopic):
            log.check()
    except (InvalidTopicUrlError, NoKafkaClientError, NoTopicError) as error:
        fail(str(error), ExitStatus.USAGE)
    except LogError as error:
        fail(str(error), ExitStatus.UNDECIDED)
    return log


@contextmanager
def _stderr_off() -> Iterator[None]:
    """Start processes without stderr in the context: Spark's worker for transformWithState prints each of its steps there.

    What this process itself prints there is printed as ever.
    """
    from kcsim.scenarios.analysis.tables.driver_jvm import LOG_VARIABLE

    if LOG_VARIABLE in os.environ:
        yield
        return
    sys.stderr.flush()
    own, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        with os.fdopen(os.dup(own), "w") as still, redirect_stderr(still):
            yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(nowhere)


class _Display:
    """Writes the page with each micro-batch, and a line to stderr every few seconds."""

    def __init__(self, followed: "Followed", log: "FollowedLog", interval_s: float) -> None:
        from kcsim.scenarios.analysis.streaming.live_page import Pace, RecentRows

        self._followed = followed
        self._log = log
        self._interval_s = interval_s
        self._before: tuple[float, float] | None = None  # when the latest micro-batch was planned, and when it was shown
        self._recent = RecentRows()
        self._pace = Pace(0.0, None, 0, log.unit)
        self._times: deque[tuple[float, int]] = deque([(time.monotonic(), self._events())])
        self._printed_at = 0.0
        self._write()

    def show(self, micro_batch: "MicroBatch") -> None:
        """Show a micro-batch that has been written."""
        self._recent.take(micro_batch)
        self._pace = self._paced(micro_batch.number)
        self._write()
        if time.monotonic() - self._printed_at >= SECONDS_BETWEEN_LINES:
            self._printed_at = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def end(self) -> None:
        """Show that the query has ended."""
        self._write(is_over=True)

    def line(self) -> str:
        """Return how far the query is, in one line."""
        from kcsim.scenarios.analysis.streaming.run_status import of_runs

        runs = of_runs(self._followed.statuses)
        transitions, late = sum(run.transitions for run in runs), sum(run.late for run in runs)
        behind = "" if self._pace.behind_s is None else f", {self._pace.behind_s:.1f} s behind"
        rejected = f", {late} too late" if late else ""
        return f"{self._followed.out}: {self._events():,} events, {transitions:,} transitions{rejected}{behind}"

    def _events(self) -> int:
        from kcsim.scenarios.analysis.streaming.run_status import of_runs

        return sum(run.events for run in of_runs(self._followed.statuses))

    def _paced(self, number: int) -> "Pace":
        """Return how the query keeps up.

        What is written just after a micro-batch was planned waits until the next one can be planned: when the first is
        done, and the interval is over. It is older by the time for what is not read yet.
        """
        from kcsim.scenarios.analysis.streaming.live_page import Pace

        now, places = time.monotonic(), self._followed.places(number)
        planned_at, shown_at = self._followed.planned_at(number), time.time()
        waited_s = 0.0
        if self._before is not None:
            planned_before, shown_before = self._before
            next_plan_s = max(self._interval_s, shown_before - planned_before)
            waited_s = min(planned_at - planned_before, next_plan_s)
        self._before = planned_at, shown_at
        self._times.append((now, self._events()))
        while len(self._times) > 2 and now - self._times[0][0] > RATE_OVER_SECONDS:
            self._times.popleft()
        (first_at, first), (_, last) = self._times[0], self._times[-1]
        rate = (last - first) / max(now - first_at, 1e-3)
        read, left = self._log.amount(places), self._log.left(places)
        seconds_left = left / read * last / rate if rate and read else 0.0
        return Pace(rate, shown_at - planned_at + waited_s + seconds_left, left, self._log.unit)

    def _write(self, *, is_over: bool = False) -> None:
        from kcsim.scenarios.analysis.streaming.followed import replace_file
        from kcsim.scenarios.analysis.streaming.live_page import live_page

        log = self._log
        page = live_page(
            log.name,
            log.awaited,
            self._followed.statuses,
            self._recent,
            self._pace,
            written_at=time.strftime("%Y-%m-%d %H:%M:%S"),
            is_over=is_over,
        )
        replace_file(self._followed.out / PAGE, page.encode())
