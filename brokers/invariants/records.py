"""Safety of the records that were acknowledged, and of those that are committed.

For some partitions Kafka does not guarantee it (allowed_data_loss.py). Each function yields what the latest event broke.
"""

import json
from collections.abc import Iterator, Sequence

from kcsim.brokers.invariants.high_watermarks import HIGH_WATERMARK_CHANGES
from kcsim.brokers.invariants.history import RunHistory, partition_of
from kcsim.brokers.invariants.invariant import Invariant, always
from kcsim.brokers.log.log_comparison import divergence
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.replication.follower_logs import LEADERS_LOG_START
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition

LOGS_ARE_COMPARED = frozenset(
    {EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.RECORDS_TRUNCATED, EventKind.LEDGER}
)


def no_acknowledged_record_is_lost(history: RunHistory) -> Iterator[str]:
    """Whatever was acknowledged is there when the records are counted, unless an unclean election was held."""
    event = history.latest
    tp = partition_of(event)
    if tp is None or tp in history.losses:
        return
    counts = json.loads(event.data or "{}")
    if counts.get("lost"):
        yield f"{counts['lost']} of {counts['acknowledged']} acknowledged records of {tp} are lost"


def nothing_committed_is_cut_off(history: RunHistory) -> Iterator[str]:
    """A follower cuts off no record that it knew to be committed, unless an unclean election was held.

    Records below the leader's log start offset do not count: they existed until retention deleted them.
    """
    event = history.latest
    tp, offset, mark = partition_of(event), event.offset or 0, event.high_watermark or 0
    if tp is not None and offset < mark and event.rule != LEADERS_LOG_START and tp not in history.losses:
        yield f"{event.node} cuts {tp} at {offset}, though committed up to {mark}: {event.detail}"


def high_watermarks_never_go_back(history: RunHistory) -> Iterator[str]:
    """The high watermark of a leader only grows in each of its leader epochs."""
    mark = history.high_watermark
    if mark is not None and mark.now < mark.before:
        yield f"{mark.tp} at broker {mark.broker} in epoch {mark.leader_epoch}: {mark.before}, then {mark.now}"


def what_is_committed_is_on_every_in_sync_replica(history: RunHistory) -> Iterator[str]:
    """What the leader holds for committed is in the log of every member of the ISR that it knows for a replica.

    Members that a reassignment is about to remove from the ISR no longer count from the moment at which the leader has the
    new assignment until they have left the ISR. Kafka behaves this way: it can lose records if the controller dies just then
    and one of these members becomes leader. The next controller resumes the reassignment at a point where they are replicas.
    """
    mark = history.high_watermark
    if mark is None or history.inside is None:
        return
    state = history.state.of_topics.states.get(mark.tp)
    if state is None or (state.leader_and_isr.leader, state.leader_and_isr.leader_epoch) != (mark.broker, mark.leader_epoch):
        return  # a broker that no longer leads, but does not know it yet
    logs, lost = history.inside.replica_logs(mark.tp), history.losses.disks.get(mark.tp, set())
    for broker in state.leader_and_isr.isr:
        end = logs[broker].log_end_offset if broker in logs else 0
        if end < mark.now and broker in mark.replicas and broker not in lost:
            yield f"{mark.tp} is committed up to {mark.now} at its leader {mark.broker}, the log of {broker} ends at {end}"


def logs_agree_below_the_high_watermark(history: RunHistory) -> Iterator[str]:
    """Where two replicas hold a record for committed it is the same, unless an unclean election was held."""
    tp = partition_of(history.latest)
    assignment = history.state.of_topics.assignment(tp) if tp is not None else None
    if tp is None or assignment is None or history.inside is None or tp in history.losses:
        return
    logs = history.inside.replica_logs(tp)
    hosts = [broker for broker in assignment.replicas if broker in logs]
    for other in hosts[1:]:
        yield from _disagreement(tp, hosts[0], other, logs[hosts[0]], logs[other])


def _disagreement(
    tp: TopicPartition, one: BrokerId, other: BrokerId, log: ReplicaLog, others_log: ReplicaLog
) -> Iterator[str]:
    committed = min(log.high_watermark, others_log.high_watermark)
    if committed and (found := divergence(log, others_log)) is not None and found.offset < committed:
        yield f"{tp} is committed up to {committed} on {one} and {other}, but they differ from {found.offset} on"


SAFETY_OF_RECORDS: Sequence[Invariant] = (
    always(no_acknowledged_record_is_lost, {EventKind.LEDGER}),
    always(nothing_committed_is_cut_off, {EventKind.RECORDS_TRUNCATED}),
    always(high_watermarks_never_go_back, HIGH_WATERMARK_CHANGES),
    always(what_is_committed_is_on_every_in_sync_replica, HIGH_WATERMARK_CHANGES),
    always(logs_agree_below_the_high_watermark, LOGS_ARE_COMPARED),
)
