"""The answers of Apache Kafka 2.8.2 to the requests of requests_of_admin_clients.py, in a file, and the recording of it.

To record anew: python -m tests.brokers.admin.recorded_answers
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.processes.admin_tools import KafkaAdminTools
from kcsim.brokers.cluster.processes.kafka_environment import run_on_kafka
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.wire.apis.metadata import METADATA
from tests.brokers.admin.requests_of_admin_clients import SERIES, SentRequest, To, create, topic
from tests.brokers.differential.raw_client import RawClient
from tests.brokers.wire.plain_messages import plain

FILE = Path(__file__).parents[2] / "vectors" / "admin-requests" / "answers.json"
BROKERS = (1, 2, 3)
SETTINGS: Mapping[str, str | bool] = {"inter.broker.protocol.version": "2.6", "auto.leader.rebalance.enable": False}
RECORDS = 10
WITHIN_MS = 120_000
ALL_TOPICS = {
    "topics": None,
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}
WITH_RECORDS = topic("orders", assigned={0: (1, 2, 3)})

Answer = tuple[str, Any]
"""What was requested, and the response."""
Ask = Callable[[SentRequest], Awaitable[Any]]


def receiver(request: SentRequest, controller: int) -> int:
    """Return the broker that a request is sent to."""
    match request.to:
        case To.CONTROLLER:
            return controller
        case To.ANOTHER:
            return next(broker for broker in BROKERS if broker != controller)
        case To.LEADER:
            return 1
        case To.FOLLOWER:
            return 2


async def answers(subject: str, ask: Ask, produce: Callable[[], Awaitable[Any]]) -> list[Answer]:
    """Send the requests of a subject. Args: produce: writes the records, for the subject that needs them."""
    if subject == "records":
        await ask(create("for records", WITH_RECORDS))
        await produce()
    return [(named(request), in_order(await ask(request))) for request in SERIES[subject]()]


def named(request: SentRequest) -> str:
    return f"{request.api_key} v{request.version} {request.what}"


def in_order(answer: Any) -> Any:
    """Return an answer with the elements of its lists in order, which is no part of the protocol."""
    if isinstance(answer, dict):
        return {name: in_order(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return sorted(map(in_order, answer), key=lambda element: json.dumps(element, sort_keys=True))
    return answer


def recorded(subject: str) -> list[Answer]:
    """Return Kafka's answers as recorded."""
    return [(one["request"], one["answer"]) for one in json.loads(FILE.read_text())[subject]]


def answers_of_kafka(subject: str) -> list[Answer]:
    """Send the requests of a subject to real brokers."""
    found: list[Answer] = []
    kafka = find_kafka(None)

    async def script(cluster: ProcessCluster) -> None:
        await cluster.start(cluster.broker_names)
        await cluster.wait_until(lambda: None if cluster.state.controller_id else "no controller", WITHIN_MS)
        host_ports = [address.rsplit(":", 1) for address in cluster.bootstrap().split(",")]
        client = RawClient()
        client.addresses = {broker: (host, int(port)) for broker, (host, port) in zip(BROKERS, host_ports, strict=True)}
        controller = cluster.state.controller_id
        assert controller is not None

        async def ask(request: SentRequest) -> Any:
            await until_brokers_agree(client)
            broker = receiver(request, controller)
            return plain(await client.call(broker, request.api_key, request.version, **request.values))

        async def produce() -> None:
            await KafkaAdminTools(kafka).produce(cluster.bootstrap(), "orders", RECORDS, -1)

        try:
            found.extend(await answers(subject, ask, produce))
        finally:
            client.close()

    spec = ClusterSpec(tuple(map(BrokerSpec, BROKERS)), SETTINGS, tick_time_ms=100, max_session_timeout_ms=30_000)
    embedded = ZooKeeperChoice.parse("embedded")
    run_on_kafka(kafka, embedded, spec, RunInfo("test", 0, "embedded"), script, ())
    return found


async def until_brokers_agree(client: RawClient) -> None:
    """Wait until all brokers have the same metadata: a change reaches those that are not the controller a little later."""
    async with asyncio.timeout(WITHIN_MS / 1000):
        while True:
            seen = [in_order(plain(await client.call(broker, METADATA, 8, **ALL_TOPICS))["topics"]) for broker in BROKERS]
            if all(topics == seen[0] for topics in seen):
                return
            await asyncio.sleep(0.05)


def main() -> None:
    content = {
        subject: [{"request": request, "answer": answer} for request, answer in answers_of_kafka(subject)]
        for subject in SERIES
    }
    FILE.parent.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(text + "\n")


if __name__ == "__main__":
    main()
