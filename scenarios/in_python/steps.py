"""What a timetable can do, in Python: a function for each verb, which returns the step as it would stand in a file."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from kcsim.scenarios.in_python.said import Conditions, Links, MidWrite, Names, Naming, Said, Timing, given, said, step

# --- steps: what is done to brokers and servers ----------------------------------------------------------------------------


def start(who: Names, **timing: Unpack[Timing]) -> Said:
    """Start brokers, all at once."""
    return step("start", who, timing)


def stop(who: Names, **timing: Unpack[Naming]) -> Said:
    """Stop brokers in order, as SIGTERM does."""
    return step("stop", who, timing)


def kill(who: Names, **timing: Unpack[MidWrite]) -> Said:
    """Kill brokers, as SIGKILL does: their sessions are left to expire."""
    return step("kill", who, timing)


def pause(who: Names, **timing: Unpack[MidWrite]) -> Said:
    """Freeze brokers, as a long garbage collection does."""
    return step("pause", who, timing)


def resume(who: Names, **timing: Unpack[Naming]) -> Said:
    """Let frozen brokers go on."""
    return step("resume", who, timing)


def expire(who: Names, **timing: Unpack[Naming]) -> Said:
    """Let ZooKeeper end the brokers' sessions although they live."""
    return step("expire", who, timing)


def disconnect(who: Names, for_: str | None = None, **timing: Unpack[Naming]) -> Said:
    """Cut brokers off from ZooKeeper, for a while or until `reconnect`; their sessions are not closed."""
    return step("disconnect", who, timing, for_=for_)


def reconnect(who: Names, **timing: Unpack[Naming]) -> Said:
    """Let brokers reach ZooKeeper again."""
    return step("reconnect", who, timing)


def slow_follower(who: Names, rate: int | None = None, **timing: Unpack[Naming]) -> Said:
    """Let brokers replicate slowly, as from a tired disk, or as fast as they can again."""
    return step("slow-follower", who, timing, rate=rate)


def fail_log_dir(who: Names, partitions: Names | None = None, **timing: Unpack[Naming]) -> Said:
    """Let a broker lose a log directory, with all the replicas in it or with some."""
    return step("fail-log-dir", who, timing, partitions=partitions)


def zookeeper(verb: str, who: Names, **timing: Unpack[Naming]) -> Said:
    """Do `kill`, `start`, `pause` or `resume` to servers: leader, follower, member-1."""
    return step("zookeeper", {verb: who}, timing)


def wait(*, at: str | None = None, after: str | None = None, if_possible: bool = False, **true: Unpack[Conditions]) -> Said:
    """Go on when this is true; give up when it has not become so within 15 s, or `within`."""
    return step("wait", said(true), Timing(if_possible=True) if if_possible else {}, at=at, after=after)


# --- steps: the network ----------------------------------------------------------------------------------------------------


def partition(links: Links, *, refuse: bool = False, for_: str | None = None, **timing: Unpack[Timing]) -> Said:
    """Let nothing pass on some links, for a while or until `heal`. Open connections stall, new ones cannot be made."""
    return step("partition", {**said(links), **given(refuse=refuse or None)}, timing, for_=for_)


def slow_link(
    links: Links, *, delay: str, jitter: str | None = None, for_: str | None = None, **timing: Unpack[Timing]
) -> Said:
    """Let everything take longer on some links, for a while or until `heal`. The latest that is said of a link counts."""
    return step("slow-link", {**said(links), **given(delay=delay, jitter=jitter)}, timing, for_=for_)


def lossy_link(
    links: Links, *, loss: str | None = None, break_: str | None = None, for_: str | None = None, **timing: Unpack[Timing]
) -> Said:
    """Let some links lose what is sent, or break, by chance, for a while or until `heal`."""
    return step("lossy-link", {**said(links), **given(loss=loss, break_=break_)}, timing, for_=for_)


def break_connections(links: Links, *, once_delivered: str | None = None, **timing: Unpack[Timing]) -> Said:
    """Break the connections that are open, once; what is on its way on them is lost."""
    return step("break-connections", {**said(links), **given(once_delivered=once_delivered)}, timing)


def heal(links: Links | None = None, **timing: Unpack[Timing]) -> Said:
    """Let links be as they should. What is being sent again arrives when it is sent for the next time."""
    return step("heal", "all" if links is None else said(links), timing)


def between(some: Names, others: Names) -> Links:
    """Links both ways."""
    return Links(between=some, and_=others)


def one_way(some: Names, others: Names) -> Links:
    """Links from some to others."""
    return Links(from_=some, to=others)


# --- steps: topics ---------------------------------------------------------------------------------------------------------


def create_topic(topics: Names, **timing: Unpack[Timing]) -> Said:
    """Create topics of `cluster: topics:`, as Kafka's tool does: first the znode of the settings, then that of the topic."""
    return step("create-topic", topics, timing)


def delete_topic(topics: Names, **timing: Unpack[Timing]) -> Said:
    """Ask for the deletion of topics."""
    return step("delete-topic", topics, timing)


def add_partitions(growth: Mapping[str, int | Mapping[int, Sequence[int]]], **timing: Unpack[Timing]) -> Said:
    """Give topics more partitions."""
    return step("add-partitions", growth, timing)


def reassign(targets: Mapping[str, Sequence[int]], via: str | None = None, **timing: Unpack[Timing]) -> Said:
    """Ask for partitions to be hosted by other brokers."""
    return step("reassign", targets, timing, via=via)


def cancel_reassignment(partitions: Names, **timing: Unpack[Timing]) -> Said:
    """Ask the controller to give reassignments up, by a request: there is no znode for it."""
    return step("cancel-reassignment", partitions, timing)


def elect_preferred(partitions: Names, via: str | None = None, **timing: Unpack[Timing]) -> Said:
    """Ask for the preferred replicas to lead."""
    return step("elect-preferred", partitions, timing, via=via)


def elect_unclean(partitions: Names, **timing: Unpack[Timing]) -> Said:
    """Ask the controller to elect a replica that is not in the ISR where no member of it lives, by a request."""
    return step("elect-unclean", partitions, timing)


def set_config(
    *, topics: Mapping[str, Said] | None = None, broker_defaults: Said | None = None, **timing: Unpack[Timing]
) -> Said:
    """Change settings while everybody runs: the entity's znode, then a notification below /config/changes."""
    return step("set-config", given(topics=topics, broker_defaults=broker_defaults), timing)


# --- steps: clients --------------------------------------------------------------------------------------------------------


def produce(producers: Names, records: int | None = None, **timing: Unpack[Timing]) -> Said:
    """Let producers write a number of records, and go on when all of these are acknowledged or given up."""
    return step("produce", producers, timing, records=records)


def start_workload(producers: Names, **timing: Unpack[Timing]) -> Said:
    """Let producers write while the timetable goes on, until they are done or `stop-workload`."""
    return step("start-workload", producers, timing)


def stop_workload(producers: Names, **timing: Unpack[Timing]) -> Said:
    """Let producers make no more records, and go on when all that they made are acknowledged or given up."""
    return step("stop-workload", producers, timing)


def start_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    """Start consumers, all at once; they find their group's coordinator and join."""
    return step("start-consumers", consumers, timing)


def stop_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    """Let consumers close: they commit, and leave their group unless they are static members."""
    return step("stop-consumers", consumers, timing)


def crash_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    """Kill consumers, as SIGKILL does: their group misses them when their sessions are over."""
    return step("crash-consumers", consumers, timing)


def pause_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    """Freeze consumers, as a long garbage collection does."""
    return step("pause-consumers", consumers, timing)


def resume_consumers(consumers: Names, **timing: Unpack[Timing]) -> Said:
    """Let frozen consumers go on."""
    return step("resume-consumers", consumers, timing)


def stall_consumers(consumers: Names, for_: str, **timing: Unpack[Timing]) -> Said:
    """Let the consumers' applications be busy for a while: they do not poll, but their clients send heartbeats."""
    return step("stall-consumers", consumers, timing, for_=for_)


# --- steps: znodes by hand -------------------------------------------------------------------------------------------------


def zk_create(
    path: str, data: Any = None, *, ephemeral: bool = False, sequential: bool = False, **timing: Unpack[Timing]
) -> Said:
    """Create a znode by hand."""
    znode = given(path=path, data=data, ephemeral=ephemeral or None, sequential=sequential or None)
    return step("zk-create", znode, timing)


def zk_set(path: str, data: Any, **timing: Unpack[Timing]) -> Said:
    """Overwrite a znode by hand."""
    return step("zk-set", {"path": path, "data": data}, timing)


def zk_delete(path: str, **timing: Unpack[Timing]) -> Said:
    """Delete a znode by hand."""
    return step("zk-delete", path, timing)
