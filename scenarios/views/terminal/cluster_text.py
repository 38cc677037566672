"""The cluster as of a point in time, as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kcsim.scenarios.views.terminal.cluster_snapshot import (
    BrokerSnapshot,
    ClusterSnapshot,
    ConsumerSnapshot,
    PartitionSnapshot,
)
from kcsim.scenarios.views.terminal.table import table

PARTITIONS_SHOWN = 40
NOTHING = "-"


def cluster_lines(snapshot: ClusterSnapshot, everything: bool = False) -> Iterator[str]:
    """Yield tables of brokers, partitions, groups and consumers.

    Args:
        everything: whether to show every partition; otherwise, if there are many, those that need attention come first.
    """
    yield f"As of #{snapshot.event.seq}, {snapshot.event.t_ms / 1000:.3f} s"
    yield f"Controller: {_controller(snapshot)}"
    for title, lines in (
        ("Znodes in quarantine", _quarantined(snapshot)),
        ("Brokers", _brokers(snapshot)),
        ("ZooKeeper's servers", (f"{name}: {process}" for name, process in snapshot.members.items())),
        (_partitions_title(snapshot.partitions), _partitions(snapshot.partitions, everything)),
        ("Groups", _groups(snapshot)),
        ("Consumers", _consumers(snapshot.consumers)),
        ("Metrics", (f"{name}: {value}" for name, value in snapshot.metrics.items())),
    ):
        shown = list(lines)
        if shown:
            yield ""
            yield title
            yield from (f"  {line}" for line in shown)


def _controller(snapshot: ClusterSnapshot) -> str:
    who = "nobody" if snapshot.controller is None else f"broker-{snapshot.controller}"
    return f"{who}, controller epoch {NOTHING if snapshot.controller_epoch is None else snapshot.controller_epoch}"


def _quarantined(snapshot: ClusterSnapshot) -> Iterator[str]:
    for (node, path), why in sorted(snapshot.state.quarantined.items(), key=lambda item: item[0][::-1]):
        yield f"{path}: {why} ({node})"


def _brokers(snapshot: ClusterSnapshot) -> Iterator[str]:
    if not snapshot.brokers:
        return
    rows = (
        (broker.name, broker.process or NOTHING, _registration(broker), _session(broker), _role(broker, snapshot.controller))
        for broker in snapshot.brokers
    )
    yield from table(("Broker", "Process", "Registered", "Session", "Role"), rows)


def _registration(broker: BrokerSnapshot) -> str:
    if broker.broker_epoch is None:
        return "no"
    return f"broker epoch {broker.broker_epoch}" + (f", {broker.rack}" if broker.rack else "")


def _session(broker: BrokerSnapshot) -> str:
    """Return the session's id and state as the broker sees them, and the server's view if it differs."""
    if broker.session_id is None:
        return NOTHING
    session = f"0x{broker.session_id.removeprefix('0x').lstrip('0') or '0'} {broker.session_seen}"
    gone = broker.session == "closed" and broker.session_seen not in ("expired", "closed")
    return f"{session}, in truth gone" if gone else session


def _role(broker: BrokerSnapshot, controller: int | None) -> str:
    if broker.controller_epoch is None:
        return "named in /controller" if broker.id == controller else NOTHING
    if broker.id != controller and broker.process is None:
        return NOTHING  # the trace has no processes: nothing is known of a broker that is not in /controller
    zombie = "" if broker.id == controller else ", it believes"
    return f"controller of epoch {broker.controller_epoch}{zombie}"


# --- partitions ------------------------------------------------------------------------------------------------------------


def _partitions_title(partitions: Sequence[PartitionSnapshot]) -> str:
    offline, behind = (sum(map(bool, of)) for of in zip(*map(_counted, partitions), strict=True)) if partitions else (0, 0)
    return f"Partitions: {len(partitions)}, {offline} offline, {behind} under-replicated"


def _counted(partition: PartitionSnapshot) -> tuple[bool, bool]:
    return partition.is_offline, partition.is_under_replicated


def _partitions(partitions: Sequence[PartitionSnapshot], everything: bool) -> Iterator[str]:
    if not partitions:
        return
    shown = list(partitions)
    if not everything and len(partitions) > PARTITIONS_SHOWN:
        shown = sorted(partitions, key=lambda partition: not partition.needs_attention)[:PARTITIONS_SHOWN]
    header = ("Partition", "Leader", "Epoch", "ISR", "Replicas", "")
    yield from table(header, map(_partition_row, shown))
    if len(shown) < len(partitions):
        yield f"… {len(partitions) - len(shown)} more; --all shows them"


def _partition_row(partition: PartitionSnapshot) -> tuple[object, ...]:
    return (
        f"{partition.topic}-{partition.partition}",
        "none" if partition.leader is None else partition.leader,
        NOTHING if partition.leader_epoch is None else partition.leader_epoch,
        _ids(partition.isr),
        _ids(partition.replicas),
        ", ".join(_remarks(partition)),
    )


def _remarks(partition: PartitionSnapshot) -> Iterator[str]:
    if partition.is_marked_for_deletion:
        yield "marked for deletion"
    if partition.is_offline:
        yield "offline"
    if partition.is_under_replicated:
        yield "under-replicated"
    if partition.adding_replicas or partition.removing_replicas:
        yield f"adding {_ids(partition.adding_replicas)}, removing {_ids(partition.removing_replicas)}"


def _ids(ids: Iterable[int]) -> str:
    # With its brackets it is not a number for the table, which therefore left-aligns it.
    return "[" + ", ".join(map(str, ids)) + "]"


# --- consumers -------------------------------------------------------------------------------------------------------------


def _groups(snapshot: ClusterSnapshot) -> Iterator[str]:
    if snapshot.groups:
        yield from table(("Group", "State", "Generation"), ((g.group, g.state, g.generation) for g in snapshot.groups))


def _consumers(consumers: Sequence[ConsumerSnapshot]) -> Iterator[str]:
    if consumers:
        rows = ((c.name, c.process or NOTHING, c.group or NOTHING, ", ".join(c.partitions) or "nothing") for c in consumers)
        yield from table(("Consumer", "Process", "Group", "Consumes"), rows)


# --- JSON ------------------------------------------------------------------------------------------------------------------


def cluster_json(snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return everything but the znodes."""
    return {
        "seq": snapshot.event.seq,
        "t_ms": snapshot.event.t_ms,
        "controller": snapshot.controller,
        "controller_epoch": snapshot.controller_epoch,
        "brokers": [asdict(broker) for broker in snapshot.brokers],
        "members": dict(snapshot.members),
        "partitions": [asdict(partition) for partition in snapshot.partitions],
        "groups": [asdict(group) for group in snapshot.groups],
        "consumers": [asdict(consumer) for consumer in snapshot.consumers],
        "metrics": dict(snapshot.metrics),
    }
