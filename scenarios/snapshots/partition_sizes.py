"""Sizes and rates of partitions, from what tools of Kafka and of its operators print, added to a snapshot."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition, SnapshotTopic
from kcsim.vocabulary import TopicPartition

CSV_FIELDS = ("topic", "partition", "size_bytes", "bytes_in_per_s")
LOG_SIZE, BYTES_IN = re.compile(r"log.*size", re.IGNORECASE), re.compile(r"bytes_?in", re.IGNORECASE)


class SizesError(ValueError):
    """A file has no sizes in a known form. The message says what was found, in one line."""


@dataclass
class PartitionSizes:
    """What is known of partitions. Attributes: sizes: of the largest replica in bytes; rates: bytes per s of producers."""

    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    rates: dict[TopicPartition, float] = field(default_factory=dict)

    def add_size(self, tp: TopicPartition, size_bytes: int) -> None:
        self.sizes[tp] = max(size_bytes, self.sizes.get(tp, 0))

    def add_rate(self, tp: TopicPartition, bytes_in_per_s: float) -> None:
        self.rates[tp] = max(bytes_in_per_s, self.rates.get(tp, 0.0))


def parse_sizes(text: str) -> PartitionSizes:
    """Read one file: the output of kafka-log-dirs, a CSV with CSV_FIELDS, or an answer of Prometheus' API to a query.

    Prometheus' metrics are recognised by their names: of sizes log…size, of rates bytesin or bytes_in; a metric needs labels
    topic and partition. Where several replicas of a partition are listed, the largest value counts.

    Raises: SizesError.
    """
    found = PartitionSizes()
    lines = [line for line in text.splitlines() if line.strip()]
    # kafka-log-dirs prints two lines of text before its one line of JSON.
    as_json = next((line for line in lines if line.lstrip().startswith("{")), None)
    try:
        content = json.loads(text if lines and lines[0].lstrip().startswith("{") else as_json or "null")
    except (ValueError, RecursionError) as error:
        raise SizesError(f"not JSON: {error}") from None
    try:
        if isinstance(content, Mapping) and "brokers" in content:
            _add_log_dirs(found, content)
        elif isinstance(content, Mapping) and "data" in content:
            _add_prometheus(found, content)
        elif content is None and lines:
            _add_csv(found, text)
        else:
            raise SizesError("neither output of kafka-log-dirs, nor CSV, nor an answer of Prometheus")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SizesError):
            raise
        raise SizesError(f"{type(error).__name__}: {error}") from None
    return found


def _add_log_dirs(found: PartitionSizes, content: Mapping[str, Any]) -> None:
    for broker in content["brokers"]:
        for log_dir in broker["logDirs"]:
            for partition in log_dir["partitions"]:
                if not partition.get("isFuture"):
                    topic, _, number = partition["partition"].rpartition("-")
                    found.add_size(TopicPartition(topic, int(number)), int(partition["size"]))


def _add_csv(found: PartitionSizes, text: str) -> None:
    rows = csv.DictReader(io.StringIO(text))
    names = rows.fieldnames or []
    if not {"topic", "partition"}.issubset(names) or not {*CSV_FIELDS[2:]}.intersection(names):
        raise SizesError(f"the first line of a CSV names its columns: {','.join(CSV_FIELDS)}")
    for row in rows:
        tp = TopicPartition(row["topic"], int(row["partition"]))
        if size := row.get("size_bytes"):
            found.add_size(tp, _not_negative(int(size)))
        if rate := row.get("bytes_in_per_s"):
            found.add_rate(tp, _not_negative(float(rate)))


def _not_negative(number: Any) -> Any:
    if not number >= 0:  # also of nan
        raise SizesError(f"{number} is no size and no rate")
    return number


def _add_prometheus(found: PartitionSizes, content: Mapping[str, Any]) -> None:
    for sample in content["data"]["result"]:
        labels = sample["metric"]
        name = labels.get("__name__", "")
        if "topic" not in labels or "partition" not in labels:
            raise SizesError(f"metric {name or labels} has no labels topic and partition")
        tp, value = TopicPartition(labels["topic"], int(labels["partition"])), _not_negative(float(sample["value"][1]))
        if BYTES_IN.search(name):
            found.add_rate(tp, value)
        elif LOG_SIZE.search(name):
            found.add_size(tp, int(value))
        else:
            raise SizesError(f"metric {name!r} is neither a size of logs nor a rate of bytes in")


def with_sizes(snapshot: ControlPlaneSnapshot, known: PartitionSizes) -> ControlPlaneSnapshot:
    """Return the snapshot with these sizes and rates; what it has of other partitions stays."""
    topics = tuple(
        SnapshotTopic(topic.name, tuple(_partitions(topic, known)), topic.topic_id, topic.config)
        for topic in snapshot.topics
    )
    return msgspec.structs.replace(snapshot, topics=topics)


def _partitions(topic: SnapshotTopic, known: PartitionSizes) -> Iterator[SnapshotPartition]:
    for partition in topic.partitions:
        tp = TopicPartition(topic.name, partition.partition)
        size, rate = known.sizes.get(tp, partition.size_bytes), known.rates.get(tp, partition.bytes_in_per_s)
        yield msgspec.structs.replace(partition, size_bytes=size, bytes_in_per_s=rate)
