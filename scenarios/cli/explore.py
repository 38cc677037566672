"""kcsim explore: random scenarios from seeds, until an unknown violation is found."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import INTERRUPTED_LINE, CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.run_options import MAX_SEED

if TYPE_CHECKING:
    from kcsim.scenarios.cli.explore_report import WrittenCase
    from kcsim.scenarios.explore.campaign import Campaign
    from kcsim.scenarios.explore.generator import Tree
    from kcsim.scenarios.explore.known_bugs import KnownBug
    from kcsim.scenarios.explore.profile import Profile
    from kcsim.scenarios.explore.trial import TrialResult

RANGE = ".."
SECONDS_PER_MINUTE = 60
DEFAULT_SEEDS = "0..99"
FROM_THE_FIRST = "0..0"
SHRINKING_RUNS = 600
EXHAUSTIVE_SEED = 1


def explore(
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A..B", help=f"How many from 0 on, or from which to which; {DEFAULT_SEEDS}.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Go on for so long, from the first seed.")] = None,
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="The profile to draw from: standard, network, admin, zookeeper, records, small, upgrade or all.",
        ),
    ] = "standard",
    weight: Annotated[
        list[str] | None, typer.Option(metavar="STEP=N", help="How often something is done, as kill=5; may be repeated.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes; one for each processor if not given.")] = None,
    stop_at_first: Annotated[
        bool, typer.Option("--stop-at-first/--go-on", help="Whether to end at the first violation that is not known.")
    ] = True,
    known_bugs: Annotated[
        bool,
        typer.Option("--known-bugs/--no-known-bugs", help="Whether to count the known bugs of Kafka itself separately."),
    ] = True,
    shrink: Annotated[
        int, typer.Option(min=0, metavar="RUNS", help="How many runs to spend on making each failing scenario small.")
    ] = SHRINKING_RUNS,
    hardening: Annotated[
        bool, typer.Option("--hardening", help="Run all scenarios with hardening, which has to keep every invariant, too.")
    ] = False,
    exhaustive: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="No random scenarios, but this small one, with its faults and admin acts in every order, and each kill and "
            "pause before and after every write to ZooKeeper.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where failing scenarios are written.")] = Path("kcsim-explore"),
    output: Annotated[OutputFormat, typer.Option(help="json: the result as JSON on stdout.")] = OutputFormat.TABLE,
) -> None:
    """Draw scenarios from seeds and run them in virtual time, until an invariant is violated.

    A failing scenario is shrunk, and written with the command that reproduces it and a text for an issue. Known bugs of
    Kafka itself are counted separately. The table shows what the runs have reached, and what they never reached.

    \b
    kcsim explore --seeds 0..1999
    kcsim explore --minutes 10 --profile network --weight partition=20 --go-on
    kcsim explore --seeds 2000 --profile admin --hardening
    kcsim explore --exhaustive controller-failover

    Exit status: 0 no unknown violation, 1 there is one, 2 a worker process has failed, 64 the command is invalid, 130
    interrupted: the findings so far are printed, and a scenario that was being shrunk is written as small as it is.
    """
    from kcsim.scenarios.cli.explore_report import print_report
    from kcsim.scenarios.cli.explore_workers import map_in_order, processors
    from kcsim.scenarios.explore.hardening_limits import known_bugs_with_hardening
    from kcsim.scenarios.explore.known_bugs import known_bugs as all_known_bugs
    from kcsim.scenarios.explore.trial import hardened, run_seed, run_tree

    bugs = () if not known_bugs else known_bugs_with_hardening() if hardening else all_known_bugs()
    jobs = jobs or processors()
    if exhaustive is None:
        drawn_from = chosen_profile(profile, weight or [])
        requested, how_many = _seeds(seeds, minutes)
        try_seed = partial(run_seed, drawn_from, bugs=bugs, is_hardened=hardening)
        what, tries = drawn_from.name, map_in_order(jobs, try_seed, requested)
    else:
        what, trees = _variants(exhaustive)
        trees = [hardened(tree) for tree in trees] if hardening else trees
        how_many = len(trees)
        tries = map_in_order(jobs, partial(run_tree, seed=EXHAUSTIVE_SEED, bugs=bugs), trees)
    with closing(tries) as answers:
        campaign, is_interrupted = _collect(answers, what, how_many, stop_at_first)
    cases, is_cut_short = ([], True) if is_interrupted else write_cases(campaign, shrink, bugs, out)
    print_report(campaign, cases, what, is_interrupted or is_cut_short, output)
    if is_interrupted or is_cut_short:
        print(INTERRUPTED_LINE, file=sys.stderr)
        raise CommandExit(ExitStatus.INTERRUPTED)
    raise CommandExit(ExitStatus.VIOLATED if campaign.failing else ExitStatus.HELD)


# --- options ---------------------------------------------------------------------------------------------------------------


def chosen_profile(name: str, changes: Sequence[str]) -> "Profile":
    """Read --profile and --weight. Invalid values end the command."""
    from kcsim.scenarios.explore.profile import ProfileError, load_profile

    try:
        return load_profile(name).with_weights(dict(map(_weight, changes)))
    except ProfileError as error:
        fail(f"--profile: {error}" if not changes else str(error), ExitStatus.USAGE)


def _weight(text: str) -> tuple[str, int]:
    step_name, _, number = text.partition("=")
    if not step_name or not number.isdecimal():
        fail(f"--weight: {text!r} is no weight; write one as kill=5", ExitStatus.USAGE)
    return step_name, int(number)


def _seeds(text: str | None, minutes: float | None) -> tuple[Iterable[int], int | None]:
    """Return the seeds, and their number if it is known."""
    first, last = seed_range(text if text is not None else DEFAULT_SEEDS if minutes is None else FROM_THE_FIRST)
    if minutes is None:
        return range(first, last + 1), last + 1 - first
    until = time.monotonic() + minutes * SECONDS_PER_MINUTE
    bounded = count(first) if text is None or RANGE not in text else iter(range(first, last + 1))
    return takewhile(lambda _: time.monotonic() < until, bounded), None


def seed_range(text: str) -> tuple[int, int]:
    """Read --seeds: return the first and the last seed. An invalid value ends the command."""
    first, dots, last = text.partition(RANGE)
    if not dots:
        first, last = "0", str(int(text) - 1) if text.isdecimal() else text
    if not first.isdecimal() or not last.isdecimal() or not int(first) <= int(last) <= MAX_SEED:
        fail(f"--seeds: {text!r} names no seeds; write 2000, or 0..1999", ExitStatus.USAGE)
    return int(first), int(last)


def _variants(name: str) -> "tuple[str, Sequence[Tree]]":
    """Return the scenario's name, and all its variants to run."""
    from ruamel.yaml import YAML

    from kcsim.scenarios.cli.run_options import load
    from kcsim.scenarios.explore.exhaustive import TooLargeError, variants

    file, scenario, *_ = load(name)
    try:
        found = variants(YAML(typ="safe").load(Path(file).read_text(encoding="utf-8")), EXHAUSTIVE_SEED)
    except TooLargeError as error:
        fail(f"--exhaustive: {file}: {error}", ExitStatus.USAGE)
    print(f"{file}: {len(found)} runs", file=sys.stderr)
    return scenario.name, found


# --- the runs and their results --------------------------------------------------------------------------------------------


def _collect(
    answers: Iterator["TrialResult"], what: str, how_many: int | None, stop_at_first: bool
) -> "tuple[Campaign, bool]":
    """Sum up the results of the trials. Return the sum, and whether the user interrupted the command."""
    from kcsim.scenarios.cli.explore_progress import found_in, progress_on
    from kcsim.scenarios.cli.explore_workers import WorkerDiedError
    from kcsim.scenarios.explore.campaign import Campaign

    campaign = Campaign()
    with progress_on(sys.stderr, what, how_many) as report_progress:
        try:
            for tried in answers:
                campaign.add(tried)
                report_progress(campaign.runs, found_in(campaign))
                if tried.violations and stop_at_first:
                    break
        except KeyboardInterrupt:
            return campaign, True
        except WorkerDiedError as error:
            fail(f"after {campaign.runs} runs: {error}", ExitStatus.UNDECIDED)
    return campaign, False


def write_cases(
    campaign: "Campaign", most_runs: int, bugs: Sequence["KnownBug"], out: Path
) -> "tuple[list[WrittenCase], bool]":
    """Shrink the first run of each violation, and write it. Return what was written, and whether that was interrupted."""
    from kcsim.scenarios.cli.explore_report import WrittenCase
    from kcsim.scenarios.explore.failure_reports import FailureCase, write_failure_report
    from kcsim.scenarios.explore.trial import shrink_failure
    from kcsim.versions import own_version

    written: list[WrittenCase] = []
    try:
        for tried, found in campaign.first_of_each():
            assert tried.tree is not None
            print(f"seed {tried.seed}: {found.key}; making it small", file=sys.stderr)
            shrunk = shrink_failure(tried.tree, tried.seed, found, most_runs, bugs)
            case = FailureCase(tried.tree, shrunk.tree, tried.seed, found)
            written.append(WrittenCase(case, shrunk, write_failure_report(case, out, own_version())))
            if shrunk.is_interrupted:
                return written, True
    except KeyboardInterrupt:
        return written, True
    except OSError as error:
        fail(f"--out: {out}: {error.strerror or error}", ExitStatus.UNDECIDED)
    return written, False
