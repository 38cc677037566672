"""Settings that change while a broker runs, and their effect on the controller module and on logs.

Every setting is stored; only unclean.leader.election.enable and the log settings of topics have an effect. Source: Kafka
2.8, DynamicConfigManager, TopicConfigHandler, DynamicLogConfig; docs/kafka/znodes.md 8.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.configs import ConfigZnodes

UNCLEAN = "unclean.leader.election.enable"
DEFAULT = "<default>"


class UncleanElections(Protocol):
    """The part of the controller module's interface that is used here."""

    def enable_default_unclean_leader_election(self, cause: Cause) -> None: ...
    def disable_default_unclean_leader_election(self) -> None: ...
    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None: ...


class DynamicConfig:
    """The settings of one broker that can change.

    Args:
        is_unclean_allowed: unclean.leader.election.enable at the broker's start.
        on_topic: called with a topic's settings when they have changed.

    Attributes:
        settings: the settings of every entity with a processed notification, by its path, for example `topics/orders`.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        is_unclean_allowed: bool,
        configs: ConfigZnodes,
        controller: UncleanElections,
        on_topic: Callable[[str, Mapping[str, str]], None],
    ) -> None:
        self.settings: dict[str, Mapping[str, str]] = {}
        self._own = (f"brokers/{broker_id}", f"brokers/{DEFAULT}")  # the first takes precedence
        self._is_unclean_allowed_from_the_start = is_unclean_allowed
        self._is_unclean_allowed = is_unclean_allowed
        self._configs = configs
        self._controller = controller
        self._on_topic = on_topic

    @property
    def of_this_broker(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The changed settings of this broker, and those of all brokers, as last processed; the first take precedence."""
        own, shared = self._own
        return self.settings.get(own, {}), self.settings.get(shared, {})

    async def read_own(self, cause: Cause) -> None:
        """Read and apply this broker's settings before it starts.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError.
        """
        for entity in self._own:
            await self.apply(entity, cause)

    async def apply(self, entity: str, cause: Cause) -> None:
        """Re-read the settings of an entity and apply them.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError.
        """
        entity_type, _, name = entity.partition("/")
        settings = self.settings[entity] = await self._configs.read_entity(entity_type, name, cause)
        if entity_type == "topics":
            self._on_topic(name, settings)
        if entity_type == "topics" and _is_true(settings.get(UNCLEAN)):
            self._controller.enable_topic_unclean_leader_election(name, cause)
        elif entity in self._own:
            self._apply_default(cause)

    def _apply_default(self, cause: Cause) -> None:
        given = next((v for e in self._own if (v := self.settings.get(e, {}).get(UNCLEAN)) is not None), None)
        is_allowed = self._is_unclean_allowed_from_the_start if given is None else _is_true(given)
        was_allowed, self._is_unclean_allowed = self._is_unclean_allowed, is_allowed
        if is_allowed and not was_allowed:
            self._controller.enable_default_unclean_leader_election(cause)
        elif was_allowed and not is_allowed:
            self._controller.disable_default_unclean_leader_election()


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"
