"""Raises the leader epoch of a partition without a change of its leader.

Source: Kafka 2.8, KafkaController.updateLeaderEpochAndSendRequest; docs/kafka/controller.md 12.
"""

from dataclasses import replace

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.controller.scope import ControllerScope
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import NO_LEADER, FailureReason, LeaderAndIsr, PartitionState, TopicPartition
from kcsim.zk.errors import BadVersionError, ZooKeeperError
from kcsim.zk.kafka.partition_states import PartitionStateZnodes


class LeaderEpochs:
    """Writes new leader epochs, and sends them to the replicas."""

    def __init__(self, scope: ControllerScope, states: PartitionStateZnodes, own: KafkaControllerRequestBatch) -> None:
        self._context = scope.context
        self._sink = scope.sink
        self._states = states
        self._own = own

    async def update_leader_epoch_and_send_request(self, tp: TopicPartition, cause: int) -> None:
        """Raise the leader epoch, so that every broker accepts the new replica list. Raises: as _bump_leader_epoch."""
        bumped = await self._bump_leader_epoch(tp, cause)
        await self._own.send(lambda batch: batch.epoch_bump(tp), bumped)

    async def _bump_leader_epoch(self, tp: TopicPartition, cause: int) -> int:
        """Write the same leader and ISR with the next leader epoch; repeat if the state has changed. Returns: seq.

        The seq is that of the event LeaderEpochBumped.

        Raises: IllegalStateError when there is no state; StateChangeFailedError when a later controller wrote it.
        """
        context, states = self._context, self._states
        while True:
            stored = (await states.read([tp], cause)).get(tp)
            if stored is None:
                raise IllegalStateError(f"{tp} has no state whose leader epoch could be raised", FailureReason.NO_STATE)
            if stored.controller_epoch > context.epoch:
                raise StateChangeFailedError(
                    f"the state of {tp} was written by another controller, of epoch {stored.controller_epoch}"
                )
            raised = stored.leader_and_isr.led_by(stored.leader_and_isr.leader)
            seq = self._emit_epoch_bump(tp, stored.leader_and_isr, raised, cause)
            written = await states.set({tp: PartitionState(raised, context.epoch)}, context.epoch_zk_version, seq)
            match written[tp]:
                case BadVersionError():
                    continue
                case ZooKeeperError() as error:
                    raise error
                case version:
                    context.put_leadership(tp, PartitionState(replace(raised, zk_version=version), context.epoch))
                    return seq

    def _emit_epoch_bump(self, tp: TopicPartition, before: LeaderAndIsr, after: LeaderAndIsr, cause: int) -> int:
        return self._sink.emit(
            EventKind.LEADER_EPOCH_BUMPED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            leader=NO_LEADER if after.leader is None else after.leader,
            leader_epoch=after.leader_epoch,
            isr=after.isr,
            rule=DecisionRule.NEW_REPLICAS_NEW_EPOCH.value,
            inputs=f"leader epoch {before.leader_epoch}",
        )
