"""kcsim spark report: the analyses of a history as one HTML page."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.engines import ChosenEngine, EngineName, OwnMaster
from kcsim.scenarios.cli.spark.engines import engine as opened_engine
from kcsim.scenarios.cli.spark.options import Conf, Place, place, refuse_existing
from kcsim.scenarios.cli.spark.progress import Doing

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.report.contents import Contents

SETTINGS_FILE = "settings.json"
MOST_OF_A_SETTING = 200


def report(
    paths: Annotated[
        list[Place],
        typer.Argument(parser=place, metavar="DATASET|TRACE...", help="A dataset; or traces: JSON lines, Parquet."),
    ],
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="FILE", help="The page to write; must not exist.")
    ],
    transitions: Annotated[
        Place | None,
        typer.Option(
            parser=place,
            metavar="DATASET",
            help="Take the transitions from here, as from a replay of what might have been.",
        ),
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
    engine: ChosenEngine = EngineName.SPARK,
    master: OwnMaster = None,
    conf: Conf = None,
) -> None:
    """Analyse a history, and write the results as one self-contained page.

    Availability, outages, recovery, elections, ISR churn, controllers, spread of leaders, and the effect of the next loss of
    a broker or a rack, each as a figure with its exact definition, and a table to copy or download.

    \b
    kcsim spark report history/ -o history.html
    kcsim spark report campaign/ --run explore-standard-17 -o campaign.html

    Exit status: 0 written, 2 there are no events, or a job has failed, 64 the command is invalid, 130 interrupted.
    """
    refuse_existing(out)
    if isinstance(out, Path) and not out.parent.is_dir():
        fail(f"--out: there is no directory {out.parent}", ExitStatus.USAGE)
    scope = Scope(topics=tuple(topic or ()), min_insync_replicas=min_insync_replicas, liveness=liveness)
    facts = {"liveness": liveness.value, "min.insync.replicas": f"{min_insync_replicas} where not set"}
    if topic:
        facts["topics"] = ", ".join(topic)
    if transitions is not None:
        facts["transitions"] = str(transitions)
    reads = paths if transitions is None else [*paths, transitions]
    with opened_engine(engine, "report", master, conf, reads) as doing:
        contents = _contents(paths, transitions, scope, facts, (batch, run), doing)
    if contents.focus is None and (batch, run) != (None, None):
        fail(f"--run: there is no run {run or 'at all'} in batch {batch or 'any'} that has partitions", ExitStatus.USAGE)
    from kcsim.scenarios.analysis.report.page import page

    written = page(contents)
    try:
        refuse_existing(out)
        out.write_text(written, encoding="utf-8")
    except OSError as error:
        fail(f"--out: {out}: {error.strerror or error}", ExitStatus.UNDECIDED)
    print(f"written: {out}, {len(written.encode()) // 1024} KB", file=sys.stderr)


def _contents(
    paths: Sequence[Place],
    transitions: Place | None,
    scope: Scope,
    facts: dict[str, str],
    wanted: tuple[str | None, str | None],
    doing: Doing,
) -> "Contents":
    from kcsim.scenarios.analysis.analyses.reading import NoEventsError, read_history
    from kcsim.scenarios.analysis.report.gathering import gather
    from kcsim.versions import own_version

    try:
        history, unread = read_history(paths, transitions, scope)
    except NoEventsError as error:
        fail(str(error), ExitStatus.UNDECIDED)
    for line in unread:
        print(line, file=sys.stderr)
    name = ", ".join(path.resolve().name for path in paths)
    facts = {**_settings(paths), **facts}
    return gather(history, name, own_version(), facts, unread, wanted, doing)


def _settings(paths: Sequence[Place]) -> dict[str, str]:
    """Return the settings with which a dataset was made; empty if the dataset has none."""
    found = dict[str, str]()
    for path in paths:
        try:
            settings = json.loads((path / SETTINGS_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for key, value in settings.items() if isinstance(settings, dict) else ():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found[str(key)] = text if len(text) <= MOST_OF_A_SETTING else f"{text[:MOST_OF_A_SETTING]}…"
    return found
