"""The replays of one slot's partitions: kept as bytes between two portions, restored when a fact of the partition comes.

Partitions are kept in a fixed number of buckets, by their topic, so that a portion reads and writes at most so many values,
however many partitions it has facts of. A partition without facts in a portion is passed on as it was, undecoded.
"""

import zlib
from collections.abc import Iterator
from typing import Protocol

import msgspec

from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.replay_state import ReplayState
from kcsim.scenarios.analysis.folding.timeline import Timeline, TopicTimeline
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.verifying_replay import VerifyingReplay

BUCKETS = 32

Bucket = dict[str, dict[int, msgspec.Raw]]
"""Run and topic -> partition -> its ReplayState."""

_ENCODER = msgspec.msgpack.Encoder()
_BUCKETS = msgspec.msgpack.Decoder(Bucket)
_STATES = msgspec.msgpack.Decoder(ReplayState)


class StateStore(Protocol):
    """Values by name that outlive a portion: the state of one key of a streaming query."""

    def get(self, name: str) -> bytes | None: ...
    def put(self, name: str, value: bytes) -> None: ...


class PartitionStates:
    """The replays of one slot, while a portion is folded."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._buckets: dict[int, Bucket] = {}
        self._open: dict[PartitionKey, VerifyingReplay] = {}

    @property
    def open(self) -> Iterator[VerifyingReplay]:
        """The replays that this portion has used."""
        return iter(self._open.values())

    def replay(self, key: PartitionKey, timeline: Timeline) -> VerifyingReplay:
        """Return the replay of a partition, with the timeline of its run; a new one if there is none."""
        replay = self._open.get(key)
        if replay is None:
            timeline.topics.setdefault(key.topic, TopicTimeline())
            saved = self._of_topic(key.batch, key.run, key.topic).get(key.partition)
            state = ReplayState() if saved is None else _STATES.decode(saved)
            replay = self._open[key] = VerifyingReplay.restored(key, timeline, state)
        return replay

    def follow_topic(self, batch: str, run: str, topic: str, timeline: Timeline) -> list[Transition]:
        """Have all partitions of a topic take over what was written to its znode. Returns: the transitions."""
        transitions = []
        known = set(self._of_topic(batch, run, topic))
        known.update(key.partition for key in self._open if key[:3] == (batch, run, topic))
        for partition in sorted(known):
            replay = self.replay(PartitionKey(batch, run, topic, partition), timeline)
            replay.follow_topic()
            transitions.extend(replay.take())
        return transitions

    def save(self) -> None:
        """Write the states of the used partitions."""
        changed = set()
        for key, replay in self._open.items():
            of_topic = self._of_topic(key.batch, key.run, key.topic)
            of_topic[key.partition] = msgspec.Raw(_ENCODER.encode(replay.save()))
            changed.add(_bucket_of(key.batch, key.run, key.topic))
        for bucket in sorted(changed):
            self._store.put(_name_of(bucket), _ENCODER.encode(self._buckets[bucket]))
        self._open.clear()

    def _of_topic(self, batch: str, run: str, topic: str) -> dict[int, msgspec.Raw]:
        bucket = _bucket_of(batch, run, topic)
        if bucket not in self._buckets:
            saved = self._store.get(_name_of(bucket))
            self._buckets[bucket] = {} if saved is None else _BUCKETS.decode(saved)
        return self._buckets[bucket].setdefault("\0".join((batch, run, topic)), {})


def _name_of(bucket: int) -> str:
    return f"partitions {bucket}"


def _bucket_of(batch: str, run: str, topic: str) -> int:
    return zlib.crc32(f"{topic}\n{run}\n{batch}".encode()) % BUCKETS
