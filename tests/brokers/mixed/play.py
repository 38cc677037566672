"""Play a timetable on a cluster of brokers of both sides while Kafka's verifiable producer writes, and compare the logs.

Every broker is a process of its own, and what it has written are files in Kafka's format, on both sides.
"""

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.processes.kafka_environment import ApacheKafkaSoftware
from kcsim.brokers.cluster.processes.kafka_feed import KafkaFeed
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster, session_owners
from kcsim.brokers.cluster.processes.process_environment import FeedContext, SlotContext, run_on_processes
from kcsim.brokers.cluster.processes.process_ports import BrokerProcess
from kcsim.brokers.cluster.processes.simulated_process_environment import SimulatedSoftware
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.tool_session import open_tool
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.admin.controller_moves import take_controller
from kcsim.controller.admin.topics import NewTopic
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog, open_trace_writer
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO, ClusterError
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.live import LiveZooKeeper
from tests.brokers.cluster.acknowledged import Acknowledged
from tests.brokers.cluster.environments import WITHIN_MS, Settings, find
from tests.brokers.cluster.verifiable_producer import SENT_AGAIN, DeliverySettings, VerifiableProducer
from tests.brokers.mixed.comparison import (
    DumpProblemError,
    ReplicaFiles,
    dump_differences,
    dump_replicas,
    lost_records,
    problem_of_verification,
    repeated_or_out_of_order,
)
from tests.brokers.mixed.timetable import (
    CreateTopic,
    DeleteTopic,
    KillBroker,
    MoveController,
    PauseBroker,
    ReassignPartition,
    ResumeBroker,
    StartBroker,
    Step,
    Timetable,
)

SESSION_TIMEOUT_MS = 6_000
SETTINGS: Settings = {
    "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS,
    "replica.lag.time.max.ms": 5_000,
    "leader.imbalance.check.interval.seconds": 5,
    "auto.create.topics.enable": False,
}
ORDERS = "orders"
RATE = 100
"""Records a second, to ORDERS."""
RECORDS_OF_A_NEW_TOPIC = 20
WITHOUT_ISR_CHANGE_RETRIES = "2.8"
"""The protocol version at which a leader that waits for a new leader epoch is expected."""
ISR_CHANGE_FAILED = re.compile(r"IsrChangeFailed.*UNKNOWN_SERVER_ERROR|Failed to enqueue ISR change state")
"""How such a leader reports it, of ours and of Kafka's."""
REQUESTS_LEFT_OVER = re.compile(r'"reason": ?"UnsentRequests"|requests batch is not empty while creating a new one')
"""How a controller reports that requests of a former term are left over, of ours and of Kafka's."""
LOG_FILES = ("*.jsonl", "server.log", "controller.log")
"""Where brokers report both: ours in their parts of the event log, Kafka's in their log files."""
ELECTIONS = 30
"""How many at most until a broker of the wanted side is the controller."""
LOOK_EVERY_MS = 100


@dataclass
class Played:
    """What has become of one timetable.

    Attributes:
        counts: of steps, by kind and, for kills, by the side of the broker.
        moves: how often the controller was elected on the other side than before.
        acknowledged: the number of acknowledged records.
        replicas: the number of replicas that were compared.
        problems: what must not be: lost records, unequal replicas, and the like.
    """

    timetable: Timetable
    counts: Counter[str] = field(default_factory=Counter)
    elections: int = 0
    moves: int = 0
    acknowledged: int = 0
    replicas: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        of = self.timetable
        counted = {**self.counts, "elections": self.elections, "controller moves": self.moves}
        done = ", ".join(f"{kind} {count}" for kind, count in counted.items())
        return (
            f"seed {of.seed}: Kafka {of.kafka.version} at {of.kafka.protocol}, {len(of.ours)} brokers of ours and "
            f"{len(of.kafkas)} of Kafka's; {done}; records {self.acknowledged}, replicas {self.replicas}: "
            f"{' | '.join(self.problems) or 'nothing lost, all equal'}"
        )


class MixedSoftware:
    """Brokers of which some are of ours and the others of Apache Kafka, seen from outside.

    Attributes:
        processes: by broker id.
    """

    sees_inside = False

    def __init__(self, kafka: KafkaInstallation, kafkas: Collection[int]) -> None:
        self._kafka = ApacheKafkaSoftware(kafka)
        self._ours = SimulatedSoftware()
        self._kafkas = kafkas
        self.tools = self._ours.tools
        self.processes: dict[BrokerId, BrokerProcess] = {}

    def process(self, broker: BrokerSpec, spec: ClusterSpec, place: SlotContext) -> BrokerProcess:
        software = self._kafka if broker.broker_id in self._kafkas else self._ours
        process = self.processes[BrokerId(broker.broker_id)] = software.process(broker, spec, place)
        return process

    def consumer_network(self, _: Runtime) -> None:
        return None

    def feed(self, at: FeedContext) -> KafkaFeed:
        """Return a feed that reads the log files of Kafka's brokers; of ours it sees what they write to ZooKeeper."""
        kafkas = [slot.process for slot in at.slots if slot.process.broker_id in self._kafkas]
        logs = LogTail((process.broker_id, process.logs) for process in kafkas)
        return KafkaFeed(at.log, at.tail, logs, lambda: session_owners(at.slots), at.run.wall_ms, at.run.seq)


def play(timetable: Timetable, kafka: KafkaInstallation, keep: Path | None = None) -> Played:
    """Play a timetable on real processes.

    Args:
        kafka: of the timetable's version.
        keep: where the directories of all brokers are kept if there is a problem.

    Raises: ClusterError, ElectionNotWonError, TimedOutError, ServerError: it could not be played to its end.
    """
    software = MixedSoftware(kafka, timetable.kafkas)
    brokers = tuple(BrokerSpec(broker) for broker in sorted((*timetable.ours, *timetable.kafkas)))
    settings = {**SETTINGS, PROTOCOL_VERSION: timetable.kafka.protocol}
    spec = ClusterSpec(brokers, settings, max_session_timeout_ms=SESSION_TIMEOUT_MS)
    played = Played(timetable)

    async def script(cluster: ProcessCluster) -> None:
        run = _Run(cluster, software, kafka, played)
        is_whole = False
        try:
            await run.play()
            is_whole = not played.problems
        finally:
            if keep is not None and not is_whole:
                _keep_files(cluster.log, software.processes, keep)

    info = RunInfo("mixed", timetable.seed, "embedded")
    run_on_processes(software, ZooKeeperChoice.parse("embedded"), spec, info, script, ())
    return played


def _keep_files(log: EventLog, processes: Mapping[BrokerId, BrokerProcess], directory: Path) -> None:
    """Copy the event log, and each broker's own logs and log directories."""
    for broker, process in processes.items():
        for source in (process.logs, *process.log_dirs):
            if source.is_dir():
                shutil.copytree(source, directory / _name(broker) / source.name, dirs_exist_ok=True)
    with closing(open_trace_writer(directory / "trace.jsonl")) as writer:
        for event in log.events:
            writer.write(event)


class _Run:
    """One run of a timetable."""

    def __init__(self, cluster: ProcessCluster, software: MixedSoftware, kafka: KafkaInstallation, played: Played) -> None:
        self._cluster = cluster
        self._processes = software.processes
        self._kafka = kafka
        self._played = played
        self._timetable = played.timetable
        self._others: dict[str, Acknowledged] = {}

    async def play(self) -> None:
        await self._start()
        idempotence = str(self._timetable.is_idempotent).lower()
        settings = {"enable.idempotence": idempotence, "compression.type": self._timetable.compression}
        delivery = DeliverySettings(-1, {**SENT_AGAIN, **settings}, RATE)
        producer = VerifiableProducer(self._kafka, self._cluster.bootstrap_servers, delivery)
        try:
            await producer.until_acknowledged()
            for wait_ms, step in self._timetable.steps:
                await self._cluster.runtime.sleep_ms(wait_ms)
                await self._do(step)
            try:
                await self._recover()
            except TimedOutError as error:
                self._played.problems.append(f"not in sync again: {error}")
                return
            acknowledged = await producer.stop()
        finally:
            producer.close()
        places = {TopicPartition(topic, 0): by.by_offset() for topic, by in self._others.items()}
        orders: dict[TopicPartition, dict[int, bytes]] = {}
        for value, (partition, offset) in acknowledged.items():
            orders.setdefault(TopicPartition(ORDERS, partition), {})[offset] = str(value).encode()
        await self._compare({**places, **orders})
        self._count_elections()

    async def _start(self) -> None:
        await self._cluster.start(self._cluster.broker_names)
        await self._until(self._not_settled)
        config = {"min.insync.replicas": "2", "segment.bytes": str(self._timetable.segment_bytes)}
        orders = NewTopic(ORDERS, assignment=self._timetable.assignment, config=config)
        await self._cluster.topics.create(orders, random.Random(0))
        await self._until(self._not_in_sync)

    # --- steps

    async def _do(self, step: Step) -> None:
        cluster = self._cluster
        if not isinstance(step, KillBroker | PauseBroker | ResumeBroker | StartBroker):
            await self._until(self._not_settled)  # an operator waits for a controller, too
        match step:
            case KillBroker(broker):
                await cluster.kill(_name(broker))
                done = f"kills of {self._timetable.side_of(broker).value}"
            case PauseBroker(broker):
                await cluster.pause(_name(broker))
                done = "pauses"
            case ResumeBroker(broker):
                await cluster.resume(_name(broker))
                done = "resumes"
            case StartBroker(broker):
                await self._start_again([broker])
                done = "restarts"
            case MoveController():
                await self._move_controller()
                done = "requested moves"
            case ReassignPartition(partition, replicas):
                await self._reassign(partition, replicas)
                done = "reassignments"
            case CreateTopic(topic, replicas):
                await self._create(topic, replicas)
                done = "topics created"
            case DeleteTopic(topic):
                await cluster.topics.delete(topic)
                del self._others[topic]
                done = "topics deleted"
        self._played.counts[done] += 1

    async def _start_again(self, brokers: Collection[BrokerId]) -> None:
        """Start brokers once their sessions have expired: a broker of Kafka ends if it finds its own registration."""

        def still_registered() -> str | None:
            found = sorted(self._cluster.state.registered.keys() & {*brokers})
            return f"still registered: {found}" if found else None

        await self._until(still_registered)
        await self._cluster.start([_name(broker) for broker in brokers])

    async def _move_controller(self) -> None:
        cluster, timetable = self._cluster, self._timetable
        holder = cluster.state.controller_id
        of_other_side = timetable.kafkas if holder in timetable.ours else timetable.ours
        wanted = [broker for broker in of_other_side if broker in self._brokers_that_are("running")]
        zookeeper = LiveZooKeeper(cluster.connect_string)
        async with open_tool(cluster.runtime, zookeeper, cluster.log.sink(SCENARIO), 0, RUN_STARTED_SEQ) as kafka_zk:
            await take_controller(kafka_zk, wanted, ELECTIONS, WITHIN_MS, lambda _: None)

    async def _reassign(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> None:
        """Repeat the request until the controller has accepted it: it may not know yet that all these brokers run."""
        deadline_ms = self._cluster.runtime.now_ms() + WITHIN_MS
        while (refusal := await self._refusal(partition, replicas)) is not None:
            if self._cluster.runtime.now_ms() > deadline_ms:
                raise ClusterError(f"reassignment of {partition} to {replicas}: {refusal}")
            await self._cluster.runtime.sleep_ms(LOOK_EVERY_MS)

    async def _refusal(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> object:
        """Request a reassignment, and return the error; None if it is accepted."""
        try:
            answers = await self._cluster.alter_partition_reassignments({partition: replicas})
        except ClusterError as error:
            return error
        return answers[partition] or None

    async def _create(self, topic: str, replicas: tuple[BrokerId, ...]) -> None:
        wanted = NewTopic(topic, assignment=[replicas], config={"min.insync.replicas": "2"})
        await self._cluster.topics.create(wanted, random.Random(0))
        producer = self._others[topic] = Acknowledged(self._cluster.bootstrap())
        await producer.produce(topic, RECORDS_OF_A_NEW_TOPIC)

    async def _recover(self) -> None:
        """Resume and start all brokers, and wait until all replicas are in sync."""
        for broker in self._brokers_that_are("paused"):
            await self._cluster.resume(_name(broker))
        if dead := self._brokers_that_are("dead"):
            await self._start_again(dead)
        await self._until(self._not_settled)
        try:
            await self._until(self._not_in_sync)
        except TimedOutError:
            if not await self._act_on_defects():
                raise
            await self._until(self._not_in_sync)

    async def _act_on_defects(self) -> bool:
        """Do what an operator does about defects of Kafka that keep replicas out of sync. Returns: whether there is one."""
        waiting = [tp for tp in self._out_of_sync() if self._asks_no_more(tp)]
        for tp in waiting:
            await self._renew_leader_epoch(tp)
        is_stuck = self._controller_keeps_requests()
        if is_stuck:
            await self._move_controller()
            self._played.counts["controllers replaced"] += 1
        return is_stuck or bool(waiting)

    def _controller_keeps_requests(self) -> bool:
        """Return whether the controller can change no replica's state, as requests are left over from a former term.

        That is a defect of Kafka, which brokers of ours have, too: scenarios/library/fault-leftover-requests.yaml.
        """
        holder = self._cluster.state.controller_id
        return holder is not None and self._has_logged(BrokerId(holder), REQUESTS_LEFT_OVER)

    def _asks_no_more(self, tp: TopicPartition) -> bool:
        """Return whether the leader of a partition does not ask for an ISR again that the controller failed to write.

        That is a defect of Kafka 2.8, which brokers of ours have at 2.8, too (isr_change_retries in controller/FIDELITY.md).
        A broker of Kafka does not log all of its cases. So a leader of Kafka also counts if it leaves out another running
        broker of Kafka: our brokers have no part in that.
        """
        leader, assignment = self._cluster.state.of_topics.leader(tp), self._cluster.state.of_topics.assignment(tp)
        if leader is None or assignment is None or self._timetable.kafka.protocol != WITHOUT_ISR_CHANGE_RETRIES:
            return False
        kafkas_left_out = {*assignment.replicas} - {*self._cluster.state.of_topics.isr(tp)} & {*self._timetable.kafkas}
        if leader in self._timetable.kafkas and kafkas_left_out & {*self._brokers_that_are("running")}:
            return True
        return self._has_logged(leader, ISR_CHANGE_FAILED)

    def _has_logged(self, broker: BrokerId, pattern: re.Pattern[str]) -> bool:
        logs = self._processes[broker].logs
        files = (file for name in LOG_FILES for file in logs.glob(name))
        return any(pattern.search(file.read_text()) for file in files)

    async def _renew_leader_epoch(self, tp: TopicPartition) -> None:
        """Let a leader ask for ISRs again, as an operator does it: reassign the same replicas in another order."""
        assignment = self._cluster.state.of_topics.assignment(tp)
        assert assignment is not None
        await self._reassign(tp, (*assignment.replicas[1:], assignment.replicas[0]))
        self._played.counts["leader epochs renewed"] += 1

    # --- conditions

    async def _until(self, condition: Callable[[], str | None]) -> None:
        """Wait until a condition on the state holds, after everything that has happened by now is in the state."""
        await self._cluster.settle()
        await self._cluster.wait_until(condition, WITHIN_MS)

    def _brokers_that_are(self, state: str) -> list[BrokerId]:
        states = self._cluster.state.processes
        return sorted(broker for broker, process in self._processes.items() if states[process.name] == state)

    def _not_settled(self) -> str | None:
        """Return what is missing until every running broker is registered, and one of them is the controller."""
        running, state = self._brokers_that_are("running"), self._cluster.state
        if missing := [broker for broker in running if broker not in state.registered]:
            return f"not registered: {missing}"
        return None if state.controller_id in running else f"/controller names {state.controller_id}"

    def _out_of_sync(self) -> list[TopicPartition]:
        """Return the partitions that are being reassigned, or not led by one of their replicas that are all in sync."""
        topics = self._cluster.state.of_topics
        return [
            tp
            for tp in topics.partitions()
            if (assignment := topics.assignment(tp)) is None
            or assignment.is_being_reassigned
            or {*topics.isr(tp)} != {*assignment.replicas}
            or topics.leader(tp) not in assignment.replicas
        ]

    def _not_in_sync(self) -> str | None:
        """Return what is missing until all topics are there, and all replicas in sync."""
        topics = self._cluster.state.of_topics
        wrong = [
            f"{tp}: {topics.assignment(tp)}, leader {topics.leader(tp)}, ISR {topics.isr(tp)}" for tp in self._out_of_sync()
        ]
        wrong += [f"{topic} is being deleted" for topic in sorted(topics.deleting)]
        wrong += [f"{topic} is not there" for topic in sorted({ORDERS, *self._others} - topics.topics.keys())]
        return "; ".join(wrong) or None

    # --- what is found in the end

    async def _compare(self, acknowledged: dict[TopicPartition, dict[int, bytes]]) -> None:
        played, cluster = self._played, self._cluster
        topics = cluster.state.of_topics
        replicas = {tp: topics.topics[tp.topic].assignments[tp.partition].replicas for tp in topics.partitions()}
        files = ReplicaFiles({broker: process.log_dirs for broker, process in self._processes.items()}, replicas)
        await self._until_equal(files)
        played.acknowledged = sum(map(len, acknowledged.values()))
        try:
            dumped = await dump_replicas(self._kafka, files)
        except DumpProblemError as error:
            played.problems.append(f"DumpLogSegments: {error}")
            return
        played.replicas = len(dumped)
        played.problems += dump_differences(dumped)
        played.problems += lost_records(acknowledged, dumped)
        if self._timetable.is_idempotent:
            played.problems += repeated_or_out_of_order(dumped)
        if (problem := await problem_of_verification(self._kafka, cluster.bootstrap(), replicas)) is not None:
            played.problems.append(f"ReplicaVerificationTool: {problem}")

    async def _until_equal(self, files: ReplicaFiles) -> None:
        """Wait until all replicas are equal, byte by byte. If they are not in time, that is a problem."""
        deadline_ms = self._cluster.runtime.now_ms() + WITHIN_MS
        while (different := files.differences()) is not None:
            if self._cluster.runtime.now_ms() > deadline_ms:
                self._played.problems.append(f"unequal replicas: {different}")
                return
            await self._cluster.runtime.sleep_ms(LOOK_EVERY_MS)

    def _count_elections(self) -> None:
        won = find(self._cluster.log, EventKind.ELECTION_WON)
        sides = [self._timetable.side_of(BrokerId(int(event.node.removeprefix("broker-")))) for event in won]
        self._played.elections = len(sides)
        self._played.moves = sum(before is not after for before, after in pairwise(sides))


def _name(broker: BrokerId) -> str:
    return f"broker-{broker}"
