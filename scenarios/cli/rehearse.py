"""kcsim rehearse: a reassignment plan for your own cluster, executed in a simulated cluster under failures."""

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.setting_option import SettingsOfAllBrokers, parse_settings
from kcsim.scenarios.cli.snapshot_argument import SnapshotArgument, read_simulated_snapshot

if TYPE_CHECKING:
    from kcsim.scenarios.rehearsal.plan_files import PlanStep
    from kcsim.scenarios.rehearsal.rehearse_plan import StepRun
    from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
    from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

MS_PER_MINUTE = 60_000
BROKERS_WITHOUT_WORKERS = 150
"""Runs with so few brokers, in all, are over before worker processes have started."""


def rehearse(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A reassignment as kafka-reassign-partitions reads it, or prints it with --generate; or a folder with the "
            "batches of `kcsim plan -o NAME.json --batches`.",
        ),
    ],
    file: SnapshotArgument,
    throttle: Annotated[
        int | None, typer.Option(min=1, metavar="BYTES/S", help="What a broker may receive or send for the plan.")
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(metavar="BROKER[:RACK]", help="A broker that is started before the plan; may be repeated."),
    ] = None,
    down: Annotated[float, typer.Option(min=1, metavar="MINUTES", help="How long a broker that dies stays dead.")] = 10,
    setting: SettingsOfAllBrokers = None,
    runs: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most runs for each kind of failure; more are a sample.")
    ] = 40,
    partitions: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most partitions of a step in a run with a failure; else a sample.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn: the times of losses, and samples.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; else one per processor.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Name all runs, brokers and harms, however many.")] = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Rehearse a reassignment plan. The controller executes it, in a simulated cluster in the state of a snapshot.

    First undisturbed: how long each step takes, what it copies, how many replicas stay in sync. Then with one failure in
    each run: the controller dies at each of its writes, sources, destinations and racks are lost while the plan is under
    way, the throttle is too low. Then other orders of the steps are compared. A plan harms if it exposes a partition to a
    loss that it survived before, or if a failure does more with the plan than without it.

    \b
    kcsim rehearse plan.json cluster.json --throttle 50000000
    kcsim rehearse batches/ cluster.json --start 9:rack-b --all

    Exit status: 0 safe, 1 the plan harms or does not complete, 2 the simulated cluster did not come to rest, 4 KRaft
    controls the cluster, 64 wrong input.
    """
    from kcsim.errors import TimedOutError
    from kcsim.eventlog.run_actions import ClusterError
    from kcsim.scenarios.cli.explore_workers import WorkerDiedError
    from kcsim.scenarios.rehearsal.rehearsal_text import rehearsal_json, rehearsal_lines
    from kcsim.scenarios.rehearsal.rehearse_plan import RehearsalLimits, rehearse_plan
    from kcsim.scenarios.rehearsal.rehearsed_step import RehearsalSettings

    of_brokers = parse_settings(setting)
    snapshot = _snapshot(file, start or [])
    steps = _plan(plan, snapshot)
    settings = RehearsalSettings(throttle, round(down * MS_PER_MINUTE), seed, of_brokers)
    limits = RehearsalLimits(runs, partitions)
    began_s = time.monotonic()
    try:
        result = rehearse_plan(snapshot, steps, settings, limits, partial(_run_all, jobs))
    except (ClusterError, TimedOutError, WorkerDiedError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    print(f"{result.runs} runs in {time.monotonic() - began_s:.1f} s", file=sys.stderr)
    if output is OutputFormat.JSON:
        print(json.dumps(rehearsal_json(snapshot, settings, result), indent=2, ensure_ascii=False))
    else:
        for line in rehearsal_lines(snapshot, steps, settings, result, everything):
            print(line)
    if any(result.reasons()):
        raise CommandExit(ExitStatus.VIOLATED)


def _snapshot(file: Path, started: Sequence[str]) -> "ControlPlaneSnapshot":
    """Return the snapshot, with the brokers that are started before the plan."""
    from kcsim.scenarios.rehearsal.rehearsed_step import StartedBrokerError, parse_started, with_started

    snapshot = read_simulated_snapshot(file)
    try:
        return with_started(snapshot, parse_started(started))
    except StartedBrokerError as error:
        fail(f"--start: {error}", ExitStatus.USAGE)


def _plan(path: Path, snapshot: "ControlPlaneSnapshot") -> "tuple[PlanStep, ...]":
    from kcsim.scenarios.rehearsal.plan_files import PlanFileError, read_plan

    try:
        return read_plan(path, snapshot)
    except PlanFileError as error:
        fail(str(error), ExitStatus.USAGE)
    except OSError as error:
        fail(f"{path}: {error.strerror or error}", ExitStatus.USAGE)


def _run_all(jobs: int | None, asked: "Sequence[StepRun]") -> "Sequence[StepOutcome]":
    """Do the runs in several processes, and report the progress."""
    from kcsim.scenarios.cli.explore_progress import progress_on
    from kcsim.scenarios.cli.explore_workers import map_in_order, processors
    from kcsim.scenarios.rehearsal.rehearse_plan import do_run

    if not asked:
        return []
    size = sum(len(run.step.cluster.brokers) for run in asked)
    processes = max(1, min(jobs or processors(), len(asked), size // BROKERS_WITHOUT_WORKERS))
    what = "undisturbed" if asked[0].failure is None else "with failures"
    outcomes: list[StepOutcome] = []
    with progress_on(sys.stderr, what, len(asked)) as report_progress:
        for outcome in map_in_order(processes, do_run, asked):
            outcomes.append(outcome)
            report_progress(len(outcomes), f"{sum(one.stuck is not None for one in outcomes)} do not complete")
    return outcomes
