"""Events on their way to the fold: what one slot needs of a portion of a run, packed into bytes.

The partitions of all runs are divided among slots, each of which is folded by itself. A slot receives the facts of its own
partitions, all facts of the cluster, and the seq of every event, by which it knows what is missing.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact, fact_of
from kcsim.scenarios.analysis.streaming.running_analyses import observed
from kcsim.scenarios.analysis.tables.rejects_table import Reject


class EventChunk(msgspec.Struct, array_like=True):
    """A portion of a run for one slot.

    Attributes:
        seqs, times: seq and t_ms of every event of the portion, as 64-bit integers, in the order in which they were read.
        facts: those that the slot folds.
        rejects: what is no event; only slot 0 receives them.
        source: which part of the run it is of, where its parts are written independently: the partition of a topic.
        flush: whether everything that waits for a missing event is to be folded now. Such a chunk has nothing else in it.
    """

    batch: str = ""
    run: str = ""
    seqs: bytes = b""
    times: bytes = b""
    facts: list[ReplayFact] = []
    rejects: list[Reject] = []
    source: int = 0
    flush: bool = False


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(EventChunk)


def packed(chunk: EventChunk) -> bytes:
    """Return a chunk as bytes."""
    return _ENCODER.encode(chunk)


def unpacked(data: bytes) -> EventChunk:
    """Return the chunk in some bytes."""
    return _DECODER.decode(data)


def chunks_of(
    batch: str, run: str, events: Sequence[Event], rejects: Iterable[Reject], slots: int, source: int = 0
) -> list[EventChunk]:
    """Divide a portion of a run among the slots: a chunk for each."""
    seqs = np.array([event.seq for event in events], np.int64).tobytes()
    times = np.array([event.t_ms for event in events], np.int64).tobytes()
    chunks = [EventChunk(batch, run, seqs, times, [], source=source) for _ in range(slots)]
    chunks[0].rejects = list(rejects)
    everywhere = [chunk.facts for chunk in chunks]
    for event in events:
        fact = fact_of(event) or observed(event)
        if fact is None:
            continue
        if fact.partition is None:
            for facts in everywhere:
                facts.append(fact)
        else:
            everywhere[slot_of(batch, run, fact.topic or "", fact.partition, slots)].append(fact)
    return chunks


def slot_of(batch: str, run: str, topic: str, partition: int, slots: int) -> int:
    """Return the slot that folds a partition."""
    return (_start(batch, run, topic) + partition) % slots


@lru_cache(1 << 16)
def _start(batch: str, run: str, topic: str) -> int:
    return zlib.crc32(f"{batch}\n{run}\n{topic}".encode())
