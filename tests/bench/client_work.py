"""The work of real clients for the benchmark of brokers, in a process of its own: python -m tests.bench.client_work SERVERS.

Prints one line of JSON: what each part of the work has taken.
"""

import json
import statistics
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

TOPIC = "bench"
PARTITIONS = 3
RECORD = b"x" * 1024
RECORDS = 50_000
RATE, SECONDS = 1_000, 5
WITHIN_S = 300.0


def main(servers: str) -> None:
    results = {"ready_s": _ready(servers), "produced_per_s": _produced(servers), "consumed_per_s": _consumed(servers)}
    print(json.dumps({**results, **_latency(servers)}))


def _ready(servers: str) -> float:
    """Return how long it takes until a record that is written at once has been acknowledged by all replicas."""
    began = time.monotonic()
    _write(servers, 1)
    return time.monotonic() - began


def _write(servers: str, count: int) -> None:
    failures: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 5, "message.timeout.ms": 300_000})
    for _ in range(count):
        while True:
            try:
                producer.produce(TOPIC, RECORD, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(WITHIN_S) == 0
    assert not failures, failures[0]


def _produced(servers: str) -> float:
    began = time.monotonic()
    _write(servers, RECORDS)
    return RECORDS / (time.monotonic() - began)


def _consumer(servers: str, offset: int) -> Consumer:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, partition, offset) for partition in range(PARTITIONS)])
    return consumer


def _consumed(servers: str) -> float:
    began, found = time.monotonic(), 0
    consumer = _consumer(servers, 0)
    while found < RECORDS:
        found += sum(message.error() is None for message in consumer.consume(10_000, 1.0))
        assert time.monotonic() - began < WITHIN_S, f"{found} of {RECORDS} records"
    consumer.close()
    return found / (time.monotonic() - began)


def _latency(servers: str) -> dict[str, float]:
    """Return how long records take from the call of the producer to the consumer, at a steady rate; median and 99 %.

    The producer gathers records for 5 ms, its default: with a request for each record neither cluster keeps up with the rate
    on two processors, and the length of the queue is measured.
    """
    consumer = _consumer(servers, -1)
    consumer.consume(1, 2.0)  # so that it is at the end of each partition
    taken: list[float] = []

    def read() -> None:
        while len(taken) < RATE * SECONDS:
            for message in consumer.consume(1_000, 0.05):
                value = message.value()
                if message.error() is None and value is not None and value[:1] == b"t":
                    taken.append(time.monotonic() - float(value[1:32]))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    began = time.monotonic()
    for number in range(RATE * SECONDS):
        time.sleep(max(0.0, began + number / RATE - time.monotonic()))
        producer.produce(TOPIC, b"t%031.9f" % time.monotonic() + RECORD[32:])
        producer.poll(0)
    producer.flush(WITHIN_S)
    reader.join(WITHIN_S)
    assert not reader.is_alive(), f"{len(taken)} of {RATE * SECONDS} records"
    consumer.close()
    return {"median_ms": statistics.median(taken) * 1000, "p99_ms": statistics.quantiles(taken, n=100)[98] * 1000}


if __name__ == "__main__":
    main(sys.argv[1])
