"""A parser for the output of `kafka-topics --describe`: tabs or blanks, the forms of all versions from 0.8 to 3.x."""

import re
from collections import Counter

from kcsim.controller.decisions.placement import Replicas
from kcsim.vocabulary import BrokerId, TopicPartition

PARTITION = re.compile(
    r"\s*Topic:\s*(?P<topic>\S+)\s+Partition:\s*(?P<partition>\d+)\s+Leader:\s*\S+\s+Replicas:[ \t]*(?P<replicas>\S*)"
)
BROKERS = re.compile(r"\d+(,\d+)*")


class BadDescriptionError(Exception):
    """A text that cannot be a description of topics. The message names the line."""


def read_description(text: str, source: str) -> dict[TopicPartition, Replicas]:
    """Read the partitions of one or more topics, in the order given. Lines that describe no partition are ignored.

    Args:
        source: the name of the text in errors: a file's name.

    Raises: BadDescriptionError.
    """
    found: list[tuple[TopicPartition, Replicas]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not re.search(r"\bPartition:", line):
            continue
        matched = PARTITION.match(line)
        if matched is None:
            raise BadDescriptionError(
                f"{source}:{number}: {line.strip()!r} is no line of kafka-topics --describe;"
                " one is Topic: orders Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2"
            )
        if not BROKERS.fullmatch(matched["replicas"]):
            raise BadDescriptionError(f"{source}:{number}: {matched['replicas']!r} is no list of broker ids, as 1,2,3")
        replicas = tuple(BrokerId(int(broker)) for broker in matched["replicas"].split(","))
        found.append((TopicPartition(matched["topic"], int(matched["partition"])), replicas))
    if not found:
        raise BadDescriptionError(f"{source}: no partition is described there; give what kafka-topics --describe prints")
    repeated = [partition for partition, times in Counter(tp for tp, _ in found).items() if times > 1]
    if repeated:
        raise BadDescriptionError(f"{source}: {repeated[0]} is described more than once")
    return dict(found)
