"""Scenarios written in Python, for people who prefer code: a function for each thing that a scenario file can say.

    failover = scenario(
        "failover",
        "The controller dies; somebody else takes over.",
        cluster=cluster(3),
        timetable=[start("all"), wait(controller="any"), kill("controller", as_="old"), wait(controller="not old")],
        expect=[expect(dead="old"), expect("The epoch went up.", controller_epoch=2)],
    )
    assert run(failover, seed=7).held

The words, and what may be said with them, are those of the file (language/): hyphens become underscores, and `as`, `for`,
`from`, `and` and `break` get one at their end. What is wrong is told as it is there, with the line that a file would have.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from kcsim.scenarios.judging.verdict import HELD_STATUS, Verdict
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.scenario_file import LoadedScenario, ScenarioFileError, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.zk.events import Event

Said = Mapping[str, Any]
"""A part of a scenario, as it would stand in a file."""
Names = str | Sequence[str]
"""One, or several: broker-1, controller, leader-of orders-0, a name given with `as_`; `all`."""


class Timing(TypedDict, total=False):
    """When a step is done, and how often."""

    at: str
    after: str
    when: Said
    times: int
    every: str
    if_possible: bool


class Naming(Timing, total=False):
    """The same of a step that can give a name to whom it is done."""

    as_: str


class MidWrite(Naming, total=False):
    """The same of a fault that can strike in the middle of a write to ZooKeeper."""

    at_write: str
    path: str
    nth: int


class Links(TypedDict, total=False):
    """Links of the network: between some and others, or from some to others."""

    between: Names
    and_: Names
    from_: Names
    to: Names


class Conditions(TypedDict, total=False):
    """What can be true of a cluster."""

    controller: str
    controller_epoch: int
    controller_epochs: Sequence[int]
    registered: Names
    unregistered: Names
    re_registered: Names
    running: Names
    paused: Names
    stopped: Names
    dead: Names
    session_expired: Names
    topics: Names
    leader: Mapping[str, Names]
    leader_epoch: Mapping[str, int]
    isr: Mapping[str, Sequence[int]]
    replicas: Mapping[str, Sequence[int]]
    in_sync: Names
    leaders_preferred: Names
    reassigning: Names
    offline_partitions: int
    under_replicated: int
    acknowledged: Any
    given_up: Any
    lost: Any
    lost_everywhere: Any
    incomplete: Any
    unacknowledged: Any
    duplicated: Any
    divergent: Any
    groups: Mapping[str, Said]
    assignment: Mapping[str, Names]
    moved: Mapping[str, Names]
    unconsumed: Mapping[str, Said]
    metrics: Said
    znode: Said
    event: Said
    no_event: Said
    events: Said
    order: Sequence[Said]
    time_between: Said
    within: str


class Expected(Conditions, total=False):
    """The same, judged at a moment of the run instead of its end."""

    at: str


# --- a scenario ------------------------------------------------------------------------------------------------------------


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
    given = _given(
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
    text = yaml_text(_plain(given))
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
    return _given(brokers=brokers, racks=racks, settings=settings, topics=topics)


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
    return _given(
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
    return {**_given(claim=claim), **_said(conditions)}


# --- steps: what is done to brokers and servers ----------------------------------------------------------------------------


def start(who: Names, **timing: Unpack[Timing]) -> Said:
    return _step("start", who, timing)


def stop(who: Names, **timing: Unpack[Naming]) -> Said:
    return _step("stop", who, timing)


def kill(who: Names, **timing: Unpack[MidWrite]) -> Said:
    return _step("kill", who, timing)


def pause(who: Names, **timing: Unpack[MidWrite]) -> Said:
    return _step("pause", who, timing)


def resume(who: Names, **timing: Unpack[Naming]) -> Said:
    return _step("resume", who, timing)


def expire(who: Names, **timing: Unpack[Naming]) -> Said:
    return _step("expire", who, timing)


def disconnect(who: Names, for_: str | None = None, **timing: Unpack[Naming]) -> Said:
    return _step("disconnect", who, timing, for_=for_)


def reconnect(who: Names, **timing: Unpack[Naming]) -> Said:
    return _step("reconnect", who, timing)


def slow_follower(who: Names, rate: int | None = None, **timing: Unpack[Naming]) -> Said:
    return _step("slow-follower", who, timing, rate=rate)


def fail_log_dir(who: Names, partitions: Names | None = None, **timing: Unpack[Naming]) -> Said:
    return _step("fail-log-dir", who, timing, partitions=partitions)


def zookeeper(verb: str, who: Names, **timing: Unpack[Naming]) -> Said:
    """Do `kill`, `start`, `pause` or `resume` to servers: leader, follower, member-1."""
    return _step("zookeeper", {verb: who}, timing)


def wait(*, at: str | None = None, after: str | None = None, if_possible: bool = False, **true: Unpack[Conditions]) -> Said:
    """Go on when this is true; give up when it has not become so within 15 s, or `within`."""
    return _step("wait", _said(true), Timing(if_possible=True) if if_possible else {}, at=at, after=after)


# --- steps: the network ----------------------------------------------------------------------------------------------------


def partition(links: Links, *, refuse: bool = False, for_: str | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("partition", {**_said(links), **_given(refuse=refuse or None)}, timing, for_=for_)


def slow_link(
    links: Links, *, delay: str, jitter: str | None = None, for_: str | None = None, **timing: Unpack[Timing]
) -> Said:
    return _step("slow-link", {**_said(links), **_given(delay=delay, jitter=jitter)}, timing, for_=for_)


def lossy_link(
    links: Links, *, loss: str | None = None, break_: str | None = None, for_: str | None = None, **timing: Unpack[Timing]
) -> Said:
    return _step("lossy-link", {**_said(links), **_given(loss=loss, break_=break_)}, timing, for_=for_)


def break_connections(links: Links, *, once_delivered: str | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("break-connections", {**_said(links), **_given(once_delivered=once_delivered)}, timing)


def heal(links: Links | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("heal", "all" if links is None else _said(links), timing)


def between(some: Names, others: Names) -> Links:
    """Links both ways."""
    return Links(between=some, and_=others)


def one_way(some: Names, others: Names) -> Links:
    """Links from some to others."""
    return Links(from_=some, to=others)


# --- steps: topics ---------------------------------------------------------------------------------------------------------


def create_topic(topics: Names, **timing: Unpack[Timing]) -> Said:
    return _step("create-topic", topics, timing)


def delete_topic(topics: Names, **timing: Unpack[Timing]) -> Said:
    return _step("delete-topic", topics, timing)


def add_partitions(growth: Mapping[str, int | Mapping[int, Sequence[int]]], **timing: Unpack[Timing]) -> Said:
    return _step("add-partitions", growth, timing)


def reassign(targets: Mapping[str, Sequence[int]], via: str | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("reassign", targets, timing, via=via)


def cancel_reassignment(partitions: Names, **timing: Unpack[Timing]) -> Said:
    return _step("cancel-reassignment", partitions, timing)


def elect_preferred(partitions: Names, via: str | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("elect-preferred", partitions, timing, via=via)


def elect_unclean(partitions: Names, **timing: Unpack[Timing]) -> Said:
    return _step("elect-unclean", partitions, timing)


def set_config(
    *, topics: Mapping[str, Said] | None = None, broker_defaults: Said | None = None, **timing: Unpack[Timing]
) -> Said:
    return _step("set-config", _given(topics=topics, broker_defaults=broker_defaults), timing)


# --- steps: clients --------------------------------------------------------------------------------------------------------


def produce(producers: Names, records: int | None = None, **timing: Unpack[Timing]) -> Said:
    return _step("produce", producers, timing, records=records)


def start_workload(producers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("start-workload", producers, timing)


def stop_workload(producers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("stop-workload", producers, timing)


def start_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("start-consumers", consumers, timing)


def stop_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("stop-consumers", consumers, timing)


def crash_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("crash-consumers", consumers, timing)


def pause_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("pause-consumers", consumers, timing)


def resume_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    return _step("resume-consumers", consumers, timing)


def stall_consumers(consumers: Names, for_: str, **timing: Unpack[Timing]) -> Said:
    return _step("stall-consumers", consumers, timing, for_=for_)


# --- steps: znodes by hand -------------------------------------------------------------------------------------------------


def zk_create(
    path: str, data: Any = None, *, ephemeral: bool = False, sequential: bool = False, **timing: Unpack[Timing]
) -> Said:
    znode = _given(path=path, data=data, ephemeral=ephemeral or None, sequential=sequential or None)
    return _step("zk-create", znode, timing)


def zk_set(path: str, data: Any, **timing: Unpack[Timing]) -> Said:
    return _step("zk-set", {"path": path, "data": data}, timing)


def zk_delete(path: str, **timing: Unpack[Timing]) -> Said:
    return _step("zk-delete", path, timing)


# --- running it ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """A run of a scenario: its verdict, and all that happened."""

    verdict: Verdict
    events: Sequence[Event]

    @property
    def held(self) -> bool:
        """Whether all expectations and invariants held."""
        return self.verdict.exit_status == HELD_STATUS

    def __str__(self) -> str:
        """Why, in words: what makes a failed assertion worth reading."""
        from kcsim.scenarios.telling.timeline import summary

        broken = [f"{j.outcome.value}: {j.claim}: {j.seen}" for j in self.verdict.judged if j.outcome.value != "held"]
        return "\n".join([summary(self.verdict), *broken])


def run(scenario: Scenario, zookeeper: str = "simulated", seed: int = 1, without: Sequence[str] = ()) -> Ran:
    """Run a scenario, on simulated brokers.

    Args:
        zookeeper: as for `kcsim run --zookeeper`: simulated, embedded, ensemble, docker.
        without: names of protections to switch off.

    Raises: what run_in_world raises, when there is no such ZooKeeper to be had.
    """
    from kcsim.scenarios.cluster import Cluster
    from kcsim.scenarios.runner import cluster_spec, run_scenario
    from kcsim.scenarios.runs import RunInfo
    from kcsim.scenarios.worlds import run_in_world
    from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind

    loaded = as_loaded(scenario)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    info = RunInfo(scenario.name, seed, zookeeper)
    choice = ZooKeeperChoice.parse(zookeeper)
    if choice.kind is not ZooKeeperKind.EXTERNAL:
        choice = replace(choice, members=max(choice.members, scenario.zookeeper.members))
    log = run_in_world(choice, cluster_spec(scenario, without), info, script)
    return Ran(verdicts[0], log.events)


def as_loaded(scenario: Scenario) -> LoadedScenario:
    """The scenario as its file would be loaded: steps that cannot be done are told by the lines of `to_yaml()`."""
    return load_text(scenario.to_yaml(), f"{scenario.name}.yaml")


# --- as a file has it ------------------------------------------------------------------------------------------------------


def _step(verb: str, to_whom: Any, timing: Mapping[str, Any], **more: Any) -> Said:
    return {verb: to_whom, **_given(**more), **_said(timing)}


def _given(**parts: Any) -> dict[str, Any]:
    return _said({name: part for name, part in parts.items() if part is not None})


def _said(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {hyphenated(name): part for name, part in parts.items()}


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
