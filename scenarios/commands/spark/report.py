"""kcsim spark report: what a history tells, as one page of HTML."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, give_up
from kcsim.scenarios.commands.spark.options import DEFAULT_MASTER, Conf, Master, refuse_existing, session
from kcsim.scenarios.replay.analyses.scope import Liveness, Scope

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kcsim.scenarios.replay.report.contents import Contents

SETTINGS_FILE = "settings.json"
MOST_OF_A_SETTING = 200


def report(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DATASET|TRACE...", help="A dataset; or traces: JSON lines, Parquet.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write; must not exist.")],
    transitions: Annotated[
        Path | None,
        typer.Option(metavar="DATASET", help="Take the transitions from here, as from a replay of what might have been."),
    ] = None,
    batch: Annotated[str | None, typer.Option(metavar="NAME", help="Show a run of this batch over time.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show this run over time; the least available one if not given.")
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this topic; may be repeated.")] = None,
    min_insync_replicas: Annotated[int, typer.Option(min=1, help="Of topics that do not set min.insync.replicas.")] = 1,
    liveness: Annotated[
        Liveness,
        typer.Option(help="serving: a live broker is registered and its process runs. registered: the first alone."),
    ] = Liveness.SERVING,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
) -> None:
    """Make the analyses of a history, and write them as one page that needs nothing but itself.

    Availability, outages, recovery, elections, ISR churn, controllers, spread of leaders, and what the next loss of a broker
    or a rack would take, each as a figure, with what exactly it shows, and a table to copy or keep.

    \b
    kcsim spark report history/ -o history.html
    kcsim spark report campaign/ --run explore-standard-17 -o campaign.html

    Exit status: 0 written, 2 there are no events, or something has failed, 64 the command makes no sense, 130 interrupted.
    """
    refuse_existing(out)
    if not out.parent.is_dir():
        give_up(f"--out: there is no directory {out.parent}", ExitStatus.USAGE)
    scope = Scope(topics=tuple(topic or ()), min_insync_replicas=min_insync_replicas, liveness=liveness)
    facts = {"liveness": liveness.value, "min.insync.replicas": f"{min_insync_replicas} where not set"}
    if topic:
        facts["topics"] = ", ".join(topic)
    if transitions is not None:
        facts["transitions"] = str(transitions)
    with session(master, conf) as spark:
        contents = _contents(spark, paths, transitions, scope, facts, (batch, run))
    if contents.focus is None and (batch, run) != (None, None):
        give_up(f"--run: there is no run {run or 'at all'} in batch {batch or 'any'} that has partitions", ExitStatus.USAGE)
    from kcsim.scenarios.replay.report.page import page

    written = page(contents)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(written)
    except OSError as error:
        give_up(f"--out: {out}: {error.strerror or error}", ExitStatus.UNDECIDED)
    print(f"written: {out}, {len(written.encode()) // 1024} KB", file=sys.stderr)


def _contents(
    spark: "SparkSession",
    paths: Sequence[Path],
    transitions: Path | None,
    scope: Scope,
    facts: dict[str, str],
    wanted: tuple[str | None, str | None],
) -> "Contents":
    from kcsim.scenarios.commands.doctor import own_version
    from kcsim.scenarios.replay.analyses.reading import NoEventsError, read_history
    from kcsim.scenarios.replay.report.gathering import gather

    try:
        history, unread = read_history(spark, paths, transitions, scope)
    except NoEventsError as error:
        give_up(str(error), ExitStatus.UNDECIDED)
    for line in unread:
        print(line, file=sys.stderr)
    name = ", ".join(path.resolve().name for path in paths)
    facts = {**_settings(paths), **facts}

    def tell(what: str) -> None:
        print(f"report: {what}", file=sys.stderr, flush=True)

    return gather(history, name, own_version(), facts, unread, wanted, tell)


def _settings(paths: Sequence[Path]) -> dict[str, str]:
    """What a dataset tells of how it was made; nothing where it tells nothing."""
    found = dict[str, str]()
    for path in paths:
        try:
            told = json.loads((path / SETTINGS_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for key, value in told.items() if isinstance(told, dict) else ():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found[str(key)] = text if len(text) <= MOST_OF_A_SETTING else f"{text[:MOST_OF_A_SETTING]}…"
    return found
