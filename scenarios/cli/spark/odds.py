"""kcsim spark odds: the probability that a partition is unavailable, or that records are lost."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.eventlog.outage_view import OutageView
from kcsim.scenarios.analysis.campaigns.campaign_options import DEFAULT_FOR, DEFAULT_LIMIT_SECONDS
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.explore import chosen_profile, seed_range
from kcsim.scenarios.cli.run_options import load
from kcsim.scenarios.cli.spark.explore import SETTINGS_FILE, KnownBugs, Limit, Seeds, Tasks, Weights
from kcsim.scenarios.cli.spark.options import DEFAULT_MASTER, Conf, Master, Place, local_path, place, session

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios, WrittenScenario

DEFAULT_PROFILE = "standard"


def odds(
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="A scenario file, or a name from `kcsim scenario list`.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Instead: scenarios that are drawn, as by kcsim explore.")
    ] = None,
    weight: Weights = None,
    dataset: Annotated[
        Place | None,
        typer.Option(parser=place, metavar="DATASET", help="Instead: runs that kcsim spark explore has written."),
    ] = None,
    seeds: Seeds = "0..999",
    longer_than: Annotated[
        str,
        typer.Option(
            "--for", metavar="DURATION", help="A run counts when any partition is not served for longer than this."
        ),
    ] = DEFAULT_FOR,
    seen_by: Annotated[
        OutageView,
        typer.Option(
            help="clients: a leader that is dead or paused does not serve. zookeeper: it counts as leader until it is "
            "no longer registered."
        ),
    ] = OutageView.CLIENTS,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999, help="Of the intervals.")] = 0.95,
    worst: Annotated[int, typer.Option(min=0, help="The number of worst runs to list.")] = 5,
    scenarios: Annotated[
        Path,
        typer.Option(
            parser=local_path,
            metavar="DIR",
            help="Where the scenarios of the worst runs are written, of those that were drawn.",
        ),
    ] = Path("kcsim-odds"),
    known_bugs: KnownBugs = True,
    limit: Limit = DEFAULT_LIMIT_SECONDS,
    tasks: Tasks = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[OutputFormat, typer.Option(help="json: the result as JSON on stdout.")] = OutputFormat.TABLE,
) -> None:
    """Run many seeds, and estimate the probability of unavailability and of data loss, each with a confidence interval.

    With a profile, the seed decides everything: cluster, settings, actions and their times. With a scenario, it decides
    what the file leaves open: the latency of requests to ZooKeeper and so the winner of a race, the placement of replicas,
    losses and delays on links. The steps of the file are the same in every run.

    \b
    kcsim spark odds --profile standard --seeds 10000 --for 5s
    kcsim spark odds leader-crash-acks-one --seeds 200
    kcsim spark odds --dataset campaign --for 500ms --seen-by zookeeper

    Exit status: 0 printed, 2 a job has failed or the result of every run is unknown, 64 the command is invalid, 130
    interrupted.
    """
    if sum(given is not None for given in (scenario, profile, dataset)) > 1:
        fail("a SCENARIO, --profile or --dataset: one of them", ExitStatus.USAGE)
    for_ms = _duration(longer_than)
    subject = _of_dataset(dataset) if dataset is not None else _subject(scenario, profile or DEFAULT_PROFILE, weight)
    first, last = seed_range(seeds)
    with session(master, conf, reads=() if dataset is None else (dataset,)) as spark:
        from kcsim.scenarios.analysis.campaigns.exploring import explore
        from kcsim.scenarios.analysis.campaigns.gathering import RUNS, run_once
        from kcsim.scenarios.analysis.campaigns.odds import OddsQuery
        from kcsim.scenarios.analysis.campaigns.odds import odds as odds_of
        from kcsim.scenarios.analysis.campaigns.trials_table import runs_of
        from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
        from kcsim.scenarios.cli.spark.progress import progress
        from kcsim.scenarios.explore.known_bugs import known_bugs as all_known_bugs

        query = OddsQuery(for_ms, seen_by, confidence, worst)
        if dataset is not None:
            found = odds_of(spark.read.parquet(hadoop_name(spark, dataset / RUNS)), query)
        else:
            bugs = all_known_bugs() if known_bugs else ()
            trials = explore(spark, subject, range(first, last + 1), bugs=bugs, limit_seconds=limit, tasks=tasks)
            with progress(spark, subject.name):
                found = odds_of(runs_of(run_once(trials)), query)
    again = _shown_again(
        subject, scenario, sorted({run.seed for run in (*found.worst_unavailable, *found.worst_losses)}), scenarios
    )
    if output is OutputFormat.JSON:
        print(json.dumps({**asdict(found), "show_again": again}, indent=2, ensure_ascii=False))
    else:
        from kcsim.scenarios.cli.spark.odds_text import lines_of

        print("\n".join(lines_of(found, subject.name, again)))
    raise CommandExit(ExitStatus.HELD if found.runs else ExitStatus.UNDECIDED)


# --- options ---------------------------------------------------------------------------------------------------------------


def _duration(text: str) -> int:
    from kcsim.scenarios.language.value_types import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        fail(f"--for: {error}", ExitStatus.USAGE)


def _subject(scenario: str | None, profile: str, weight: list[str] | None) -> "DrawnScenarios | WrittenScenario":
    from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios, WrittenScenario

    if scenario is None:
        return DrawnScenarios(chosen_profile(profile, weight or []))
    if weight:
        fail("--weight: only where scenarios are drawn", ExitStatus.USAGE)
    loaded = load(scenario)
    return WrittenScenario(loaded.scenario.name, Path(loaded.file).read_text(encoding="utf-8"), loaded.file)


def _of_dataset(dataset: Place) -> "DrawnScenarios":
    """Return what the runs of a campaign were drawn from. If the dataset is no campaign, end the command."""
    from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios
    from kcsim.scenarios.explore.profile import Profile

    try:
        settings = json.loads((dataset / SETTINGS_FILE).read_text(encoding="utf-8"))
        return DrawnScenarios(Profile.model_validate(settings["profile"]))
    except (OSError, ValueError, KeyError, TypeError):
        fail(f"--dataset: {dataset}: no campaign of kcsim spark explore", ExitStatus.USAGE)


# --- the worst runs --------------------------------------------------------------------------------------------------------


def _shown_again(
    subject: "DrawnScenarios | WrittenScenario", scenario: str | None, seeds: list[int], directory: Path
) -> dict[int, str]:
    """Return seed -> the command that shows its run. Scenarios that were drawn are written to files."""
    from kcsim.scenarios.explore.failure_reports import repro
    from kcsim.scenarios.language.yaml_text import yaml_text

    shown = dict[int, str]()
    for seed in seeds:
        tree = subject.scenario(seed).tree
        file = Path(scenario or "") if tree is None else directory / f"{subject.name}-{seed}.yaml"
        if tree is not None:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                file.write_text(yaml_text(tree), encoding="utf-8")
            except OSError as error:
                fail(f"--scenarios: {file}: {error.strerror or error}", ExitStatus.UNDECIDED)
        shown[seed] = repro(file, seed)
    return shown
