"""Kafka's verifiable producer, which prints the partition and offset of each value that was acknowledged to it."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.brokers.apache_kafka.commands import jvm
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.zk.servers.guarded_process import exit_status
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from tests.brokers.cluster.environments import WITHIN_MS

NAME = "verifiable-producer"
MAIN_CLASS = "org.apache.kafka.tools.VerifiableProducer"
SENT_AGAIN = {"retries": "1000000", "delivery.timeout.ms": "120000"}
WITHIN_S = WITHIN_MS / 1000


@dataclass(frozen=True)
class DeliverySettings:
    """How the producer writes: its acks, its other settings, and how many records a second."""

    acks: int
    settings: Mapping[str, str]
    rate: int = 200


Acknowledged = Mapping[int, tuple[int, int]]
"""The partition and offset of each acknowledged value."""


class VerifiableProducer:
    """A running verifiable producer, which writes to the topic `orders`."""

    def __init__(self, kafka: KafkaInstallation, servers: str, delivery: DeliverySettings) -> None:
        self._processes = GuardedProcesses(what="kafka")
        directory = self._processes.directory
        file = directory / "producer.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in delivery.settings.items()))
        words = f"--bootstrap-server {servers} --topic orders --throughput {delivery.rate} --acks {delivery.acks}"
        command = jvm(kafka, directory, MAIN_CLASS, [*words.split(), "--producer.config", str(file)])
        self._out = directory / "out"
        self._processes.start(NAME, command, self._out, errors=directory / "err")

    @property
    def printed(self) -> str:
        return self._out.read_text()

    async def until_acknowledged(self) -> None:
        """Wait for the first acknowledgement."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                if "producer_send_success" in self.printed:
                    return
                await asyncio.sleep(0.05)

    async def stop(self) -> Acknowledged:
        """Let it send no more and end, and return what was acknowledged to it."""
        self._processes.terminate(NAME)
        assert await exit_status(self._processes, NAME, WITHIN_S) == 143
        lines = list(map(json.loads, self.printed.splitlines()))
        of = {name: [line for line in lines if line["name"] == name] for name in ("producer_send_success", "tool_data")}
        acknowledged = {int(line["value"]): (line["partition"], line["offset"]) for line in of["producer_send_success"]}
        (summary,) = of["tool_data"]
        assert summary["acked"] == len(acknowledged)
        return acknowledged

    def close(self) -> None:
        self._processes.close()
