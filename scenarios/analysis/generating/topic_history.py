"""The events of a topic that belong to no single partition: its znode, its settings, administrators' requests.

The times of reassignments are known beforehand (admin_schedule.py), and so is the content of the topic's znode at any time.
"""

from collections.abc import Iterator, Mapping, Sequence

from kcsim import znodes
from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.step_names import TopicDeletionStep
from kcsim.scenarios.analysis.folding.timeline_builder import UNCLEAN_SETTING
from kcsim.scenarios.analysis.generating.admin_schedule import (
    ASSIGNED_MS,
    COMPLETING_MS,
    DELETION_COMPLETED_MS,
    DELETION_COMPLETING_MS,
    DELETION_STARTED_MS,
    STARTED_MS,
    ScheduledDeletion,
    ScheduledReassignment,
    completed_ms,
)
from kcsim.scenarios.analysis.generating.cluster_history import WRITTEN_AFTER_MS, ClusterHistory, TopicCreation
from kcsim.scenarios.analysis.generating.layout import Layout, Replicas, Topic
from kcsim.scenarios.analysis.generating.partition_event_writer import (
    ADMINISTRATOR,
    CHANGED,
    CREATED,
    DELETED,
    ZOOKEEPER,
    node_of,
)
from kcsim.scenarios.analysis.generating.rows import GeneratedRow
from kcsim.vocabulary import ReplicaAssignment, TopicState
from kcsim.znodes import paths

PARTITIONS_MS = 1
"""From the controller's TopicChange to the creation of the parent of the partitions' znodes."""


class TopicHistory:
    """The history of one topic."""

    def __init__(
        self,
        layout: Layout,
        history: ClusterHistory,
        topic: Topic,
        moves: Sequence[ScheduledReassignment],
        deletion: ScheduledDeletion | None,
    ) -> None:
        self._layout = layout
        self._topic = topic
        self._creation = history.creations.get(topic.number)
        self._moves = moves
        self._deletion = deletion
        self._place = layout.place_of_topic(topic.number)
        self._path = paths.topic(topic.name)
        self._zk_version = 0

    def rows(self, assignment: Mapping[int, Replicas]) -> Iterator[GeneratedRow]:
        """Yield every event of the topic, in order. Args: assignment: the assignment at its creation."""
        if self._creation is None:
            return
        current = {number: ReplicaAssignment(replicas) for number, replicas in assignment.items()}
        yield from self._create(self._creation, current)
        for move in self._moves:
            yield from self._move(move, current)
        if self._deletion is not None:
            yield from self._delete(self._deletion, self._creation)

    def _create(self, creation: TopicCreation, current: Mapping[int, ReplicaAssignment]) -> Iterator[GeneratedRow]:
        topic, at, session = self._topic, creation.requested_ms, creation.session
        detail = f"{topic.partitions} partitions, as assigned"
        requested = self._add(at, ADMINISTRATOR, EventKind.ADMIN_ACT, None, op="create-topic", detail=detail)
        yield requested
        config = znodes.encode_config({UNCLEAN_SETTING: "true"} if topic.unclean else {}).decode()
        yield self._znode(at + 1, CREATED, paths.topic_config(topic.name), config, session, requested.seq)
        yield self._znode(at + WRITTEN_AFTER_MS, CREATED, self._path, _encoded(current), session, requested.seq)
        under = paths.topic_partitions(topic.name)
        by = creation.controller_session
        yield self._znode(creation.noted_ms + PARTITIONS_MS, CREATED, under, None, by, creation.cause)

    def _move(self, move: ScheduledReassignment, current: dict[int, ReplicaAssignment]) -> Iterator[GeneratedRow]:
        place = self._layout.place_of_partition(self._topic.first_index + move.partition)
        moving = current[move.partition] = reassigned_to(current[move.partition], move.target)
        started = self._layout.seq(move.requested_ms + STARTED_MS, place)
        yield self._write(move.requested_ms + ASSIGNED_MS, current, move.session, started)
        current[move.partition] = ReplicaAssignment(moving.target_replicas)
        completing = self._layout.seq(move.caught_up_ms + COMPLETING_MS, place)
        done_ms = move.caught_up_ms + completed_ms(self._layout.replication_factor)
        yield self._write(done_ms, current, move.session, completing)

    def _delete(self, deletion: ScheduledDeletion, creation: TopicCreation) -> Iterator[GeneratedRow]:
        name, at = self._topic.name, deletion.requested_ms
        request = paths.delete_topic(name)
        requested = self._add(at, ADMINISTRATOR, EventKind.ADMIN_ACT, None, op="delete-topic")
        yield requested
        request_znode = self._znode(at + 1, CREATED, request, None, creation.session, requested.seq)
        yield request_znode
        started = self._step(at + DELETION_STARTED_MS, TopicDeletionStep.STARTED, deletion, request_znode.seq)
        yield started
        completing = self._step(at + DELETION_COMPLETING_MS, TopicDeletionStep.COMPLETING, deletion, started.seq)
        yield completing
        gone = (
            (paths.topic_partitions(name), 0),
            (self._path, self._zk_version),
            (paths.topic_config(name), 0),
            (request, 0),
        )
        for after, (path, version) in enumerate(gone):
            t_ms = at + DELETION_COMPLETED_MS + after
            yield self._znode(t_ms, DELETED, path, None, deletion.session, completing.seq, version)
        yield self._step(at + DELETION_COMPLETED_MS + len(gone), TopicDeletionStep.COMPLETED, deletion, completing.seq)

    def _step(self, t_ms: int, step: TopicDeletionStep, deletion: ScheduledDeletion, cause: int) -> GeneratedRow:
        detail = f"deletion of topic {self._topic.name} {step}"
        return self._add(t_ms, node_of(deletion.controller), EventKind.TOPIC_DELETION, cause, step=step.value, detail=detail)

    def _write(self, t_ms: int, current: Mapping[int, ReplicaAssignment], session: str, cause: int) -> GeneratedRow:
        self._zk_version += 1
        return self._znode(t_ms, CHANGED, self._path, _encoded(current), session, cause, self._zk_version)

    def _znode(
        self, t_ms: int, kind: str, path: str, data: str | None, session: str, cause: int, zk_version: int = 0
    ) -> GeneratedRow:
        seq = self._layout.seq(t_ms, self._place)
        changed = {"path": path, "data": data, "zxid": seq, "zk_version": zk_version, "ephemeral": False}
        return GeneratedRow(seq, t_ms, ZOOKEEPER, kind, cause, self._topic.name, **changed, session_id=session)  # type: ignore[arg-type]

    def _add(self, t_ms: int, node: str, kind: EventKind, cause: int | None, **fields: str) -> GeneratedRow:
        return GeneratedRow(self._layout.seq(t_ms, self._place), t_ms, node, kind.value, cause, self._topic.name, **fields)  # type: ignore[arg-type]


def _encoded(current: Mapping[int, ReplicaAssignment]) -> str:
    return znodes.encode_topic(TopicState(current)).decode()
