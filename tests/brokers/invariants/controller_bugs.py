"""Bugs of a controller: each removes one of our decisions, or makes it wrong, while it is planted."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.channels.channel_manager import Callback, ControllerChannelManager
from kcsim.controller.decisions.election import Election, ElectionRule
from kcsim.controller.decisions.election import elect_for_new_partition as elect_for_new_partition_rightly
from kcsim.controller.decisions.election import elect_offline as elect_offline_rightly
from kcsim.controller.decisions.isr_removal import without_replica as without_replica_rightly
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import ElectionTrigger, ElectionType
from kcsim.controller.handlers.elections import ElectionHandlers
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import (
    LeaderAndIsrRequest,
    StateChangeRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.controller.state_machines import partition_state_machine, replica_state_machine
from kcsim.controller.state_machines.partition_state_machine import PartitionStateMachine
from kcsim.controller.state_machines.replica_state_machine import ReplicaStateMachine
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ANY_VERSION, BrokerId, ControllerEpoch, LeaderAndIsr, TopicPartition
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.zk.kafka.controller_election import ControllerElection, Elected
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.preferred_elections import PreferredElectionZnodes
from kcsim.zk.memory import tree
from kcsim.zk.operations import Check, WriteOp
from kcsim.znodes.paths import CONTROLLER_EPOCH


async def nothing(*_: Any) -> None:
    """Do nothing, in place of the action that should happen."""


# --- election of the controller --------------------------------------------------------------------------------------------


@contextmanager
def the_controller_epoch_is_raised_by_two() -> Iterator[None]:
    rightly = ControllerElection._epoch_to_raise

    async def one_too_many(self: ControllerElection, cause: Cause) -> Elected:
        epoch, version = await rightly(self, cause)
        return ControllerEpoch(epoch + 1), version

    with patch.object(ControllerElection, "_epoch_to_raise", one_too_many):
        yield


@contextmanager
def who_has_lost_the_election_takes_over_too() -> Iterator[None]:
    rightly = KafkaController._elect

    async def elect(self: KafkaController, cause: int) -> None:
        await rightly(self, cause)
        epoch = await self._kafka_zk.controller.read_epoch(cause)
        if not self.is_active and epoch is not None:
            self.active_controller_id = self.broker_id
            self.context.epoch, self.context.epoch_zk_version = epoch
            await self._on_controller_failover(cause)

    with patch.object(KafkaController, "_elect", elect):
        yield


@contextmanager
def every_failover_fails_in_the_end() -> Iterator[None]:
    rightly = KafkaController._on_controller_failover

    async def fail_over(self: KafkaController, won: int) -> None:
        await rightly(self, won)
        raise IllegalStateError("the last step of the failover")

    with patch.object(KafkaController, "_on_controller_failover", fail_over):
        yield


@contextmanager
def nobody_stands_for_election_twice() -> Iterator[None]:
    rightly = KafkaController._elect

    async def elect(self: KafkaController, cause: int) -> None:
        if not hasattr(self, "has_stood"):
            self.has_stood = True  # type: ignore[attr-defined]
            await rightly(self, cause)

    with patch.object(KafkaController, "_elect", elect):
        yield


@contextmanager
def transactions_are_done_whatever_they_check() -> Iterator[None]:
    """Plant a bug of ZooKeeper: a controller that has been replaced completes its writes in progress."""
    rightly = tree.ZnodeTree._apply

    def apply(self: tree.ZnodeTree, op: WriteOp, transaction: tree._Transaction) -> tree.Written:
        if isinstance(op, Check) and op.path == CONTROLLER_EPOCH:
            op = Check(op.path, ANY_VERSION)
        return rightly(self, op, transaction)

    with patch.object(tree.ZnodeTree, "_apply", apply):
        yield


# --- leaders and ISRs ------------------------------------------------------------------------------------------------------


@contextmanager
def another_leader_comes_without_another_epoch() -> Iterator[None]:
    def led_by(self: LeaderAndIsr, leader: BrokerId | None) -> LeaderAndIsr:
        return replace(self, leader=leader)

    with patch.object(LeaderAndIsr, "led_by", led_by):
        yield


@contextmanager
def a_leader_taken_out_of_the_isr_goes_on_leading() -> Iterator[None]:
    def without_replica(stored: LeaderAndIsr, replica: BrokerId) -> LeaderAndIsr | None:
        left = without_replica_rightly(stored, replica)
        return left and replace(left, leader=stored.leader)

    with patch.object(replica_state_machine, "without_replica", without_replica):
        yield


@contextmanager
def the_isr_is_not_asked_when_a_leader_is_lost() -> Iterator[None]:
    def elect_offline(
        assignment: Sequence[BrokerId],
        stored: LeaderAndIsr,
        online: Collection[BrokerId],
        unclean_allowed: bool,
        marks_recovery: bool,
    ) -> Election:
        anybody = elect_offline_rightly(assignment, stored, online, unclean_allowed=True)
        return replace(anybody, rule=ElectionRule.ALIVE_AND_IN_ISR)

    with patch.object(partition_state_machine, "elect_offline", elect_offline):
        yield


@contextmanager
def a_new_isr_is_everybody_who_lives() -> Iterator[None]:
    def elect(assignment: Sequence[BrokerId], online: Collection[BrokerId]) -> Election:
        election = elect_for_new_partition_rightly(assignment, online)
        return replace(election, elected=election.elected and replace(election.elected, isr=tuple(sorted(online))))

    with patch.object(partition_state_machine, "elect_for_new_partition", elect):
        yield


@contextmanager
def a_failover_forgets_partitions_without_a_leader() -> Iterator[None]:
    rightly = PartitionStateMachine.startup

    async def startup(self: PartitionStateMachine, cause: int) -> None:
        with patch.object(PartitionStateMachine, "trigger_online_state_change", nothing):
            await rightly(self, cause)

    with patch.object(PartitionStateMachine, "startup", startup):
        yield


@contextmanager
def who_dies_stays_in_the_isr() -> Iterator[None]:
    async def remove(
        self: ReplicaStateMachine, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int
    ) -> list[TopicPartition]:
        return list(partitions)

    with patch.object(ReplicaStateMachine, "_remove_from_isr", remove):
        yield


@contextmanager
def the_rebalance_elects_leaders_that_lead_already() -> Iterator[None]:
    async def rebalance(self: ElectionHandlers, cause: int) -> None:
        everything = list(self._context.assignments)
        await self._on_replica_election(everything, ElectionType.PREFERRED, ElectionTrigger.AUTO_TRIGGERED, cause)

    with patch.object(ElectionHandlers, "_rebalance", rebalance):
        yield


# --- requested work --------------------------------------------------------------------------------------------------------


@contextmanager
def notifications_of_isrs_are_read_and_left() -> Iterator[None]:
    with patch.object(IsrChangeZnodes, "delete", nothing):
        yield


@contextmanager
def a_reassignment_forgets_to_remove() -> Iterator[None]:
    with patch.object(ReassignmentHandlers, "_stop_replicas", nothing):
        yield


@contextmanager
def a_reassignment_is_not_gone_on_with() -> Iterator[None]:
    with patch.object(ReassignmentHandlers, "process_isr_change", nothing):
        yield


@contextmanager
def a_deletion_stops_half_way() -> Iterator[None]:
    with patch.object(TopicDeletionManager, "process_stop_replica_response", nothing):
        yield


@contextmanager
def a_deletion_forgets_the_settings() -> Iterator[None]:
    with patch.object(ConfigZnodes, "delete_topics", nothing):
        yield


@contextmanager
def a_preferred_election_is_held_and_left() -> Iterator[None]:
    with patch.object(PreferredElectionZnodes, "delete", nothing):
        yield


# --- recipients of requests ------------------------------------------------------------------------------------------------

Send = Callable[[ControllerChannelManager, BrokerId, StateChangeRequest, Callback | None, int], None]


@contextmanager
def _request_never_sent(broker: int, request: type) -> Iterator[None]:
    rightly: Send = ControllerChannelManager.send_request

    def send(
        self: ControllerChannelManager, to: BrokerId, what: StateChangeRequest, callback: Callback | None, cause: int
    ) -> None:
        if to != broker or not isinstance(what, request):
            rightly(self, to, what, callback, cause)

    with patch.object(ControllerChannelManager, "send_request", send):
        yield


@contextmanager
def broker_2_is_not_notified_of_what_it_leads() -> Iterator[None]:
    with _request_never_sent(2, LeaderAndIsrRequest):
        yield


@contextmanager
def broker_3_is_not_notified_of_what_it_follows() -> Iterator[None]:
    with _request_never_sent(3, LeaderAndIsrRequest):
        yield


@contextmanager
def broker_1_gets_no_metadata() -> Iterator[None]:
    with _request_never_sent(1, UpdateMetadataRequest):
        yield


@contextmanager
def nobody_is_notified_of_a_broker_that_dies() -> Iterator[None]:
    with patch.object(KafkaControllerRequestBatch, "send_update_metadata", nothing):
        yield


@contextmanager
def brokers_do_not_forget_what_is_deleted() -> Iterator[None]:
    with patch.object(UpdateMetadataPartitionState, "is_being_deleted", False):
        yield
