"""Brokers that come, go, bounce or change their listeners: /brokers/ids.

Source: Kafka 2.8, KafkaController.processBrokerChange and processBrokerModification.
"""

from functools import partial

from kcsim.controller.decisions.broker_changes import diff_brokers
from kcsim.controller.events import BrokerChange, BrokerModifications
from kcsim.controller.handlers.core import Core
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId
from kcsim.zk.zookeeper_client import NodeHandler


class BrokerHandlers:
    """BrokerChange and BrokerModifications, and the watches they need."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def register(self) -> None:
        """Watch /brokers/ids from the next listing on."""
        self._core.client.register_child_handler(paths.BROKER_IDS, lambda cause: self._core.put(BrokerChange(), cause))

    def unregister(self) -> None:
        self._core.client.unregister_child_handler(paths.BROKER_IDS)

    async def register_modifications(self, broker_ids: list[BrokerId], cause: int) -> None:
        """Watch the registrations of these brokers for changed data; asks ZooKeeper, which arms the watches."""
        for broker_id in broker_ids:
            changed = partial(self._core.put, BrokerModifications(broker_id))
            await self._core.client.register_and_check_existence(
                paths.broker_id(broker_id), NodeHandler(data_changed=changed), cause
            )

    def unregister_modifications(self, broker_ids: list[BrokerId]) -> None:
        for broker_id in broker_ids:
            self._core.client.unregister_node_handler(paths.broker_id(broker_id))

    async def process_broker_change(self, cause: int) -> None:
        """List the brokers anew, which re-arms the watch, and act on the difference to what was known.

        Raises: BadZnodeError when any registration cannot be read; then nothing is done for any broker.
        """
        context = self._core.context
        seen = {info.broker_id: (info, epoch) for info, epoch in await self._core.kafka_zk.all_brokers_with_epochs(cause)}
        changes = diff_brokers(context.broker_epochs, {b: epoch for b, (_, epoch) in seen.items()})
        self._core.sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            brokers=sorted(seen),
            rule="started: new ids; stopped: ids gone; bounced: same id, higher broker epoch",
            inputs=f"known {dict(sorted(context.broker_epochs.items()))}, seen { {b: seen[b][1] for b in sorted(seen)} }",
            detail=f"started {list(changes.started)}, stopped {list(changes.stopped)}, bounced {list(changes.bounced)}",
        )
        context.add_live_brokers(seen[b] for b in changes.started + changes.bounced)
        context.remove_live_brokers(changes.stopped)
        self.unregister_modifications([*changes.stopped, *changes.bounced])
        await self.register_modifications([*changes.started, *changes.bounced], cause)

    async def process_broker_modifications(self, broker_id: BrokerId, cause: int) -> None:
        """Re-read one registration, which re-arms the watch; only other endpoints or features count as a change."""
        context = self._core.context
        info = await self._core.kafka_zk.broker(broker_id, cause)
        known = context.live_brokers.get(broker_id)
        if info is None or known is None or (info.endpoints, info.features) == (known.endpoints, known.features):
            return
        context.live_brokers[broker_id] = info
        self._core.sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            broker_id=broker_id,
            brokers=context.live_broker_ids,
            detail=f"broker {broker_id} now listens at {', '.join(map(str, info.endpoints))}",
        )
