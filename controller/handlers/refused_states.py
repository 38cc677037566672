"""Leader epochs that brokers refuse as too low, which a hardened controller raises.

A broker refuses LeaderAndIsr whose leader epoch is not above the one that it knows. It does so each time that a known state
is sent again, which is in order. But a broker that refuses the state of an election that this controller has just held knows
a partition of the same name from before: of a topic that was deleted without it, or whose state was deleted by hand. Kafka's
controller takes no notice, and the partition is not served until its leader epoch happens to be raised.
"""

from kcsim.controller.context import ControllerContext
from kcsim.controller.failures import PARTITION_FAILURES
from kcsim.controller.handlers.leader_epochs import LeaderEpochs
from kcsim.controller.requests import ErrorCode, LeaderAndIsrResponse
from kcsim.controller.scope import ControllerScope
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition


class RefusedStateHandler:
    """The handler of partitions that a broker has refused in a LeaderAndIsrResponse."""

    def __init__(self, scope: ControllerScope, leader_epochs: LeaderEpochs) -> None:
        self._context: ControllerContext = scope.context
        self._is_on = scope.config.hardening.restores_states
        self._leader_epochs = leader_epochs
        self._found: dict[TopicPartition, LeaderEpoch] = {}
        self._accepted: dict[tuple[BrokerId, TopicPartition], LeaderEpoch] = {}

    def remember_found(self) -> None:
        """Remember the leader epochs that a failover has found: they are not of this controller's own elections."""
        if self._is_on:
            self._found = {tp: state.leader_and_isr.leader_epoch for tp, state in self._context.leadership.items()}
            self._accepted.clear()

    def forget_deleted(self) -> None:
        """Forget what brokers have accepted of partitions that do not exist any more."""
        known = self._context.assignments
        self._found = {tp: epoch for tp, epoch in self._found.items() if tp in known}
        self._accepted = {(broker, tp): epoch for (broker, tp), epoch in self._accepted.items() if tp in known}

    async def process_leader_and_isr_response(self, broker: BrokerId, response: LeaderAndIsrResponse, cause: int) -> None:
        """Raise the leader epochs of the partitions whose state the broker refused, although this controller made it."""
        if not self._is_on or response.error is not ErrorCode.NONE:
            return
        for tp, error in response.partition_errors.items():
            known = self._context.leadership.get(tp)
            if known is None or self._context.is_queued_for_deletion(tp.topic):
                continue
            epoch = known.leader_and_isr.leader_epoch
            if error is ErrorCode.NONE:
                self._accepted[broker, tp] = epoch
            elif error is ErrorCode.STALE_CONTROLLER_EPOCH and epoch not in (
                self._found.get(tp),
                self._accepted.get((broker, tp)),
            ):
                await self._raise(tp, cause)

    async def _raise(self, tp: TopicPartition, cause: int) -> None:
        try:
            await self._leader_epochs.update_leader_epoch_and_send_request(tp, cause)
        except PARTITION_FAILURES:
            return  # the state is gone or in quarantine, which was reported when it was read
