"""Our brokers answer admin clients as Kafka's brokers do: the same requests, the same errors and messages."""

import re
from typing import Any

import pytest

from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.requests import ACKS_ALL
from tests.brokers.admin.network_client import NetworkClient
from tests.brokers.admin.recorded_answers import (
    RECORDS,
    SETTINGS,
    Answer,
    answers,
    answers_of_kafka,
    in_order,
    recorded,
)
from tests.brokers.admin.requests_of_admin_clients import SERIES
from tests.brokers.cluster.environments import play, start_and_elect
from tests.tiers import chosen

COLLECTION = re.compile(r"\b(Hash)?Map\((.*)\)$|\{(.*)\}$")


def answers_of_ours(subject: str) -> list[Answer]:
    found: list[Answer] = []

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        found.extend(await answers(subject, NetworkClient(cluster).ask, lambda: produce(cluster)))

    play(script, settings=SETTINGS)
    return found


async def produce(cluster: Cluster) -> None:
    spec = ProducerSpec("clerk", ("orders",), records=RECORDS, config=ProducerConfig(acks=ACKS_ALL))
    await Workload(cluster, {"clerk": spec}).produce(["clerk"])


def without_collections(answer: Any) -> Any:
    """Return an answer without what Kafka prints of an assignment, whose form is that of Scala's collections."""
    if isinstance(answer, dict):
        return {
            name: COLLECTION.sub("", value) if name == "error_message" and value else without_collections(value)
            for name, value in answer.items()
        }
    return list(map(without_collections, answer)) if isinstance(answer, list) else answer


@pytest.mark.parametrize("subject", SERIES)
def test_our_brokers_answer_as_kafkas(subject: str) -> None:
    expected = recorded(subject)
    found = answers_of_ours(subject)
    assert [request for request, _ in found] == [request for request, _ in expected]
    for (request, ours), (_, kafkas) in zip(found, expected, strict=True):
        assert in_order(without_collections(ours)) == in_order(without_collections(kafkas)), request
    assert len(found) > 10


@pytest.mark.kafka
@pytest.mark.parametrize("subject", chosen(SERIES, fast=(), slow=["topics"]))
def test_kafka_answers_as_recorded(subject: str) -> None:
    assert answers_of_kafka(subject) == recorded(subject)
