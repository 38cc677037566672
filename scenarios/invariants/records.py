"""What never happens to records: to those that were acknowledged, and to those that are committed.

Of some partitions nobody promises that (losses.py). Each function says what the latest event has broken.
"""

import json
from collections.abc import Iterator, Sequence

from kcsim.brokers.followed_logs import LEADERS_LOG_START
from kcsim.brokers.log_comparison import divergence
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.scenarios.invariants.history import History, partition_of
from kcsim.scenarios.invariants.invariant import Invariant, always
from kcsim.scenarios.invariants.marks import MARKS_MOVE
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition

LOGS_ARE_COMPARED = frozenset(
    {EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.RECORDS_TRUNCATED, EventKind.LEDGER}
)


def no_acknowledged_record_is_lost(history: History) -> Iterator[str]:
    """Whatever was acknowledged is there when the records are counted, unless an unclean election was held."""
    event = history.latest
    tp = partition_of(event)
    if tp is None or tp in history.losses:
        return
    counts = json.loads(event.data or "{}")
    if counts.get("lost"):
        yield f"{counts['lost']} of {counts['acknowledged']} acknowledged records of {tp} are lost"


def nothing_committed_is_cut_off(history: History) -> Iterator[str]:
    """A follower cuts off no record that it knew to be committed, unless an unclean election was held.

    What retention has deleted of the leader's log meanwhile was there once.
    """
    event = history.latest
    tp, offset, mark = partition_of(event), event.offset or 0, event.high_watermark or 0
    if tp is not None and offset < mark and event.rule != LEADERS_LOG_START and tp not in history.losses:
        yield f"{event.node} cuts {tp} at {offset}, though committed up to {mark}: {event.detail}"


def high_watermarks_never_go_back(history: History) -> Iterator[str]:
    """The high watermark of a leader only grows in each of its leader epochs."""
    mark = history.mark
    if mark is not None and mark.now < mark.before:
        yield f"{mark.tp} at broker {mark.broker} in epoch {mark.leader_epoch}: {mark.before}, then {mark.now}"


def what_is_committed_is_on_every_in_sync_replica(history: History) -> Iterator[str]:
    """What the leader holds for committed is in the log of every member of the ISR that it knows for a replica.

    Members that a reassignment is about to take out of the ISR do not count any more once the leader has been told, until
    they have left it: so it is in Kafka, where it can lose records if the controller dies just then and one of them comes to
    lead. The next controller takes the reassignment up where they are replicas still.
    """
    mark = history.mark
    if mark is None or history.inside is None:
        return
    state = history.state.of_topics.states.get(mark.tp)
    if state is None or (state.leader_and_isr.leader, state.leader_and_isr.leader_epoch) != (mark.broker, mark.leader_epoch):
        return  # somebody who does not lead any more, and has not heard
    logs, lost = history.inside.replica_logs(mark.tp), history.losses.disks.get(mark.tp, set())
    for broker in state.leader_and_isr.isr:
        end = logs[broker].log_end_offset if broker in logs else 0
        if end < mark.now and broker in mark.replicas and broker not in lost:
            yield f"{mark.tp} is committed up to {mark.now} at its leader {mark.broker}, the log of {broker} ends at {end}"


def logs_agree_below_the_high_watermark(history: History) -> Iterator[str]:
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
    always(high_watermarks_never_go_back, MARKS_MOVE),
    always(what_is_committed_is_on_every_in_sync_replica, MARKS_MOVE),
    always(logs_agree_below_the_high_watermark, LOGS_ARE_COMPARED),
)
