"""Changes of ISRs: those that leaders ask for, and the notifications of those that they have written themselves.

Up to protocol version 2.6 a leader writes its ISR to ZooKeeper, and a child of /isr_change_notification a little later. From
2.7 on it sends AlterIsr to the controller, which writes the ISR.

Source: Kafka 2.8, KafkaController.processIsrChangeNotification and processAlterIsr; 3.9, processAlterPartition;
docs/kafka/controller.md 9.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.events import AlterIsrReceived, IsrChangeNotification
from kcsim.controller.failures import EXPECTED_FAILURES
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.requests import AlterIsrRequest, AlterIsrResponse, ErrorCode
from kcsim.controller.scope import ControllerScope
from kcsim.controller.watches import ControllerWatches
from kcsim.vocabulary import LeaderAndIsr, PartitionState, TopicPartition
from kcsim.zk.errors import BadVersionError, ControllerMovedError, ZooKeeperError
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.znodes import paths


class IsrChangeHandler:
    """The handler of IsrChangeNotification, with the watch that this event needs, and of AlterIsrReceived."""

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: IsrChangeZnodes,
        states: PartitionStateZnodes,
        reassignments: ReassignmentHandlers,
        own: KafkaControllerRequestBatch,
    ) -> None:
        self._context = scope.context
        self._checks_broker_epochs = scope.config.protections.broker_epoch
        self._checks_eligibility = scope.config.capabilities.replica_eligibility
        self._checks_versions = scope.config.capabilities.isr_version_checks
        self._knows_own_writes = scope.config.hardening.ends_pending_isr_changes
        self._watches = watches
        self._znodes = znodes
        self._states = states
        self._reassignments = reassignments
        self._own = own

    def register(self) -> None:
        """Register a handler for the parent znode; the next listing arms the watch."""
        self._watches.watch_children(paths.ISR_CHANGE_NOTIFICATION, IsrChangeNotification())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.ISR_CHANGE_NOTIFICATION)

    async def delete_all(self, cause: int) -> None:
        """Delete every notification without reading it, because a new controller reads all state afresh.

        The listing arms the watch.
        """
        names = await self._znodes.names(cause)
        await self._znodes.delete(names, self._context.epoch_zk_version, cause)

    async def process_isr_change_notification(self, cause: int) -> None:
        """Re-read the states of all partitions named, notify all brokers, and complete reassignments that can complete now.

        Then delete exactly the notifications listed, even on an error.
        """
        context = self._context
        children = await self._znodes.names(cause)
        try:
            partitions = await self._znodes.read_partitions(children, cause)
            if partitions:
                await self._read_again(partitions, cause)
                await self._own.send_update_metadata(cause, partitions)
                for tp in partitions:
                    await self._reassignments.process_isr_change(tp, cause)
        finally:
            await self._znodes.delete(children, context.epoch_zk_version, cause)

    # --- AlterIsr

    async def process_alter_isr(self, event: AlterIsrReceived, cause: int) -> None:
        """Write the ISRs that leaders ask for, answer, notify all brokers, and complete what reassignments can complete now.

        Each state znode must have the version that the leader knows. After a refused write the controller does not read the
        state again, and the leader has to wait for the controller's next decision; so it is also when the controller has
        written the ISR, lost its connection before the answer, and written it again (recorded from 2.8.2 and 3.9.1). From
        3.3 on an ISR that names a broker that is dead or stopping is refused, which the leader may ask for again (recorded
        from 3.9.1; KIP-841).

        Raises: ControllerMovedError and EXPECTED_FAILURES, after the leader was answered. Kafka reports the former as any
            other failure here; the controller then learns from /controller alone that it has a successor.
        """
        request = event.request
        if not self._is_known(request):
            event.answer.resolve(AlterIsrResponse(ErrorCode.STALE_BROKER_EPOCH))
            return
        try:
            altered = await self._alter(request, cause)
        except (ControllerMovedError, *EXPECTED_FAILURES):
            event.answer.resolve(AlterIsrResponse(ErrorCode.UNKNOWN_SERVER_ERROR))
            raise
        event.answer.resolve(AlterIsrResponse(partitions=altered))
        for tp, result in altered.items():
            if isinstance(result, LeaderAndIsr):
                await self._reassignments.process_isr_change(tp, cause)

    def _is_known(self, request: AlterIsrRequest) -> bool:
        """Return whether the request is of the life of its broker that the controller knows."""
        known = self._context.broker_epochs.get(request.broker_id)
        return known is not None and (request.broker_epoch == known or not self._checks_broker_epochs)

    async def _alter(self, request: AlterIsrRequest, cause: int) -> dict[TopicPartition, LeaderAndIsr | ErrorCode]:
        context = self._context
        altered: dict[TopicPartition, LeaderAndIsr | ErrorCode] = {}
        wanted: dict[TopicPartition, PartitionState] = {}
        for tp, asked in request.partitions.items():
            known = context.leadership.get(tp)
            result = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known is None else self._decide(asked, known.leader_and_isr)
            if result is None:
                wanted[tp] = PartitionState(asked, context.epoch)
            else:
                altered[tp] = result
        altered.update(await self._write(wanted, cause))
        await self._read_again([tp for tp in wanted if isinstance(altered[tp], LeaderAndIsr)], cause)
        await self._own.send_update_metadata(cause, request.partitions)
        return altered

    async def _write(
        self, wanted: Mapping[TopicPartition, PartitionState], cause: int
    ) -> dict[TopicPartition, LeaderAndIsr | ErrorCode]:
        """Write states, and return the answer for each partition.

        The end of the session fails each partition and not the event, which goes on (seen on 2.8.2).
        """
        try:
            written = await self._states.set(wanted, self._context.epoch_zk_version, cause)
        except EXPECTED_FAILURES:
            return dict.fromkeys(wanted, ErrorCode.UNKNOWN_SERVER_ERROR)
        answers: dict[TopicPartition, LeaderAndIsr | ErrorCode] = {}
        for tp, result in written.items():
            if isinstance(result, ZooKeeperError):
                has_other_version = isinstance(result, BadVersionError)
                answers[tp] = ErrorCode.INVALID_UPDATE_VERSION if has_other_version else ErrorCode.UNKNOWN_SERVER_ERROR
            else:
                answers[tp] = replace(wanted[tp].leader_and_isr, zk_version=result)
        if self._knows_own_writes:
            refused = {tp: wanted[tp] for tp, answer in answers.items() if answer is ErrorCode.INVALID_UPDATE_VERSION}
            answers.update(await self._written_before(refused, cause))
        return answers

    async def _written_before(
        self, refused: Mapping[TopicPartition, PartitionState], cause: int
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the states that are as wanted although the write was refused: an earlier write of it got no answer."""
        found = await self._states.read(refused, cause) if refused else {}
        written = {tp: state.leader_and_isr for tp, state in found.items() if state.controller_epoch == self._context.epoch}
        return {
            tp: state
            for tp, state in written.items()
            if replace(refused[tp].leader_and_isr, zk_version=state.zk_version) == state
        }

    def _decide(self, asked: LeaderAndIsr, known: LeaderAndIsr) -> LeaderAndIsr | ErrorCode | None:
        """Return the answer to one partition's request; None if the ISR is to be written.

        The order of the checks is recorded from 2.8.2, 3.1.2, 3.2.3, 3.3.2, 3.4.1 and 3.9.1
        (tests/brokers/differential/test_alter_isr_answers.py).
        """
        if asked.leader_epoch < known.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if self._checks_versions and (asked.leader_epoch > known.leader_epoch or asked.zk_version > known.zk_version):
            return ErrorCode.NOT_CONTROLLER  # the leader knows of a state that only a later controller can have written
        if replace(asked, zk_version=known.zk_version) == known:
            return known  # the answer to an earlier request was lost
        if self._checks_versions and asked.zk_version != known.zk_version:
            return ErrorCode.INVALID_UPDATE_VERSION
        if self._checks_eligibility and not self._context.live_broker_ids.issuperset(asked.isr):
            return ErrorCode.INELIGIBLE_REPLICA
        return None

    async def _read_again(self, partitions: Iterable[TopicPartition], cause: int) -> None:
        for tp, state in (await self._states.read(partitions, cause)).items():
            self._context.put_leadership(tp, state)
