"""Make a scenario in Python from its parts, and make the parts that are not steps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.python_keywords import (
    ExpectationKeywords,
    LinkKeywords,
    Names,
    ScenarioPart,
    given,
    hyphenate_keys,
)
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_text import yaml_text


class ScenarioError(ValueError):
    """The scenario is invalid. The message has one line per problem, with the line of the scenario that contains it."""


def scenario(
    name: str,
    description: str,
    *,
    cluster: ScenarioPart,
    timetable: Iterable[ScenarioPart],
    expect: Iterable[ScenarioPart] = (),
    zookeeper: ScenarioPart | None = None,
    workload: ScenarioPart | None = None,
    protections: ScenarioPart | None = None,
    afterwards: ScenarioPart | None = None,
    invariants: Any = None,
) -> Scenario:
    """Return the scenario made of these parts. Raises: ScenarioError with every problem found."""
    whole = given(
        name=name,
        description=description,
        cluster=cluster,
        zookeeper=zookeeper,
        workload=workload,
        protections=protections,
        timetable=list(timetable),
        afterwards=afterwards,
        expect=list(expect) or None,
        invariants=invariants,
    )
    text = yaml_text(_plain(whole))
    lines = text.splitlines()
    try:
        return load_text(text, name).scenario
    except ScenarioFileError as error:
        problems = [f"{lines[p.line - 1].strip()}: {p.message}" if p.line else p.message for p in error.problems]
        raise ScenarioError("\n".join(problems)) from None


def cluster(
    brokers: int | Sequence[ScenarioPart],
    *,
    racks: int | None = None,
    settings: ScenarioPart | None = None,
    topics: Mapping[str, ScenarioPart] | None = None,
    release: str | None = None,
    hardening: str | None = None,
) -> ScenarioPart:
    """Return a cluster: a number of brokers, or a list of {"id": …, "rack": …, "settings": …}.

    Settings have Kafka's dotted names; hardening is "on" or "off".
    """
    return given(brokers=brokers, racks=racks, settings=settings, topics=topics, release=release, hardening=hardening)


def topic(
    partitions: int | None = None,
    replication_factor: int | None = None,
    *,
    assignment: Mapping[int, Sequence[int]] | None = None,
    config: ScenarioPart | None = None,
    rack_aware: bool | None = None,
    start_index: int | None = None,
    shift: int | None = None,
) -> ScenarioPart:
    """Return a topic: numbers of partitions and replicas, which are placed as Kafka does, or the assignment."""
    return given(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        config=config,
        rack_aware=rack_aware,
        start_index=start_index,
        shift=shift,
    )


def between(some: Names, others: Names) -> LinkKeywords:
    """Return the links between two sides, both ways."""
    return LinkKeywords(between=some, and_=others)


def one_way(some: Names, others: Names) -> LinkKeywords:
    """Return the links from one side to the other, one way."""
    return LinkKeywords(from_=some, to=others)


def event(kind: Names, **columns: Any) -> ScenarioPart:
    """Return a pattern of events: a kind, or one of several, and columns that must have a certain value."""
    return {"kind": kind, **{hyphenated(column): wanted for column, wanted in columns.items()}}


def expect(claim: str | None = None, **conditions: Unpack[ExpectationKeywords]) -> ScenarioPart:
    """Return an expectation: conditions that should hold at the end, or `at` a time, or `within` some time."""
    return {**given(claim=claim), **hyphenate_keys(conditions)}


def _plain(value: Any) -> Any:
    """Return the value in YAML's own types. Raises: ScenarioError for a value of another type."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case Mapping():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case Iterable():
            return [_plain(item) for item in value]
        case _:
            raise ScenarioError(f"{value!r} cannot stand in a scenario")
