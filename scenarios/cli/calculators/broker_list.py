"""Brokers as written on a command line: 0:rack1,5:rack1,3:rack2, or 0,1,2 without racks."""

import re
from collections.abc import Sequence

from kcsim.controller.decisions.broker_ring import BrokerMetadata, refuse_duplicates
from kcsim.vocabulary import BrokerId

MAX_BROKER_ID = 2**31 - 1
"""Broker ids are 32-bit."""


class BadBrokersError(Exception):
    """A list of brokers that cannot be read. The message names the entry."""


def parse_brokers(text: str) -> tuple[BrokerMetadata, ...]:
    """Read brokers, each with its rack if it has one. The text after the first colon is the rack's name.

    Raises: BadBrokersError; AdminCommandFailedError, with the message of Kafka's tools, when an id occurs twice.
    """
    brokers = tuple(_parse_broker(entry.strip(), text) for entry in text.split(","))
    refuse_duplicates("Broker list", [broker.id for broker in brokers])
    return brokers


def _parse_broker(entry: str, text: str) -> BrokerMetadata:
    number, colon, rack = entry.partition(":")
    if not entry:
        raise BadBrokersError(f"{text!r} has an empty entry; write brokers as 0:rack1,1:rack2 or 0,1,2")
    if not re.fullmatch("[0-9]+", number) or int(number) > MAX_BROKER_ID:
        raise BadBrokersError(f"{number!r} in {entry!r} is no broker id; write brokers as 0:rack1,1:rack2 or 0,1,2")
    if colon and not rack:
        raise BadBrokersError(f"{entry!r} names no rack; write {number} for a broker without one")
    return BrokerMetadata(BrokerId(int(number)), rack or None)


def brokers_text(brokers: Sequence[BrokerMetadata]) -> str:
    """Return brokers as text: 0 (rack1), 5 (rack1), or 0, 1 without racks."""
    return ", ".join(broker_text(broker) for broker in brokers)


def broker_text(broker: BrokerMetadata) -> str:
    return str(broker.id) if broker.rack is None else f"{broker.id} ({broker.rack})"
