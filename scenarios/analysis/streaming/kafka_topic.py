"""A topic of Kafka as an event log that grows: the value of each record is one line of the log, as JSON.

A topic is one run, named after it. Its events may be in any of its partitions, because `seq` says in which order they are.

Offsets are in the checkpoint, not in a consumer group: a part is read again exactly as it was read before. The tasks that
decode the records read them, in Python, with librdkafka. Spark's own source for Kafka would read them in the JVM and copy
each to Python, and needs jars that are not in PySpark.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from kcsim.extras import install_command
from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk, chunks_of
from kcsim.scenarios.analysis.streaming.followed_log import LogError
from kcsim.scenarios.analysis.tables.rejects_table import Reject, cut

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

SCHEME = "kafka://"
RECORD_BYTES = 512
"""What a record counts as, where a number of bytes limits what is read: sizes are not known before."""
ANSWER_SECONDS = 15.0
"""How long a broker may take to answer whether there is a topic, and where its partitions begin and end."""
READ_SECONDS = 0.5
READS_WITHOUT_RECORDS = 120
"""How often to wait READ_SECONDS for a record that must be there."""
AT_ONCE = 10_000
SETTINGS: Mapping[str, str | int | bool] = {
    "group.id": "kcsim",  # asked for by the client; nothing joins or commits to it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 100,
    "log_level": 0,  # its lines on stderr repeat what it raises
}


class NoKafkaClientError(Exception):
    """The package that reads topics is not installed. The message says how to install it."""

    def __init__(self) -> None:
        super().__init__(f"{SCHEME} needs the package confluent-kafka: {install_command('kafka')} brings it")


class InvalidTopicUrlError(Exception):
    """The text names no topic. The message says how to name one."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: no topic; write one as {SCHEME}host:port/TOPIC, or {SCHEME}host:port,host:port/TOPIC")


class NoTopicError(LogError):
    """The brokers have no such topic."""


class KafkaTopic(NamedTuple):
    """A topic. `servers`: bootstrap.servers of Kafka's clients."""

    servers: str
    topic: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.servers}/{self.topic}"

    @property
    def name(self) -> str:
        return self.topic

    def check(self) -> None:
        """Check that brokers answer, and have the topic. Raises: NoKafkaClientError, NoTopicError, LogError."""
        self._partitions(_consumer(self.servers))

    @property
    def awaited(self) -> str:
        return f"the first record of {self}"

    @property
    def unit(self) -> str:
        return "records"

    def beginning(self) -> dict[str, int]:
        """Return the offset of the first record of each partition: those before it were deleted."""
        consumer = _consumer(self.servers)
        return {str(partition): self._edges(consumer, partition)[0] for partition in self._partitions(consumer)}

    def further(self, places: Mapping[str, int], most_bytes: int) -> dict[str, int]:
        """Return the offset up to which each partition can be read now.

        Each partition is read on in proportion to what there is of it, so that none lags behind the others in time.
        """
        consumer = _consumer(self.servers)
        starts, ends = dict[str, int](), dict[str, int]()
        for partition in self._partitions(consumer):
            key = str(partition)
            first, ends[key] = self._edges(consumer, partition)
            starts[key] = places.get(key, 0)  # the partition is new
            if ends[key] < starts[key]:
                what = f"ends at offset {ends[key]}, but was read up to {starts[key]}: it was created anew"
                raise LogError(f"{self}: partition {key} {what}; follow it with another output folder")
            if first > starts[key]:
                what = f"begins at offset {first}, but was read only up to {starts[key]}: records in between are deleted"
                raise LogError(f"{self}: partition {key} {what}; follow it with another output folder")
        if gone := sorted(places.keys() - ends.keys()):
            raise LogError(f"{self}: partition {gone[0]} is gone; follow it with another output folder")
        return _shared_out(starts, ends, max(1, most_bytes // RECORD_BYTES))

    def limited(self, places: Mapping[str, int], target: Mapping[str, int]) -> dict[str, int]:
        return {key: min(offset, target[key]) for key, offset in places.items() if key in target}

    def parts(self, start: Mapping[str, int], end: Mapping[str, int], batch: str, part_bytes: int) -> "list[TopicPart]":
        """Return ranges of offsets."""
        found, most = [], max(1, part_bytes // RECORD_BYTES)
        for key, last in end.items():
            first = start.get(key, 0)
            count = -(-(last - first) // most)
            edges = [first + (last - first) * part // count for part in range(count)] + [last]
            found += [TopicPart(self, batch, int(key), edges[part], edges[part + 1]) for part in range(count)]
        return found

    def amount(self, places: Mapping[str, int]) -> int:
        return sum(places.values())

    def left(self, places: Mapping[str, int]) -> int:
        consumer = _consumer(self.servers)
        return sum(max(0, self._edges(consumer, int(key))[1] - offset) for key, offset in places.items())

    def _partitions(self, consumer: "Consumer") -> Sequence[int]:
        from confluent_kafka import KafkaError, KafkaException

        try:
            found = consumer.list_topics(self.topic, timeout=ANSWER_SECONDS).topics[self.topic]
        except KafkaException:
            raise LogError(f"{self}: no broker has answered within {ANSWER_SECONDS:g} s") from None
        if found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise NoTopicError(f"{self}: there is no such topic")
        if found.error is not None:
            raise LogError(f"{self}: {_text(found.error)}")
        return sorted(found.partitions)

    def _edges(self, consumer: "Consumer", partition: int) -> tuple[int, int]:
        """Return the offset of the first record, and the one after the last."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            found = consumer.get_watermark_offsets(TopicPartition(self.topic, partition), timeout=ANSWER_SECONDS)
        except KafkaException as error:
            raise LogError(f"{self}: partition {partition}: {_text(error.args[0])}") from None
        if found is None:
            raise LogError(f"{self}: partition {partition}: no broker has answered")
        return found


class TopicPart(NamedTuple):
    """A range of offsets of a partition. `end` is not in it."""

    topic: KafkaTopic
    batch: str
    partition: int
    start: int
    end: int

    def chunks(self, slots: int) -> list[EventChunk]:
        from kcsim.scenarios.analysis.tables.trace_lines import decode_whole_lines

        offsets, values = list[int](), list[bytes]()
        for message in self._messages():
            offsets.append(message.offset() or 0)
            values.append(message.value() or b"")
        decoded = decode_whole_lines(values)
        place = f"{self.topic}/{self.partition}"
        rejects = [
            Reject(self.batch, self.topic.topic, place, offsets[at], problem.reason.value, problem.detail, cut(values[at]))
            for at, problem in decoded.problems
        ]
        return chunks_of(self.batch, self.topic.topic, decoded.events, rejects, slots, source=self.partition)

    def _messages(self) -> "Iterator[Message]":
        """Yield the records. Where one was compacted away, or a transaction was aborted, an offset has none."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        consumer = _consumer(self.topic.servers)
        consumer.assign([TopicPartition(self.topic.topic, self.partition, self.start)])
        try:
            reached, in_vain = self.start, 0
            while reached < self.end:
                messages = consumer.consume(min(AT_ONCE, self.end - reached), timeout=READ_SECONDS)
                in_vain = 0 if messages else in_vain + 1
                if in_vain == READS_WITHOUT_RECORDS:
                    raise LogError(f"{self.topic}: partition {self.partition}: no record comes from offset {reached} on")
                for message in messages:
                    error = message.error()
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    reached = (message.offset() or 0) + (error is None)
                    if error is not None or reached > self.end:
                        return
                    yield message
        except KafkaException as error:
            raise LogError(f"{self.topic}: partition {self.partition}: {_text(error.args[0])}") from None
        finally:
            consumer.unassign()


def topic_named(text: str) -> KafkaTopic:
    """Return the topic of a URL, kafka://host:port,host:port/TOPIC. Raises: InvalidTopicUrlError."""
    parts = urlsplit(text)
    topic = parts.path.removeprefix("/")
    servers = parts.netloc.split(",")
    has_ports = all(host and port.isdigit() for host, _, port in (server.rpartition(":") for server in servers))
    if not topic or "/" in topic or parts.query or parts.fragment or not has_ports:
        raise InvalidTopicUrlError(text)
    return KafkaTopic(parts.netloc, topic)


@cache
def _consumer(servers: str) -> "Consumer":
    """Return the consumer of this process: to connect costs more than to read a small part."""
    try:
        from confluent_kafka import Consumer
    except ImportError:
        raise NoKafkaClientError from None
    return Consumer({**SETTINGS, "bootstrap.servers": servers})


def _shared_out(starts: Mapping[str, int], ends: Mapping[str, int], most: int) -> dict[str, int]:
    left = sum(ends.values()) - sum(starts.values())
    if left <= most:
        return dict(ends)
    return {key: start + -(-(ends[key] - start) * most // left) for key, start in starts.items()}


def _text(error: Any) -> str:
    """Return the sentence of a KafkaError, without the name of the place in the client."""
    return str(error.str()).removeprefix("Broker: ").removeprefix("Local: ")
