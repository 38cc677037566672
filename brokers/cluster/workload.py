"""The producers of a run: starts and stops them, and counts the ledger when the run is over.

Each producer is a client of its own, and reaches the brokers through the network only. The ledger inspects the disks from
outside, which no node of the cluster can do.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kcsim.brokers.clients.ledger import Ledger, RecordCounts, count_records
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.reports import ProducerReports
from kcsim.brokers.cluster.record_fates import RecordFate, RecordHistory
from kcsim.brokers.cluster.scenario_cluster import ProducersCluster, RunningProducer
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO, ClusterError, RunActionLog
from kcsim.runtime.ports import Promise
from kcsim.text import summarize
from kcsim.vocabulary import NO_LEADER, BrokerId, TopicPartition

LONGEST_WORK_MS = 60 * 60 * 1_000
"""Time limit for a number of records in all, in the time of the run; each batch is bounded by delivery.timeout.ms."""
FATES_ONE_BY_ONE = 100
"""So many events say of a partition which records are lost, and as many which are there twice. The counts are of all."""
WRITERS_NAMED = 5
ACKS = {0: "0", 1: "1", -1: "all"}


class Workload:
    """The producers' work on a cluster.

    Args:
        declared: the declared producers, by name.
    """

    def __init__(self, cluster: ProducersCluster, declared: Mapping[str, ProducerSpec]) -> None:
        self.ledger = Ledger()
        self._cluster = cluster
        self._declared = dict(declared)
        self._actions = RunActionLog(cluster.log)
        self._producers: dict[str, RunningProducer] = {}
        self._under_way: dict[str, Promise[None]] = {}

    def declare(self, declared: Mapping[str, ProducerSpec]) -> None:
        """Add producers. One that was declared before keeps its specification."""
        self._declared = {**declared, **self._declared}

    # --- verbs

    async def produce(self, names: Sequence[str], records: int | None = None) -> None:
        """Let producers write a number of records, and wait until all are acknowledged or given up.

        Raises: ClusterError when a producer is already at work, or no broker sends metadata of its topics; TimedOutError.
        """
        for name in names:
            await self._begin(name, "produce", records or self._declared[name].records)
        for name in names:
            await self._finish(name)

    async def start(self, names: Sequence[str]) -> None:
        """Let producers write until they are done or stopped. Raises: ClusterError."""
        for name in names:
            await self._begin(name, "start-workload", self._declared[name].records)

    @property
    def at_work(self) -> list[str]:
        """The producers that write records, or wait for responses to records."""
        return [name for name, done in self._under_way.items() if not done.is_settled]

    async def stop(self, names: Sequence[str], within_ms: int = LONGEST_WORK_MS) -> None:
        """Let producers make no more records, and wait until all are acknowledged or given up. Finished ones stay finished.

        Raises: ClusterError when one was never started; TimedOutError.
        """
        for name in names:
            if name not in self._under_way:
                raise ClusterError(f"producer {name} was not started")
            self._actions.act("stop-workload", self._declared[name].node)
            self._producers[name].stop()
        for name in names:
            await self._finish(name, within_ms)

    async def _begin(self, name: str, op: str, records: int | None) -> None:
        spec, producer = self._declared[name], self._producer(name)
        if producer.reports is not None:
            raise ClusterError(f"producer {name} is at work already")
        detail = _workload_text(spec, records)
        sink = self._cluster.log.sink(spec.node)
        fields = EventFields(detail=detail)
        if records is not None:
            fields["count"] = records
        began = sink.emit(EventKind.WORKLOAD_STARTED, self._actions.act(op, spec.node, detail), **fields)
        reports = ProducerReports(self._cluster.runtime, sink, began)
        try:
            done = await producer.begin(records, reports)
        except TimedOutError as error:
            raise ClusterError(str(error)) from None
        self._under_way[name] = done

    async def _finish(self, name: str, within_ms: int = LONGEST_WORK_MS) -> None:
        try:
            await self._under_way[name].wait(within_ms)
        except TimedOutError:
            reports = self._producers[name].reports
            assert reports is not None, f"{name} is done and has no reports"
            seen = f"{reports.acknowledged} records acknowledged, {reports.given_up} given up"
            raise TimedOutError(f"producer {name} was not done within {within_ms} ms: {seen}") from None

    def _producer(self, name: str) -> RunningProducer:
        if name not in self._producers:
            self._producers[name] = self._cluster.new_producer(self._declared[name], self.ledger)
        return self._producers[name]

    # --- the ledger

    def take_ledger(self) -> None:
        """Count the fate of every record by the present contents of the brokers' disks; append an event per partition."""
        for producer in self._producers.values():
            if producer.reports is not None:
                producer.reports.flush()
        self._cluster.report_clients()
        causes = {**self._causes(), **self._emit_fates()}
        for tp in self._partitions():
            self._emit_counts(tp, self._count(tp), causes.get(tp, RUN_STARTED_SEQ))

    def counts(self) -> dict[TopicPartition, RecordCounts]:
        """Return the fate of the records so far, by partition."""
        return {tp: self._count(tp) for tp in self._partitions()}

    def _partitions(self) -> list[TopicPartition]:
        """Return the partitions that simulated producers, or clients from outside the run, have written to."""
        return sorted({*self.ledger.partitions, *self._cluster.acknowledged_records.partitions})

    def _count(self, tp: TopicPartition) -> RecordCounts:
        replicas = self._replicas(tp)
        return count_records(self.ledger.of(tp), *replicas) + self._cluster.acknowledged_records.count(tp, *replicas)

    def _replicas(self, tp: TopicPartition) -> tuple[Mapping[BrokerId, ReplicaLog], BrokerId | None, Sequence[BrokerId]]:
        """Return the logs of a partition's replicas, its leader and its ISR."""
        topics = self._cluster.state.of_topics
        assignment = topics.assignment(tp)
        replicas = assignment.replicas if assignment else ()
        logs = self._cluster.replica_logs(tp)
        if (
            replicas or tp not in topics.states
        ):  # else the topic's znode was overwritten by hand: the replicas are still there
            logs = {b: log for b, log in logs.items() if b in replicas}
        return logs, topics.leader(tp), topics.isr(tp)

    def _emit_fates(self) -> dict[TopicPartition, int]:
        """Append which records of real clients are lost or twice in a log. Return partition -> cause of its last loss."""
        records = self._cluster.acknowledged_records
        replicas = {tp: self._replicas(tp) for tp in records.partitions}
        lost = {tp: offsets for tp, of_tp in replicas.items() if (offsets := records.lost(tp, *of_tp))}
        copies = {tp: batches for tp, of_tp in replicas.items() if (batches := records.copies(tp, *of_tp))}
        if not lost and not copies:
            return {}
        history = RecordHistory(self._cluster.log.events, {*lost, *copies})
        causes = {}
        for tp, offsets in lost.items():
            fates = history.lost(tp, offsets)
            self._emit_each(EventKind.RECORDS_LOST, tp, fates)
            causes[tp] = max(fate.cause for fate in fates)
        for tp, batches in copies.items():
            self._emit_each(EventKind.RECORDS_DUPLICATED, tp, history.duplicated(tp, batches))
        return causes

    def _emit_each(self, kind: EventKind, tp: TopicPartition, fates: Sequence[RecordFate]) -> None:
        for fate in fates[:FATES_ONE_BY_ONE]:
            first, end = fate.offsets
            fields = EventFields(
                topic=tp.topic,
                partition=tp.partition,
                leader_epoch=fate.leader_epoch,
                offset=first,
                end_offset=end,
                count=end - first,
                detail=f"written by {summarize(fate.writers, WRITERS_NAMED)}",
            )
            self._cluster.log.append(SCENARIO, kind, fate.cause, fields)

    def _emit_counts(self, tp: TopicPartition, counts: RecordCounts, cause: int) -> None:
        topics = self._cluster.state.of_topics
        leader = topics.leader(tp)
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            leader=NO_LEADER if leader is None else leader,
            isr=list(topics.isr(tp)),
            count=counts.sent,
            data=json.dumps(asdict(counts), separators=(",", ":")),
            detail=counts.in_words(),
        )
        self._cluster.log.append(SCENARIO, EventKind.LEDGER, cause, fields)

    def _causes(self) -> dict[TopicPartition, int]:
        """Return partition -> cause of its count: the last truncation, else the last election or acknowledgement."""
        found: dict[TopicPartition, int] = {}
        cut: set[TopicPartition] = set()
        for event in self._cluster.log.events:
            if event.topic is None or event.partition is None:
                continue
            tp = TopicPartition(event.topic, event.partition)
            if event.kind is EventKind.RECORDS_TRUNCATED:
                found[tp] = event.seq
                cut.add(tp)
            elif event.kind in (EventKind.LEADER_ELECTION, EventKind.RECORDS_ACKNOWLEDGED) and tp not in cut:
                found[tp] = event.seq
        return found


def _workload_text(spec: ProducerSpec, records: int | None) -> str:
    much = "records" if records is None else "1 record" if records == 1 else f"{records} records"
    fast = f", {spec.rate} a second" if spec.rate is not None else ""
    idempotent = ", idempotent" if spec.config.enable_idempotence else ""
    return f"{much} to {', '.join(spec.topics)}{fast}, acks={ACKS[spec.config.acks]}{idempotent}"
