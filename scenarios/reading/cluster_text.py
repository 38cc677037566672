"""The cluster as of a moment, for people and for programs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kcsim.scenarios.questions.assignment_text import table
from kcsim.scenarios.reading.cluster_at import BrokerAt, ClusterAt, ConsumerAt, PartitionAt

PARTITIONS_SHOWN = 40
NOTHING = "-"


def cluster_lines(at: ClusterAt, everything: bool = False) -> Iterator[str]:
    """Tables of brokers, partitions, groups and consumers.

    Args:
        everything: whether to show every partition; else, of many, those first with which something is the matter.
    """
    yield f"As of #{at.event.seq}, {at.event.t_ms / 1000:.3f} s"
    yield f"Controller: {_controller(at)}"
    for title, lines in (
        ("Brokers", _brokers(at)),
        ("ZooKeeper's servers", (f"{name}: {process}" for name, process in at.members.items())),
        (_partitions_title(at.partitions), _partitions(at.partitions, everything)),
        ("Groups", _groups(at)),
        ("Consumers", _consumers(at.consumers)),
        ("Metrics", (f"{name}: {value}" for name, value in at.metrics.items())),
    ):
        shown = list(lines)
        if shown:
            yield ""
            yield title
            yield from (f"  {line}" for line in shown)


def _controller(at: ClusterAt) -> str:
    who = "nobody" if at.controller is None else f"broker-{at.controller}"
    return f"{who}, controller epoch {NOTHING if at.controller_epoch is None else at.controller_epoch}"


def _brokers(at: ClusterAt) -> Iterator[str]:
    if not at.brokers:
        return
    rows = (
        (broker.name, broker.process or NOTHING, _registration(broker), _session(broker), _role(broker, at.controller))
        for broker in at.brokers
    )
    yield from table(("Broker", "Process", "Registered", "Session", "Role"), rows)


def _registration(broker: BrokerAt) -> str:
    if broker.broker_epoch is None:
        return "no"
    return f"broker epoch {broker.broker_epoch}" + (f", {broker.rack}" if broker.rack else "")


def _session(broker: BrokerAt) -> str:
    """Its id, as the broker sees it; and how the server does, where they are not of one mind."""
    if broker.session_id is None:
        return NOTHING
    session = f"0x{broker.session_id.removeprefix('0x').lstrip('0') or '0'} {broker.session_seen}"
    gone = broker.session == "closed" and broker.session_seen not in ("expired", "closed")
    return f"{session}, in truth gone" if gone else session


def _role(broker: BrokerAt, controller: int | None) -> str:
    if broker.controller_epoch is None:
        return "named in /controller" if broker.id == controller else NOTHING
    zombie = "" if broker.id == controller else ", it believes"
    return f"controller of epoch {broker.controller_epoch}{zombie}"


# --- partitions ------------------------------------------------------------------------------------------------------------


def _partitions_title(partitions: Sequence[PartitionAt]) -> str:
    offline, behind = (sum(map(bool, of)) for of in zip(*map(_counted, partitions), strict=True)) if partitions else (0, 0)
    return f"Partitions: {len(partitions)}, {offline} offline, {behind} under-replicated"


def _counted(partition: PartitionAt) -> tuple[bool, bool]:
    return partition.is_offline, partition.is_under_replicated


def _partitions(partitions: Sequence[PartitionAt], everything: bool) -> Iterator[str]:
    if not partitions:
        return
    shown = list(partitions)
    if not everything and len(partitions) > PARTITIONS_SHOWN:
        shown = sorted(partitions, key=lambda partition: not partition.needs_attention)[:PARTITIONS_SHOWN]
    header = ("Partition", "Leader", "Epoch", "ISR", "Replicas", "")
    yield from table(header, map(_partition_row, shown))
    if len(shown) < len(partitions):
        yield f"… {len(partitions) - len(shown)} more; --all shows them"


def _partition_row(partition: PartitionAt) -> tuple[object, ...]:
    return (
        f"{partition.topic}-{partition.partition}",
        "none" if partition.leader is None else partition.leader,
        NOTHING if partition.leader_epoch is None else partition.leader_epoch,
        _ids(partition.isr),
        _ids(partition.replicas),
        ", ".join(_remarks(partition)),
    )


def _remarks(partition: PartitionAt) -> Iterator[str]:
    if partition.is_marked_for_deletion:
        yield "marked for deletion"
    if partition.is_offline:
        yield "offline"
    if partition.is_under_replicated:
        yield "under-replicated"
    if partition.adding_replicas or partition.removing_replicas:
        yield f"adding {_ids(partition.adding_replicas)}, removing {_ids(partition.removing_replicas)}"


def _ids(ids: Iterable[int]) -> str:
    # With blanks it is no number to the table, and stands at the left as lists do.
    return "[" + ", ".join(map(str, ids)) + "]"


# --- consumers -------------------------------------------------------------------------------------------------------------


def _groups(at: ClusterAt) -> Iterator[str]:
    if at.groups:
        yield from table(("Group", "State", "Generation"), ((g.group, g.state, g.generation) for g in at.groups))


def _consumers(consumers: Sequence[ConsumerAt]) -> Iterator[str]:
    if consumers:
        rows = ((c.name, c.process or NOTHING, c.group or NOTHING, ", ".join(c.partitions) or "nothing") for c in consumers)
        yield from table(("Consumer", "Process", "Group", "Consumes"), rows)


# --- JSON ------------------------------------------------------------------------------------------------------------------


def cluster_json(at: ClusterAt) -> dict[str, Any]:
    """All of it; znodes apart."""
    return {
        "seq": at.event.seq,
        "t_ms": at.event.t_ms,
        "controller": at.controller,
        "controller_epoch": at.controller_epoch,
        "brokers": [asdict(broker) for broker in at.brokers],
        "members": dict(at.members),
        "partitions": [asdict(partition) for partition in at.partitions],
        "groups": [asdict(group) for group in at.groups],
        "consumers": [asdict(consumer) for consumer in at.consumers],
        "metrics": dict(at.metrics),
    }
