"""A cluster of our brokers and one of Apache Kafka, on the suite's real ZooKeeper."""

from collections.abc import Sequence
from typing import Any

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.properties import HOST
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.vocabulary import TopicPartition
from tests.brokers.apache_kafka.real_brokers import UP_WITHIN_S, Znodes


class ClusterWithKafka:
    """Our brokers, and one of Kafka's.

    Args:
        partitions: those of the test's topic.
    """

    def __init__(self, cluster: Cluster, kafka: KafkaBroker, znodes: Znodes, partitions: Sequence[TopicPartition]) -> None:
        self.cluster = cluster
        self.kafka = kafka
        self.znodes = znodes
        self._partitions = partitions

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in (*self.cluster.bootstrap, (HOST, self.kafka.port)))

    async def start_kafka(self) -> None:
        await self.kafka.start()
        await self.kafka.wait_until_up(UP_WITHIN_S)

    async def until_controller(self, brokers: set[int]) -> None:
        def is_one_of_these(held: Any) -> bool:
            return held is not None and held["brokerid"] in brokers

        await self.znodes.until("/controller", is_one_of_these, f"a controller from {brokers}")

    async def until_isrs(self, isr: set[int]) -> None:
        """Wait until every partition has this ISR, with a leader from it."""

        def has_isr(state: Any) -> bool:
            return state is not None and set(state["isr"]) == isr and state["leader"] in isr

        for topic, number in self._partitions:
            await self.znodes.until(f"/brokers/topics/{topic}/partitions/{number}/state", has_isr, f"ISR {isr}")
