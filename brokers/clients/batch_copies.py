"""Batches of real clients that a log has more than once, because their producer has sent them again.

A producer sends a batch again with the same bytes: the same records, with the same timestamps. The checksum covers all of
them, but for base offset and leader epoch, which the broker sets. A producer without an id is known by its client id and its
host; its port changes when it connects again. Such a producer may also have written two batches with the same bytes, if
it wrote the same value twice within a millisecond. So what it has sent over one connection counts as a copy only if
the answer to the first batch let it send the batch again. Two producers with one client id on one host are taken for one.
A batch that the broker got over TCP as a follower names no client: without a producer id it may be any client's.

Pure. The cost depends on the number of batches, not of records.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcsim.brokers.log.intervals import IntervalSet
from kcsim.brokers.record_batches import NO_PRODUCER_ID, header_of
from kcsim.brokers.records import UNKNOWN_CLIENT, Run
from kcsim.vocabulary import LeaderEpoch


class BatchCopy(NamedTuple):
    """A batch that a log has twice. Of one that it has three times, the second is the first of the third."""

    first: Run
    again: Run


class _BatchContent(NamedTuple):
    """What identifies a batch that is sent again.

    Attributes:
        producer: its id, or client id and host; empty: it is not known.
        place: the sequence of an idempotent producer's batch.
    """

    producer: str
    checksum: int
    place: int
    base_timestamp: int
    record_count: int


def batch_copies(runs: Iterable[Run], final: Mapping[LeaderEpoch, IntervalSet]) -> list[BatchCopy]:
    """Return the batches that are there again, in the order of the log.

    Args:
        runs: the log. Records without bytes do not count.
        final: by leader epoch, the offsets of the batches that were acknowledged, or whose producer expects no answer.
    """
    seen: dict[_BatchContent, Run] = {}
    of_any: dict[_BatchContent, Run] = {}  # the last ones, of all senders
    copies = []
    for run in runs:
        if run.batch is None:
            continue
        content = _content(run, run.batch)
        of_unknown = content._replace(producer="")
        first = seen.get(content, seen.get(of_unknown)) if content.producer else of_any.get(of_unknown)
        if first is not None and not _are_two_batches(first, run, content, final):
            copies.append(BatchCopy(first, run))
        seen[content] = of_any[of_unknown] = run
    return copies


def _content(run: Run, batch: bytes) -> _BatchContent:
    header = header_of(batch)
    is_idempotent = header.producer_id != NO_PRODUCER_ID
    producer = run.producer if is_idempotent else run.writer.rpartition(":")[0]  # client id and host, without the port
    return _BatchContent(producer, header.checksum, header.base_sequence, header.base_timestamp, header.record_count)


def _are_two_batches(first: Run, again: Run, content: _BatchContent, final: Mapping[LeaderEpoch, IntervalSet]) -> bool:
    """Return whether a producer without an id meant two batches: it had no reason to send the first one again."""
    is_idempotent = content.producer == again.producer
    is_final = first.base_offset in final.get(first.leader_epoch, IntervalSet())
    # Of two whose clients are not known, those that one leader appended may have come over one connection.
    is_known = first.writer != UNKNOWN_CLIENT
    is_one_connection = first.writer == again.writer and (is_known or first.leader_epoch == again.leader_epoch)
    return not is_idempotent and is_one_connection and is_final
