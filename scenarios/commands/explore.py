"""kcsim explore: random scenarios from seeds, until something goes wrong that is not known."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output, give_up
from kcsim.scenarios.commands.run import MAX_SEED

if TYPE_CHECKING:
    from kcsim.scenarios.commands.explore_report import WrittenCase
    from kcsim.scenarios.exploring.campaign import Campaign
    from kcsim.scenarios.exploring.generator import Tree
    from kcsim.scenarios.exploring.known_faults import KnownFault
    from kcsim.scenarios.exploring.profile import Profile
    from kcsim.scenarios.exploring.trying import Tried

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
        typer.Option(metavar="NAME|FILE", help="What is drawn: standard, network, admin, zookeeper, records, small or all."),
    ] = "standard",
    weight: Annotated[
        list[str] | None, typer.Option(metavar="DEED=N", help="How often something is done, as kill=5; may be repeated.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes; one for each processor if not given.")] = None,
    stop_at_first: Annotated[
        bool, typer.Option("--stop-at-first/--go-on", help="Whether to end at the first violation that is not known.")
    ] = True,
    known_faults: Annotated[
        bool,
        typer.Option("--known-faults/--no-known-faults", help="Whether to count the known faults of Kafka's own apart."),
    ] = True,
    shrink: Annotated[
        int, typer.Option(min=0, metavar="RUNS", help="How many runs to spend on making each failing scenario small.")
    ] = SHRINKING_RUNS,
    exhaustive: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="No random scenarios, but this small one, with its faults and admin acts in every order, and each kill and "
            "pause before and after every write to ZooKeeper.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where failing scenarios are written.")] = Path("kcsim-explore"),
    output: Annotated[Output, typer.Option(help="json: the result as JSON on stdout.")] = Output.TABLE,
) -> None:
    """Draw scenarios from seeds and run them in virtual time, until an invariant is violated.

    What goes wrong is made as small as it can be, and written with the command that shows it again and a text to paste into
    an issue. Faults that Kafka itself has are counted apart. The table tells what was reached, and what never was.

    \b
    kcsim explore --seeds 0..1999
    kcsim explore --minutes 10 --profile network --weight partition=20 --go-on
    kcsim explore --exhaustive controller-failover

    Exit status: 0 no unknown violation, 1 there is one, 2 what does the work has failed, 64 the command makes no sense, 130
    interrupted: what was found so far is told.
    """
    from kcsim.scenarios.commands.explore_report import print_report
    from kcsim.scenarios.commands.explore_workers import in_order, processors
    from kcsim.scenarios.exploring.known_faults import known_faults as all_known_faults
    from kcsim.scenarios.exploring.trying import try_seed, try_tree

    faults = all_known_faults() if known_faults else ()
    jobs = jobs or processors()
    if exhaustive is None:
        drawn_from = chosen_profile(profile, weight or [])
        asked, how_many = _seeds(seeds, minutes)
        what, tries = drawn_from.name, in_order(jobs, partial(try_seed, drawn_from, faults=faults), asked)
    else:
        what, trees = _variants(exhaustive)
        how_many = len(trees)
        tries = in_order(jobs, partial(try_tree, seed=EXHAUSTIVE_SEED, faults=faults), trees)
    with closing(tries) as answers:
        campaign, is_interrupted = _collect(answers, what, how_many, stop_at_first)
    cases, is_cut_short = ([], True) if is_interrupted else write_cases(campaign, shrink, faults, out)
    print_report(campaign, cases, what, is_interrupted or is_cut_short, output)
    if is_interrupted or is_cut_short:
        raise Finished(ExitStatus.INTERRUPTED)
    raise Finished(ExitStatus.VIOLATED if campaign.failing else ExitStatus.HELD)


# --- what is asked for -----------------------------------------------------------------------------------------------------


def chosen_profile(name: str, changes: Sequence[str]) -> "Profile":
    """Read --profile and --weight; what makes no sense ends the command."""
    from kcsim.scenarios.exploring.profile import ProfileError, load_profile

    try:
        return load_profile(name).with_weights(dict(map(_weight, changes)))
    except ProfileError as error:
        give_up(f"--profile: {error}" if not changes else str(error), ExitStatus.USAGE)


def _weight(text: str) -> tuple[str, int]:
    deed, _, number = text.partition("=")
    if not deed or not number.isdecimal():
        give_up(f"--weight: {text!r} is no weight; write one as kill=5", ExitStatus.USAGE)
    return deed, int(number)


def _seeds(text: str | None, minutes: float | None) -> tuple[Iterable[int], int | None]:
    """The seeds, and how many they are if that is known."""
    first, last = seed_range(text if text is not None else DEFAULT_SEEDS if minutes is None else FROM_THE_FIRST)
    if minutes is None:
        return range(first, last + 1), last + 1 - first
    until = time.monotonic() + minutes * SECONDS_PER_MINUTE
    bounded = count(first) if text is None or RANGE not in text else iter(range(first, last + 1))
    return takewhile(lambda _: time.monotonic() < until, bounded), None


def seed_range(text: str) -> tuple[int, int]:
    """Read --seeds: the first and the last; what makes no sense ends the command."""
    first, dots, last = text.partition(RANGE)
    if not dots:
        first, last = "0", str(int(text) - 1) if text.isdecimal() else text
    if not first.isdecimal() or not last.isdecimal() or not int(first) <= int(last) <= MAX_SEED:
        give_up(f"--seeds: {text!r} names no seeds; write 2000, or 0..1999", ExitStatus.USAGE)
    return int(first), int(last)


def _variants(name: str) -> "tuple[str, Sequence[Tree]]":
    """The scenario's name, and everything that is to be run of it."""
    from ruamel.yaml import YAML

    from kcsim.scenarios.commands.run import load
    from kcsim.scenarios.exploring.exhaustive import TooLargeError, variants

    file, scenario, _ = load(name)
    try:
        found = variants(YAML(typ="safe").load(Path(file).read_text(encoding="utf-8")), EXHAUSTIVE_SEED)
    except TooLargeError as error:
        give_up(f"--exhaustive: {file}: {error}", ExitStatus.USAGE)
    print(f"{file}: {len(found)} runs", file=sys.stderr)
    return scenario.name, found


# --- the runs, and what comes of them --------------------------------------------------------------------------------------


def _collect(answers: Iterator["Tried"], what: str, how_many: int | None, stop_at_first: bool) -> "tuple[Campaign, bool]":
    """Sum the answers up. Returns: the sum, and whether somebody has interrupted it."""
    from kcsim.scenarios.commands.explore_progress import progress_on
    from kcsim.scenarios.commands.explore_workers import WorkerDiedError
    from kcsim.scenarios.exploring.campaign import Campaign

    campaign = Campaign()
    with progress_on(sys.stderr, what, how_many) as told:
        try:
            for tried in answers:
                campaign.add(tried)
                told(campaign)
                if tried.unknown and stop_at_first:
                    break
        except KeyboardInterrupt:
            return campaign, True
        except WorkerDiedError as error:
            give_up(f"after {campaign.runs} runs: {error}", ExitStatus.UNDECIDED)
    return campaign, False


def write_cases(
    campaign: "Campaign", most_runs: int, faults: Sequence["KnownFault"], out: Path
) -> "tuple[list[WrittenCase], bool]":
    """Make the first run of each violation small, and write it. Returns: what was written, whether it was interrupted."""
    from kcsim.scenarios.commands.doctor import own_version
    from kcsim.scenarios.commands.explore_report import WrittenCase
    from kcsim.scenarios.exploring.artefacts import Case, write_case
    from kcsim.scenarios.exploring.trying import shrink_tried

    written: list[WrittenCase] = []
    try:
        for tried, found in campaign.first_of_each():
            assert tried.tree is not None
            print(f"seed {tried.seed}: {found.key}; making it small", file=sys.stderr)
            shrunk = shrink_tried(tried.tree, tried.seed, found, most_runs, faults)
            case = Case(tried.tree, shrunk.tree, tried.seed, found)
            written.append(WrittenCase(case, shrunk, write_case(case, out, own_version())))
    except KeyboardInterrupt:
        return written, True
    except OSError as error:
        give_up(f"--out: {out}: {error.strerror or error}", ExitStatus.UNDECIDED)
    return written, False
