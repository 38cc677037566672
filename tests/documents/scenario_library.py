"""docs/reference/scenarios.md: the scenarios of the library, grouped by what they are about."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ruamel.yaml import YAML

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.scenarios.engine.real_brokers import refusals
from kcsim.scenarios.explore.known_bugs import KnownBug, known_bugs
from kcsim.scenarios.language.library import LIBRARY, library_names
from kcsim.scenarios.language.network_steps import NETWORK_STEPS
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.lessons.lesson_names import LESSONS
from tests.documents.markdown import bullets, code, link, paragraph
from tests.documents.markdown import page as page_of
from tests.scenarios.scenario_library import of_library

INTRODUCTION = f"""The scenarios that come with the simulator: {{count}} files in `{LIBRARY.parent.name}/{LIBRARY.name}/`.
Each is run
with `kcsim run NAME`, in virtual time with `--zookeeper simulated`. `kcsim scenario show NAME` prints its file, and
`kcsim scenario list WORD` searches names and descriptions. How to write one: [scenario language](scenario-schema.md)."""

BUGS = "Defects of Kafka and znodes changed by hand"
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "Election of the controller": "Brokers without topics: election, failover, sessions and ZooKeeper's own servers.",
        "Partitions and their leaders": "Leaders, ISRs, reassignment, deletion and restarts, without producers.",
        "Records": "Producers write meanwhile: what is acknowledged, lost, refused or duplicated.",
        "The network": "Links between brokers and clients are cut, slowed down or broken.",
        "Consumer groups": "Consumers share partitions, and one of them fails.",
        BUGS: "Defects of Apache Kafka's own controller, and the consequences of znodes that were changed by hand.",
    }
)
"""Heading -> what the scenarios below it have in common; the heading of a scenario follows from its file."""


def page() -> str:
    names = library_names()
    grouped: dict[str, list[LoadedScenario]] = {heading: [] for heading in GROUPS}
    for name in names:
        loaded = of_library(name)
        grouped[group_of(loaded.scenario)].append(loaded)
    return page_of(
        "scenarios.md",
        "Scenario library",
        INTRODUCTION.format(count=len(names)),
        *_contents(grouped),
        *(part for heading, members in grouped.items() for part in _group(heading, members)),
    )


def group_of(scenario: Scenario) -> str:
    """Return the heading of a scenario. It follows from the scenario's name, its clients, its steps and its topics."""
    election, partitions, records, network, consumers, bugs = GROUPS
    if scenario.name.startswith("fault-"):
        return bugs
    if scenario.workload.groups:
        return consumers
    if any(isinstance(step, NETWORK_STEPS) for step in scenario.timetable):
        return network
    if scenario.workload.producers:
        return records
    return partitions if scenario.cluster.topics else election


def _contents(grouped: Mapping[str, Sequence[LoadedScenario]]) -> Iterator[str]:
    for heading, members in grouped.items():
        yield paragraph(f"**{link(heading)}.** {GROUPS[heading]}")
        yield bullets(link(loaded.scenario.name) for loaded in members)


def _group(heading: str, members: Sequence[LoadedScenario]) -> Iterator[str]:
    yield f"## {heading}"
    yield GROUPS[heading]
    for loaded in members:
        yield f"### {loaded.scenario.name}"
        yield paragraph(loaded.scenario.description)
        yield bullets(_facts(loaded))
        yield from _expectations(loaded.scenario)


def _facts(loaded: LoadedScenario) -> Iterator[str]:
    scenario = loaded.scenario
    brokers, servers = len(scenario.cluster.members()), scenario.zookeeper.members
    racks = {broker.rack for broker in scenario.cluster.members()} - {None}
    yield (
        f"{brokers} broker{'s' * (brokers > 1)}{f' in {len(racks)} racks' if racks else ''}, "
        f"{'one ZooKeeper server' if servers == 1 else f'{servers} ZooKeeper servers'}, "
        f"{len(scenario.timetable)} steps; {_real_brokers(loaded)}"
    )
    yield _version(scenario)
    if off := scenario.protections.off:
        yield "Switched off: " + ", ".join(code(protection.name) for protection in off)
    if lessons := _lessons().get(scenario.name):
        yield "Lesson: " + ", ".join(f"{title} (`kcsim learn {name}`)" for name, title in lessons)
    for bug in _bugs().get(scenario.name, ()):
        yield f"Known defect `{bug.name}` ({bug.seen_in}{f'; {bug.issue}' if bug.issue else ''}): {SHOWN[bug.shown]}"


SHOWN: Mapping[str, str] = MappingProxyType(
    {
        "recorded": "seen on a running Kafka",
        "source": "read in Kafka's source",
        "reported": "reported by others",
    }
)
"""How a known bug is known."""


def _version(scenario: Scenario) -> str:
    """Return the version that the scenario states; test_scenario_file.py demands that each states one."""
    cluster = scenario.cluster
    stated = [f"release {cluster.release}"] if cluster.release is not None else []
    if version := cluster.settings.get(PROTOCOL_VERSION):
        stated.append(f"{code(PROTOCOL_VERSION)} {version}")
    return ", ".join(stated)


def _real_brokers(loaded: LoadedScenario) -> str:
    return "on simulated brokers only" if refusals(loaded) else "also on real brokers (`--brokers kafka`)"


def _expectations(scenario: Scenario) -> Iterator[str]:
    claims = [expectation.claim for expectation in scenario.expect if expectation.claim]
    if claims:
        yield "Expected:"
        yield bullets(claims)


@cache
def _lessons() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return name of a scenario -> name and title of the lessons that run it."""
    found: dict[str, list[tuple[str, str]]] = {}
    lessons = [YAML(typ="safe").load(path.read_text(encoding="utf-8")) for path in sorted(LESSONS.glob("*.yaml"))]
    for lesson in sorted(lessons, key=lambda lesson: lesson["number"]):
        if isinstance(lesson["scenario"], str):
            found.setdefault(lesson["scenario"], []).append((lesson["name"], lesson["title"]))
    return found


@cache
def _bugs() -> Mapping[str, Sequence[KnownBug]]:
    """Return name of a scenario -> the known bugs that it shows."""
    found: dict[str, list[KnownBug]] = {}
    for bug in known_bugs():
        if bug.scenario is not None:
            found.setdefault(bug.scenario, []).append(bug)
    return found
