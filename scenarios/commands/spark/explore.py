"""kcsim spark explore: the random scenarios of `kcsim explore`, many at a time, into tables."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output
from kcsim.scenarios.commands.explore import SHRINKING_RUNS, chosen_profile, seed_range, write_cases
from kcsim.scenarios.commands.spark.options import DEFAULT_MASTER, Conf, Master, refuse_existing, session
from kcsim.scenarios.replay.campaigns.vocabulary import DEFAULT_LIMIT_SECONDS, Traces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kcsim.scenarios.replay.campaigns.gathering import Summed
    from kcsim.scenarios.replay.campaigns.trial import Trial

LOST_TOLD = 5
SETTINGS_FILE = "settings.json"

Seeds = Annotated[str, typer.Option(metavar="N|A..B", help="How many from 0 on, or from which to which.")]
ProfileName = Annotated[
    str, typer.Option(metavar="NAME|FILE", help="What is drawn: standard, network, admin, zookeeper, records, small or all.")
]
Weights = Annotated[
    list[str] | None, typer.Option(metavar="DEED=N", help="How often something is done, as kill=5; may be repeated.")
]
KnownFaults = Annotated[
    bool, typer.Option("--known-faults/--no-known-faults", help="Whether to count the known faults of Kafka's own apart.")
]
Limit = Annotated[
    float,
    typer.Option(min=0.1, metavar="SECONDS", help="A run that takes longer by the wall clock is given up, and counted."),
]
Tasks = Annotated[int | None, typer.Option(min=1, help="Into how many tasks of Spark's the seeds are divided.")]


def explore(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DATASET", help="The folder to write; must not exist.")],
    seeds: Seeds = "0..999",
    profile: ProfileName = "standard",
    weight: Weights = None,
    known_faults: KnownFaults = True,
    traces: Annotated[
        Traces, typer.Option(help="Of which runs the events are kept, for kcsim spark replay and the like.")
    ] = Traces.FAILING,
    shrink: Annotated[
        int, typer.Option(min=0, metavar="RUNS", help="How many runs to spend on making each failing scenario small.")
    ] = SHRINKING_RUNS,
    cases: Annotated[
        Path, typer.Option(metavar="DIR", help="Where failing scenarios are written, as by kcsim explore.")
    ] = Path("kcsim-explore"),
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the campaign is called; by its profile if not given.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT_SECONDS,
    tasks: Tasks = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[Output, typer.Option(help="json: the result as JSON on stdout.")] = Output.TABLE,
) -> None:
    """Draw scenarios from seeds and run them in virtual time, in Spark's executors.

    What comes of a seed is what kcsim explore makes of it, however many executors there are. DATASET gets a table of runs
    (their verdicts, how long partitions had nobody to serve them, what became of records), of violations, of outages, of
    what was reached, and of events. A seed that hangs, or whose run fails, is a row too.

    \b
    kcsim spark explore --seeds 0..99999 -o campaign
    kcsim spark explore --seeds 20000 --profile network --weight partition=20 --traces all -o campaign

    Exit status: 0 no unknown violation, 1 there is one, 2 something has failed, or of some seeds nothing is known, 64 the
    command makes no sense, 130 interrupted.
    """
    from kcsim.scenarios.commands.explore_report import print_report
    from kcsim.scenarios.exploring.known_faults import known_faults as all_known_faults
    from kcsim.scenarios.replay.campaigns.trial import Drawn

    drawn_from, (first, last) = chosen_profile(profile, weight or []), seed_range(seeds)
    refuse_existing(out)
    faults = all_known_faults() if known_faults else ()
    settings = {
        "profile": drawn_from.model_dump(mode="json", by_alias=True, warnings=False),
        "seeds": [first, last],
        "known_faults": known_faults,
        "traces": traces,
    }
    with session(master, conf, out) as spark:
        from kcsim.scenarios.replay.campaigns import exploring

        trials = exploring.explore(
            spark,
            Drawn(drawn_from),
            range(first, last + 1),
            batch=batch,
            faults=faults,
            traces=traces,
            limit_seconds=limit,
            tasks=tasks,
        )
        summed = _gather(trials, out, settings, drawn_from.name)
    written, is_cut_short = write_cases(summed.campaign, shrink, faults, cases)
    print_report(summed.campaign, written, drawn_from.name, is_cut_short, output)
    tell_lost(summed.lost)
    print(f"written: {out}", file=sys.stderr)
    if is_cut_short:
        raise Finished(ExitStatus.INTERRUPTED)
    if summed.campaign.failing:
        raise Finished(ExitStatus.VIOLATED)
    raise Finished(ExitStatus.UNDECIDED if summed.lost else ExitStatus.HELD)


def _gather(trials: "DataFrame", out: Path, settings: dict[str, object], what: str) -> "Summed":
    """Run them, once, write what came of them, and sum it up."""
    from kcsim.scenarios.commands.spark.progress import progress
    from kcsim.scenarios.replay.campaigns.gathering import run_once, sum_up, write_campaign
    from kcsim.scenarios.replay.tables.dataset import being_written

    with being_written(out) as where, progress(trials.sparkSession, what):
        trials = run_once(trials)
        write_campaign(trials, where)
        (where / SETTINGS_FILE).write_text(f"{json.dumps(settings, indent=2)}\n", encoding="utf-8")
        return sum_up(trials)


def tell_lost(lost: "Sequence[Trial]") -> None:
    """Say on stderr of which seeds nothing is known."""
    for trial in lost[:LOST_TOLD]:
        print(f"seed {trial.seed}: nothing is known of its run: {trial.error}", file=sys.stderr)
    if len(lost) > LOST_TOLD:
        print(f"and of {len(lost) - LOST_TOLD} more seeds", file=sys.stderr)
