"""Kafka's clients are in consumer groups of simulated brokers, over TCP."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.topics import CREATE_TOPICS
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.apache_kafka.real_brokers import UP_WITHIN_S, Znodes, broker_on
from tests.brokers.cluster.environments import SETTINGS, Script, spec_of, start_and_elect
from tests.brokers.differential.group_conversation import BROKER, PARTITIONS, RECORDED, TOPIC, Answers, answers_of
from tests.brokers.differential.group_conversation import SETTINGS as CONVERSATION_SETTINGS
from tests.brokers.differential.raw_client import ALL_BROKERS, FIRST, raw_client

POLL_S = 0.1
TIMEOUT_MS = 30_000

pytestmark = pytest.mark.live


def play_with_ports(script: Script, brokers: int = 3, **settings: Any) -> EventLog:
    """Run a script on brokers with TCP ports."""
    ports = dict(zip(range(1, brokers + 1), free_ports(brokers), strict=True))
    spec = replace(spec_of(ports, {**SETTINGS, **settings}, "embedded"), client_ports=ports)
    return run_in_environment(ZooKeeperChoice.parse("embedded"), spec, RunInfo("test", 0, "embedded"), script)


async def _answers(cluster: Cluster) -> Answers:
    await start_and_elect(cluster)
    await cluster.topics.create(NewTopic(TOPIC, PARTITIONS, 1), random.Random(1))
    (host, port), *_ = cluster.bootstrap
    return await answers_of(f"{host}:{port}")


def test_a_simulated_broker_answers_all_requests_about_groups_as_kafka_does() -> None:
    seen: list[Answers] = []

    async def script(cluster: Cluster) -> None:
        seen.append(await _answers(cluster))

    play_with_ports(script, 1, **CONVERSATION_SETTINGS)
    (answers,) = seen
    recorded = json.loads(RECORDED.read_text())
    assert answers.keys() == recorded.keys()
    assert {label: (answers[label], kafkas) for label, kafkas in recorded.items() if answers[label] != kafkas} == {}


async def _create_topic(server: str) -> None:
    """Create the topic as soon as the broker, which is alone, has become the controller."""
    topic = {"name": TOPIC, "num_partitions": PARTITIONS, "replication_factor": 1, "assignments": (), "configs": ()}
    async with raw_client(server) as client, asyncio.timeout(UP_WITHIN_S):
        while True:
            metadata = await client.call(FIRST, METADATA, 8, **ALL_BROKERS)
            if metadata.controller_id == BROKER:
                break
            await asyncio.sleep(POLL_S)
        answer = await client.call(FIRST, CREATE_TOPICS, 4, topics=(topic,), timeout=TIMEOUT_MS, validate_only=False)
    assert [one.error_code.name for one in answer.topics] == ["none"]


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_answers_as_recorded(znodes: Znodes, tmp_path: Path) -> None:
    async def script() -> Answers:
        async with broker_on(znodes, tmp_path, settings=CONVERSATION_SETTINGS) as broker:
            await broker.start()
            await broker.wait_until_up(UP_WITHIN_S)
            await _create_topic(broker.address)
            return await answers_of(broker.address)

    assert asyncio.run(script()) == json.loads(RECORDED.read_text())
