"""A scenario made in Python of its parts, and the parts that are no steps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from kcsim.scenarios.in_python.said import Expected, Names, Said, given, said
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_text import yaml_text


class ScenarioError(ValueError):
    """A scenario that makes no sense: a line for each problem, with what it is in."""


def scenario(
    name: str,
    description: str,
    *,
    cluster: Said,
    timetable: Iterable[Said],
    expect: Iterable[Said] = (),
    zookeeper: Said | None = None,
    workload: Said | None = None,
    protections: Said | None = None,
    afterwards: Said | None = None,
    invariants: Any = None,
) -> Scenario:
    """Return the scenario that these parts make. Raises: ScenarioError with every problem found."""
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
        told = [f"{lines[p.line - 1].strip()}: {p.message}" if p.line else p.message for p in error.problems]
        raise ScenarioError("\n".join(told)) from None


def cluster(
    brokers: int | Sequence[Said],
    *,
    racks: int | None = None,
    settings: Said | None = None,
    topics: Mapping[str, Said] | None = None,
) -> Said:
    """So many brokers, or a list of {"id": …, "rack": …}; settings under Kafka's dotted names."""
    return given(brokers=brokers, racks=racks, settings=settings, topics=topics)


def topic(
    partitions: int | None = None,
    replication_factor: int | None = None,
    *,
    assignment: Mapping[int, Sequence[int]] | None = None,
    config: Said | None = None,
    rack_aware: bool | None = None,
    start_index: int | None = None,
    shift: int | None = None,
) -> Said:
    """A topic: how many partitions and replicas, to be placed as Kafka does, or the assignment."""
    return given(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        config=config,
        rack_aware=rack_aware,
        start_index=start_index,
        shift=shift,
    )


def event(kind: Names, **columns: Any) -> Said:
    """An event of the log: a kind, or one of several, and columns that must have a certain value."""
    return {"kind": kind, **{hyphenated(column): wanted for column, wanted in columns.items()}}


def expect(claim: str | None = None, **conditions: Unpack[Expected]) -> Said:
    """What should be true in the end, or `at` a moment, or `within` some time."""
    return {**given(claim=claim), **said(conditions)}


def _plain(value: Any) -> Any:
    """The value in YAML's own types. Raises: ScenarioError for what it does not have."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case Mapping():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case Iterable():
            return [_plain(item) for item in value]
        case _:
            raise ScenarioError(f"{value!r} cannot stand in a scenario")
