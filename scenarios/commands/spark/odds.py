"""kcsim spark odds: how likely it is that nobody serves a partition, or that records are lost."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output, give_up
from kcsim.scenarios.commands.explore import chosen_profile, seed_range
from kcsim.scenarios.commands.run import load
from kcsim.scenarios.commands.spark.explore import SETTINGS_FILE, KnownFaults, Limit, Seeds, Tasks, Weights
from kcsim.scenarios.commands.spark.options import DEFAULT_MASTER, Conf, Master, session
from kcsim.scenarios.replay.campaigns.vocabulary import DEFAULT_FOR, DEFAULT_LIMIT_SECONDS, View

if TYPE_CHECKING:
    from kcsim.scenarios.replay.campaigns.trial import Drawn, Written

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
        Path | None, typer.Option(metavar="DATASET", help="Instead: runs that kcsim spark explore has written.")
    ] = None,
    seeds: Seeds = "0..999",
    longer_than: Annotated[
        str,
        typer.Option(
            "--for", metavar="DURATION", help="A run counts when nobody serves some partition for longer than this."
        ),
    ] = DEFAULT_FOR,
    seen_by: Annotated[
        View,
        typer.Option(
            help="clients: a leader that is dead or paused serves nobody. zookeeper: it counts as leader until it is "
            "registered no more."
        ),
    ] = View.CLIENTS,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999, help="Of the intervals.")] = 0.95,
    worst: Annotated[int, typer.Option(min=0, help="So many of the worst runs are named.")] = 5,
    scenarios: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where the scenarios of the worst runs are written, of those that were drawn."),
    ] = Path("kcsim-odds"),
    known_faults: KnownFaults = True,
    limit: Limit = DEFAULT_LIMIT_SECONDS,
    tasks: Tasks = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[Output, typer.Option(help="json: the result as JSON on stdout.")] = Output.TABLE,
) -> None:
    """Run many seeds, and tell the odds of unavailability and of data loss, each with a confidence interval.

    Of a profile the seed draws everything: cluster, settings, what is done and when. Of a scenario it draws what the file
    leaves open: how long requests to ZooKeeper take, and so who wins a race, where replicas are placed, what lossy and slow
    links do. What the file says happens in every run.

    \b
    kcsim spark odds --profile standard --seeds 10000 --for 5s
    kcsim spark odds leader-crash-acks-one --seeds 200
    kcsim spark odds --dataset campaign --for 500ms --seen-by zookeeper

    Exit status: 0 told, 2 something has failed or nothing is known of any run, 64 the command makes no sense, 130
    interrupted.
    """
    if sum(given is not None for given in (scenario, profile, dataset)) > 1:
        give_up("a SCENARIO, --profile or --dataset: one of them", ExitStatus.USAGE)
    for_ms = _duration(longer_than)
    subject = _of_dataset(dataset) if dataset is not None else _subject(scenario, profile or DEFAULT_PROFILE, weight)
    first, last = seed_range(seeds)
    with session(master, conf) as spark:
        from kcsim.scenarios.commands.spark.progress import progress
        from kcsim.scenarios.exploring.known_faults import known_faults as all_known_faults
        from kcsim.scenarios.replay.campaigns.exploring import explore
        from kcsim.scenarios.replay.campaigns.gathering import RUNS, run_once
        from kcsim.scenarios.replay.campaigns.odds import OddsOf
        from kcsim.scenarios.replay.campaigns.odds import odds as odds_of
        from kcsim.scenarios.replay.campaigns.trials_table import runs_of

        asked = OddsOf(for_ms, seen_by, confidence, worst)
        if dataset is not None:
            found = odds_of(spark.read.parquet(str(dataset / RUNS)), asked)
        else:
            faults = all_known_faults() if known_faults else ()
            trials = explore(spark, subject, range(first, last + 1), faults=faults, limit_seconds=limit, tasks=tasks)
            with progress(spark, subject.name):
                found = odds_of(runs_of(run_once(trials)), asked)
    again = _shown_again(
        subject, scenario, sorted({run.seed for run in (*found.worst_unavailable, *found.worst_losses)}), scenarios
    )
    if output is Output.JSON:
        print(json.dumps({**asdict(found), "show_again": again}, indent=2, ensure_ascii=False))
    else:
        from kcsim.scenarios.commands.spark.odds_text import lines_of

        print("\n".join(lines_of(found, subject.name, again)))
    raise Finished(ExitStatus.HELD if found.runs else ExitStatus.UNDECIDED)


# --- what is asked for -----------------------------------------------------------------------------------------------------


def _duration(text: str) -> int:
    from kcsim.scenarios.language.words import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        give_up(f"--for: {error}", ExitStatus.USAGE)


def _subject(scenario: str | None, profile: str, weight: list[str] | None) -> "Drawn | Written":
    from kcsim.scenarios.replay.campaigns.trial import Drawn, Written

    if scenario is None:
        return Drawn(chosen_profile(profile, weight or []))
    if weight:
        give_up("--weight: only where scenarios are drawn", ExitStatus.USAGE)
    loaded = load(scenario)
    return Written(loaded.scenario.name, Path(loaded.file).read_text(encoding="utf-8"), loaded.file)


def _of_dataset(dataset: Path) -> "Drawn":
    """What the runs of a campaign were drawn from; ends the command if it is none."""
    from kcsim.scenarios.exploring.profile import Profile
    from kcsim.scenarios.replay.campaigns.trial import Drawn

    try:
        settings = json.loads((dataset / SETTINGS_FILE).read_text(encoding="utf-8"))
        return Drawn(Profile.model_validate(settings["profile"]))
    except (OSError, ValueError, KeyError, TypeError):
        give_up(f"--dataset: {dataset}: no campaign of kcsim spark explore", ExitStatus.USAGE)


# --- the worst runs --------------------------------------------------------------------------------------------------------


def _shown_again(subject: "Drawn | Written", scenario: str | None, seeds: list[int], directory: Path) -> dict[int, str]:
    """Seed -> the command that shows its run; the scenarios of those that were drawn are written."""
    from kcsim.scenarios.exploring.artefacts import repro
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
                give_up(f"--scenarios: {file}: {error.strerror or error}", ExitStatus.UNDECIDED)
        shown[seed] = repro(file, seed)
    return shown
