"""kcsim spark explore: the random scenarios of `kcsim explore`, run in parallel and written as tables."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.analysis.campaigns.campaign_options import DEFAULT_LIMIT_SECONDS, Traces
from kcsim.scenarios.cli.command_exit import INTERRUPTED_LINE, CommandExit, ExitStatus, OutputFormat
from kcsim.scenarios.cli.explore import SHRINKING_RUNS, chosen_profile, seed_range, write_cases
from kcsim.scenarios.cli.spark.options import (
    DEFAULT_MASTER,
    Conf,
    Master,
    Place,
    local_path,
    place,
    refuse_existing,
    session,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kcsim.scenarios.analysis.campaigns.gathering import CampaignSummary
    from kcsim.scenarios.analysis.campaigns.trial import Trial

LOST_SHOWN = 5
SETTINGS_FILE = "settings.json"

Seeds = Annotated[str, typer.Option(metavar="N|A..B", help="How many from 0 on, or from which to which.")]
ProfileName = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="The profile to draw from: standard, network, admin, zookeeper, records, small, upgrade or all.",
    ),
]
Weights = Annotated[
    list[str] | None, typer.Option(metavar="STEP=N", help="How often something is done, as kill=5; may be repeated.")
]
KnownBugs = Annotated[
    bool, typer.Option("--known-bugs/--no-known-bugs", help="Whether to count the known bugs of Kafka itself separately.")
]
Limit = Annotated[
    float,
    typer.Option(min=0.1, metavar="SECONDS", help="A run that takes longer by the wall clock is given up, and counted."),
]
Tasks = Annotated[int | None, typer.Option(min=1, help="Into how many tasks of Spark's the seeds are divided.")]


def explore(
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="DATASET", help="The folder to write; must not exist.")
    ],
    seeds: Seeds = "0..999",
    profile: ProfileName = "standard",
    weight: Weights = None,
    known_bugs: KnownBugs = True,
    traces: Annotated[
        Traces, typer.Option(help="Of which runs the events are kept, for kcsim spark replay and the like.")
    ] = Traces.FAILING,
    shrink: Annotated[
        int, typer.Option(min=0, metavar="RUNS", help="How many runs to spend on making each failing scenario small.")
    ] = SHRINKING_RUNS,
    cases: Annotated[
        Path,
        typer.Option(parser=local_path, metavar="DIR", help="Where failing scenarios are written, as by kcsim explore."),
    ] = Path("kcsim-explore"),
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the campaign is called; by its profile if not given.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT_SECONDS,
    tasks: Tasks = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[OutputFormat, typer.Option(help="json: the result as JSON on stdout.")] = OutputFormat.TABLE,
) -> None:
    """Draw scenarios from seeds and run them in virtual time, in Spark's executors.

    A seed has the same result as with kcsim explore, with any number of executors. DATASET gets tables of runs (verdicts,
    times in which partitions were not served, counts of records), violations, outages, coverage, and events. A
    seed that hangs, or whose run fails, is a row too.

    \b
    kcsim spark explore --seeds 0..99999 -o campaign
    kcsim spark explore --seeds 20000 --profile network --weight partition=20 --traces all -o campaign

    Exit status: 0 no unknown violation, 1 there is one, 2 a job has failed, or the result of a seed is unknown, 64 the
    command is invalid, 130 interrupted.
    """
    from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios
    from kcsim.scenarios.cli.explore_report import print_report
    from kcsim.scenarios.explore.known_bugs import known_bugs as all_known_bugs

    drawn_from, (first, last) = chosen_profile(profile, weight or []), seed_range(seeds)
    refuse_existing(out)
    bugs = all_known_bugs() if known_bugs else ()
    settings = {
        "profile": drawn_from.model_dump(mode="json", by_alias=True, warnings=False),
        "seeds": [first, last],
        "known_bugs": known_bugs,
        "traces": traces,
    }
    with session(master, conf, out, reads=()) as spark:
        from kcsim.scenarios.analysis.campaigns import exploring
        from kcsim.scenarios.analysis.tables.hadoop import hadoop_name

        hadoop_name(spark, out)  # before the runs, not after them
        trials = exploring.explore(
            spark,
            DrawnScenarios(drawn_from),
            range(first, last + 1),
            batch=batch,
            bugs=bugs,
            traces=traces,
            limit_seconds=limit,
            tasks=tasks,
        )
        summed = _gather(trials, out, settings, drawn_from.name)
    written, is_cut_short = write_cases(summed.campaign, shrink, bugs, cases)
    print_report(summed.campaign, written, drawn_from.name, is_cut_short, output)
    print_lost(summed.lost)
    print(f"written: {out}", file=sys.stderr)
    if is_cut_short:
        print(INTERRUPTED_LINE, file=sys.stderr)
        raise CommandExit(ExitStatus.INTERRUPTED)
    if summed.campaign.failing:
        raise CommandExit(ExitStatus.VIOLATED)
    raise CommandExit(ExitStatus.UNDECIDED if summed.lost else ExitStatus.HELD)


def _gather(trials: "DataFrame", out: Place, settings: dict[str, object], what: str) -> "CampaignSummary":
    """Run the trials once, write their results, and sum them up."""
    from kcsim.scenarios.analysis.campaigns.gathering import run_once, sum_up, write_campaign
    from kcsim.scenarios.analysis.tables.dataset import being_written
    from kcsim.scenarios.cli.spark.progress import progress

    with being_written(out) as where, progress(trials.sparkSession, what):
        trials = run_once(trials)
        write_campaign(trials, where)
        (where / SETTINGS_FILE).write_text(f"{json.dumps(settings, indent=2)}\n", encoding="utf-8")
        return sum_up(trials)


def print_lost(lost: "Sequence[Trial]") -> None:
    """Print on stderr the seeds whose runs have no known result."""
    for trial in lost[:LOST_SHOWN]:
        print(f"seed {trial.seed}: its run is unknown: {trial.error}", file=sys.stderr)
    if len(lost) > LOST_SHOWN:
        print(f"and of {len(lost) - LOST_SHOWN} more seeds", file=sys.stderr)
