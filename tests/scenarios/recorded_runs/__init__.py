"""What simulated runs came to when they were last recorded, so that a change of behaviour that nobody intended shows.

`recorded.txt` has each scenario of the library, with seed 1, and the first seeds of every profile of `kcsim explore`: a line
with the number of events and a digest of the whole trace, and below it a line for each kind of event, with a digest of these
events without their numbers and causes. So an additional event changes the line of its own kind and the run's first line.

    python -m tests.scenarios.recorded_runs [RUN…]              which lines differ from what is recorded
    python -m tests.scenarios.recorded_runs [RUN…] --record     write them down: keep what you can explain

To see what has become of a run: `kcsim run … --zookeeper simulated --trace` before and after the change, and `kcsim diff`.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from kcsim.eventlog.events import Event
from kcsim.scenarios.explore.generator import generate
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.language.library import library_file, library_names
from kcsim.scenarios.language.scenario_file import LoadedScenario, load_scenario

RECORDED = Path(__file__).parent / "recorded.txt"
PROFILES = ("standard", "network", "admin", "zookeeper", "records", "small")
SEEDS = range(10)


def run_names() -> list[str]:
    """Return the names of all runs: of a scenario of the library, or `explore PROFILE SEED`."""
    return [*library_names(), *(f"explore {profile} {seed}" for profile in PROFILES for seed in SEEDS)]


def lines_of(name: str) -> list[str]:
    """Run a scenario in virtual time and return its lines as in the file."""
    scenario, seed = _scenario(name)
    begun, *others = simulate(scenario, seed).events
    events = [msgspec.structs.replace(begun, data=None), *others]  # its data names the versions of Python and of ours
    kinds = defaultdict(list)
    for event in events:
        kinds[event.kind.value].append(msgspec.structs.replace(event, seq=0, cause=None))
    return [
        f"{name}: {len(events)} events, {_digest(events)}",
        *(f"    {kind} {len(events)} {_digest(events)}" for kind, events in sorted(kinds.items())),
    ]


def _scenario(name: str) -> tuple[LoadedScenario, int]:
    if name.startswith("explore "):
        _, profile, seed = name.split()
        return loaded(generate(load_profile(profile), int(seed))), int(seed)
    return load_scenario(library_file(name)), 1


def _digest(events: Sequence[Event]) -> str:
    return hashlib.sha256(b"\n".join(map(msgspec.json.encode, events))).hexdigest()[:8]


@cache
def recorded() -> dict[str, list[str]]:
    """Return the recorded lines of each run."""
    runs: dict[str, list[str]] = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            runs[line.partition(":")[0]] = lines = []
        lines.append(line)
    return runs
