"""Brokers that start, stop, bounce or change their listeners: /brokers/ids.

Source: Kafka 2.8, KafkaController.processBrokerChange, processBrokerModification; docs/kafka/controller.md 6.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from kcsim.controller.channels.channel_manager import ControllerChannelManager
from kcsim.controller.decisions.broker_changes import BrokerChanges, diff_brokers
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.events import BrokerChange, BrokerModifications
from kcsim.controller.handlers.broker_availability import BrokerAvailability
from kcsim.controller.scope import ControllerScope
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.step_names import BrokerChangeStep
from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo
from kcsim.zk.kafka.brokers import BrokerZnodes
from kcsim.znodes import BadZnodeError, paths

Seen = dict[BrokerId, tuple[BrokerInfo, BrokerEpoch]]


class BrokerHandlers:
    """The handlers of BrokerChange and BrokerModifications, and the watches that these events need."""

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: BrokerZnodes,
        channels: ControllerChannelManager,
        availability: BrokerAvailability,
    ) -> None:
        self._config = scope.config
        self._context = scope.context
        self._quarantine = scope.quarantine
        self._sink = scope.sink
        self._watches = watches
        self._znodes = znodes
        self._channels = channels
        self._availability = availability

    def register(self) -> None:
        """Register a handler for /brokers/ids; the next listing arms the watch."""
        self._watches.watch_children(paths.BROKER_IDS, BrokerChange())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.BROKER_IDS)

    async def register_modifications(self, broker_ids: Collection[BrokerId], cause: int) -> None:
        """Watch the registrations of these brokers for changed data. An existence check of each znode arms the watch."""
        for broker_id in broker_ids:
            modified = BrokerModifications(broker_id)
            await self._watches.watch_data_of_existing(paths.broker_id(broker_id), modified, cause)

    def unregister_modifications(self, broker_ids: Collection[BrokerId]) -> None:
        for broker_id in broker_ids:
            self._watches.unwatch_node(paths.broker_id(broker_id))

    # --- live brokers

    async def read_live_brokers(self, cause: int) -> list[tuple[BrokerInfo, BrokerEpoch]]:
        """List the registrations, which re-arms the watch; return the live brokers, sorted by id.

        A hardened controller leaves out the registrations that cannot be read, and those without a listener that it can
        reach. A broker that it knows already stays what it was: its znode still belongs to a living session.

        Raises: BadZnodeError when any registration cannot be read, unless the controller is hardened.
        """
        quarantine, context = self._quarantine, self._context
        reading = quarantine.reading("its broker counts as not registered, or stays as it was known", cause)
        listed = await self._znodes.read_all_with_epochs(register_watch=True, cause=cause, on_bad=reading)
        if reading is None:
            return listed
        found: dict[BrokerId, tuple[BrokerInfo, BrokerEpoch]] = {}
        for info, epoch in listed:
            path, listener = paths.broker_id(info.broker_id), self._config.inter_broker_listener_name
            if any(endpoint.listener == listener for endpoint in info.endpoints):
                found[info.broker_id] = (info, epoch)
            else:
                reading(BadZnodeError(path, f"there is no endpoint of listener {listener}"))
        present = {paths.broker_id(broker) for broker in found}
        quarantine.release_read(quarantine.below(paths.BROKER_IDS), reading, present)
        for path in reading.bad:
            known = paths.parse(path)
            if known is not None and (broker := known.broker_id) is not None and broker in context.live_brokers:
                found[broker] = (context.live_brokers[broker], context.broker_epochs[broker])
        return [found[broker] for broker in sorted(found)]

    async def process_broker_change(self, cause: int) -> None:
        """List the brokers, which re-arms the watch, and handle the difference from the context.

        Raises: BadZnodeError when any registration cannot be read; then nothing is done for any broker. A hardened
            controller raises nothing.
        """
        context = self._context
        listed = await self.read_live_brokers(cause)
        seen = {info.broker_id: (info, epoch) for info, epoch in listed}
        changes = diff_brokers(context.broker_epochs, {b: epoch for b, (_, epoch) in seen.items()})
        if not self._config.protections.broker_epoch:
            changes = replace(changes, bounced=())  # without broker epochs a restarted broker cannot be recognized
        changed = self._sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            brokers=sorted(seen),
            rule=DecisionRule.BROKERS_COMPARED.value,
            started=changes.started,
            stopped=changes.stopped,
            bounced=changes.bounced,
            inputs=f"known {dict(sorted(context.broker_epochs.items()))}, seen { {b: seen[b][1] for b in sorted(seen)} }",
            detail=f"started {list(changes.started)}, stopped {list(changes.stopped)}, bounced {list(changes.bounced)}",
        )
        self._change_channels(changes, seen, changed)
        if changes.started:
            context.add_live_brokers(seen[b] for b in changes.started)
            await self._start_up(changes.started, changed)
        if changes.bounced:
            context.remove_live_brokers(changes.bounced)
            if changes.started:
                self._emit_step(BrokerChangeStep.BOUNCED_GONE, changed)
            await self._fail(changes.bounced, changed)
            context.add_live_brokers(seen[b] for b in changes.bounced)
            self._emit_step(BrokerChangeStep.BOUNCED_BACK, changed)
            await self._start_up(changes.bounced, changed)
        if changes.stopped:
            context.remove_live_brokers(changes.stopped)
            if changes.started or changes.bounced:
                self._emit_step(BrokerChangeStep.STOPPED, changed)
            await self._fail(changes.stopped, changed)

    async def _start_up(self, started: Sequence[BrokerId], cause: int) -> None:
        await self._availability.on_broker_startup(started, cause)
        await self.register_modifications(started, cause)

    async def _fail(self, failed: Sequence[BrokerId], cause: int) -> None:
        await self._availability.on_broker_failure(failed, cause)
        self.unregister_modifications(failed)

    def _emit_step(self, step: BrokerChangeStep, cause: int) -> None:
        """Record a step of the change. Changes are handled one after the other; later elections see these live brokers."""
        alive = self._context.live_or_shutting_down_broker_ids
        self._sink.emit(EventKind.BROKER_CHANGE, cause, step=step.value, brokers=alive)

    def _change_channels(self, changes: BrokerChanges, seen: Seen, cause: int) -> None:
        channels = self._channels
        for broker in changes.started:
            channels.add_broker(seen[broker][0], cause)
        for broker in changes.bounced:  # the queued requests were meant for the broker's former registration
            channels.remove_broker(broker, cause)
        for broker in changes.bounced:
            channels.add_broker(seen[broker][0], cause)
        for broker in changes.stopped:
            channels.remove_broker(broker, cause)

    async def process_broker_modifications(self, broker_id: BrokerId, cause: int) -> None:
        """Re-read one registration, which re-arms the watch. Only other endpoints or features count as a change.

        The connection to the broker stays as it is.
        """
        context = self._context
        if self._quarantine.is_on:
            # A registration that cannot be read any more is reported; its broker stays what it was.
            info = {info.broker_id: info for info, _ in await self.read_live_brokers(cause)}.get(broker_id)
        else:
            info = await self._znodes.read(broker_id, cause)
        known = context.live_brokers.get(broker_id)
        if info is None or known is None or (info.endpoints, info.features) == (known.endpoints, known.features):
            return
        context.live_brokers[broker_id] = info
        changed = self._sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            broker_id=broker_id,
            brokers=context.live_or_shutting_down_broker_ids,
            detail=f"broker {broker_id} now listens at {', '.join(map(str, info.endpoints))}",
        )
        await self._availability.on_broker_update(changed)
