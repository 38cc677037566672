"""What is done to a mixed cluster, drawn from a seed before anything is started: who its brokers are, and the steps.

A step is drawn only if it is possible where the steps before it leave the cluster: only a running broker is killed or
paused, new replicas are on running brokers, and two brokers run at any time.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import NamedTuple

from kcsim.vocabulary import BrokerId, TopicPartition

PARTITIONS = 3
REPLICAS = 3
LEAST_RUNNING = 2
MORE_STEPS = 4
"""Steps besides those that every timetable has."""
LONGEST_WAIT_MS = 1_500
"""The longest time that passes before a step."""


class Side(Enum):
    """The software of a broker."""

    OURS = "ours"
    KAFKAS = "Kafka's"


class KafkaVersion(NamedTuple):
    """A Kafka, and the inter.broker.protocol.version of all brokers."""

    version: str
    protocol: str


VERSIONS = (KafkaVersion("2.8.2", "2.6"), KafkaVersion("2.8.2", "2.8"), KafkaVersion("3.9.1", "3.9"))
"""Seeds take turns in them."""
COUNTS = ((2, 2), (2, 3), (3, 2))
"""How many brokers are of ours, and how many are Kafka's."""
COMPRESSIONS = ("none", "none", "gzip", "lz4")
SEGMENT_BYTES = (16_384, 1_073_741_824)


@dataclass(frozen=True, slots=True)
class KillBroker:
    """Kill a broker with SIGKILL; its session expires later."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class StartBroker:
    """Start a broker that was killed, once its session has expired."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class PauseBroker:
    """Pause a broker with SIGSTOP; if that lasts, its session expires."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ResumeBroker:
    broker: BrokerId


@dataclass(frozen=True, slots=True)
class MoveController:
    """Elect the controller until a broker of the other side has won; once, if none of that side runs."""


@dataclass(frozen=True, slots=True)
class ReassignPartition:
    partition: TopicPartition
    replicas: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create a topic with one partition, and write to it."""

    topic: str
    replicas: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    topic: str


Step = KillBroker | StartBroker | PauseBroker | ResumeBroker | MoveController | ReassignPartition | CreateTopic | DeleteTopic


@dataclass(frozen=True, slots=True)
class Timetable:
    """One cluster, and what is done to it.

    Attributes:
        ours, kafkas: the brokers of each side.
        assignment: the replicas of the partitions of the topic `orders`.
        is_idempotent: whether its producer is; if it is not, it may write a record twice.
        steps: each with the time, in ms, that passes before it.
    """

    seed: int
    kafka: KafkaVersion
    ours: tuple[BrokerId, ...]
    kafkas: tuple[BrokerId, ...]
    assignment: tuple[tuple[BrokerId, ...], ...]
    is_idempotent: bool
    compression: str
    segment_bytes: int
    steps: tuple[tuple[int, Step], ...]

    def side_of(self, broker: BrokerId) -> Side:
        return Side.OURS if broker in self.ours else Side.KAFKAS


def draw_timetable(seed: int) -> Timetable:
    """Return the timetable of a seed."""
    numbers = random.Random(f"mixed timetable {seed}")
    our_count, kafka_count = numbers.choice(COUNTS)
    ids = [BrokerId(number) for number in range(1, our_count + kafka_count + 1)]
    numbers.shuffle(ids)
    ours, kafkas = tuple(sorted(ids[:our_count])), tuple(sorted(ids[our_count:]))
    return Timetable(
        seed,
        VERSIONS[seed % len(VERSIONS)],
        ours,
        kafkas,
        assignment=tuple(tuple(numbers.sample(ids, REPLICAS)) for _ in range(PARTITIONS)),
        is_idempotent=numbers.random() < 0.7,
        compression=numbers.choice(COMPRESSIONS),
        segment_bytes=numbers.choice(SEGMENT_BYTES),
        steps=tuple(_Drawing(numbers, ours, kafkas).steps()),
    )


class _Drawing:
    """The steps drawn so far, and the state in which they leave the cluster."""

    def __init__(self, numbers: random.Random, ours: Sequence[BrokerId], kafkas: Sequence[BrokerId]) -> None:
        self._numbers = numbers
        self._sides = {Side.OURS: ours, Side.KAFKAS: kafkas}
        self._running = {*ours, *kafkas}
        self._dead: set[BrokerId] = set()
        self._paused: set[BrokerId] = set()
        self._topics: list[str] = []
        self._created = 0

    def steps(self) -> list[tuple[int, Step]]:
        """Return all steps. Among them are a kill on each side, two controller moves, a pause, a reassignment and a new
        topic.
        """
        kinds: list[Callable[[], Step | None]] = [
            *(partial(self._kill, side) for side in Side),
            MoveController,
            MoveController,
            self._pause,
            self._reassign,
            self._create,
        ]
        others = (self._kill_any, self._start, self._start, self._pause, self._resume, MoveController, self._reassign)
        kinds += self._numbers.choices([*others, self._delete, self._delete], k=MORE_STEPS)
        self._numbers.shuffle(kinds)
        found: list[Step] = []
        for kind in kinds:
            step = kind()
            while step is None and (back := self._start() or self._resume()) is not None:
                found.append(back)
                step = kind()
            if step is not None:
                found.append(step)
        return [(self._numbers.randrange(LONGEST_WAIT_MS), step) for step in found]

    def _kill(self, side: Side) -> Step | None:
        broker = self._running_one(side)
        if broker is None:
            return None
        self._running.discard(broker)
        self._dead.add(broker)
        return KillBroker(broker)

    def _kill_any(self) -> Step | None:
        return self._kill(self._side())

    def _pause(self) -> Step | None:
        broker = self._running_one(self._side())
        if broker is None:
            return None
        self._running.discard(broker)
        self._paused.add(broker)
        return PauseBroker(broker)

    def _running_one(self, side: Side) -> BrokerId | None:
        """Draw a running broker of a side that may stop running."""
        running = sorted(self._running & {*self._sides[side]})
        return self._numbers.choice(running) if running and len(self._running) > LEAST_RUNNING else None

    def _start(self) -> Step | None:
        if not self._dead:
            return None
        broker = self._numbers.choice(sorted(self._dead))
        self._dead.discard(broker)
        self._running.add(broker)
        return StartBroker(broker)

    def _resume(self) -> Step | None:
        if not self._paused:
            return None
        broker = self._numbers.choice(sorted(self._paused))
        self._paused.discard(broker)
        self._running.add(broker)
        return ResumeBroker(broker)

    def _reassign(self) -> Step | None:
        partition = TopicPartition("orders", self._numbers.randrange(PARTITIONS))
        replicas = self._running_replicas()
        return ReassignPartition(partition, replicas) if len(replicas) == REPLICAS else None

    def _create(self) -> Step | None:
        self._created += 1
        topic = f"topic-{self._created}"
        self._topics.append(topic)
        return CreateTopic(topic, self._running_replicas())

    def _running_replicas(self) -> tuple[BrokerId, ...]:
        return tuple(self._numbers.sample(sorted(self._running), min(REPLICAS, len(self._running))))

    def _delete(self) -> Step | None:
        """Draw a topic to delete; if there is none yet, create one."""
        return DeleteTopic(self._topics.pop(self._numbers.randrange(len(self._topics)))) if self._topics else self._create()

    def _side(self) -> Side:
        return self._numbers.choice(tuple(Side))
