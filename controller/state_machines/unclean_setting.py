"""unclean.leader.election.enable as it is in force: the cluster's default, which a topic's own setting overrides.

Source: Kafka 2.8, ZkPartitionStateMachine.collectUncleanLeaderElectionState; KafkaConfig.uncleanLeaderElectionEnable.
"""

from collections.abc import Collection

from kcsim.zk.kafka.configs import ConfigZnodes

UNCLEAN_SETTING = "unclean.leader.election.enable"


class UncleanElectionSetting:
    """The setting on one broker.

    Attributes:
        default: the cluster's default, as it is in force on this broker now. It can change at run time.
    """

    def __init__(self, configs: ConfigZnodes, default: bool) -> None:
        self.default = default
        self._configs = configs

    async def enabled_topics(self, topics: Collection[str], cause: int) -> set[str]:
        """Return those of these topics for which the setting is on. Reads the topics' own settings."""
        configs = await self._configs.read_topics(topics, cause)
        default = str(self.default).lower()
        return {topic for topic in topics if configs[topic].get(UNCLEAN_SETTING, default).lower() == "true"}
