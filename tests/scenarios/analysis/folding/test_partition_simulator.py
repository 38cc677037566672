"""One partition whose controller the replay simulates, one controller action at a time."""

from collections.abc import Sequence

import pytest

from kcsim.scenarios.analysis.folding.controller_action import (
    BrokerBits,
    ControllerAction,
    ControllerActionKind,
    ControllerView,
)
from kcsim.scenarios.analysis.folding.partition_simulator import PartitionSimulator
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey, StateZnode
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS, WhatIf
from kcsim.vocabulary import BrokerId, ReplicaAssignment

KEY = PartitionKey("batch", "run", "orders", 0)
ALL = (1, 2, 3)


class Life:
    """A cluster of three brokers with one controller after the other; each controller action gets the next event number."""

    def __init__(self) -> None:
        self.brokers = BrokerBits(ALL)
        self.moments: list[ControllerAction] = []
        self._live = self.brokers.set_of(ALL)
        self._shutting_down = 0
        self._epoch = 1
        self._seq = 0
        self.takes_over(epoch=1)

    def takes_over(self, epoch: int) -> None:
        self._epoch = epoch
        self._happens(ControllerActionKind.FAILOVER, (), Trigger.CONTROLLER_FAILOVER)

    def stops(self, *brokers: int, trigger: Trigger = Trigger.BROKER_FAILED) -> None:
        self._live &= ~self.brokers.set_of(brokers)
        self._shutting_down &= ~self.brokers.set_of(brokers)
        self._happens(ControllerActionKind.STOPPED, brokers, trigger)

    def dies_unseen(self, *brokers: int) -> None:
        self._live &= ~self.brokers.set_of(brokers)

    def starts(self, *brokers: int, trigger: Trigger = Trigger.BROKER_STARTED) -> None:
        self._live |= self.brokers.set_of(brokers)
        self._happens(ControllerActionKind.STARTED, brokers, trigger)

    def wants_to_stop(self, broker: int) -> None:
        self._shutting_down |= self.brokers.bit(broker)
        self._happens(ControllerActionKind.SHUTTING_DOWN, (broker,), Trigger.CONTROLLED_SHUTDOWN)

    def rebalances(self, broker: int) -> None:
        self._happens(ControllerActionKind.REBALANCE, (broker,), Trigger.LEADER_REBALANCE)

    def fails_log_dir(self, broker: int) -> None:
        concerned = frozenset({KEY[2:]})
        self._happens(ControllerActionKind.LOG_DIRS_FAILED, (broker,), Trigger.LOG_DIR_FAILED, concerned)

    def pause(self) -> int:
        """Return a seq between two controller actions, at which another event can happen."""
        self._seq += 10
        return self._seq - 5

    def _happens(
        self,
        kind: ControllerActionKind,
        brokers: tuple[int, ...],
        trigger: Trigger,
        concerned: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self._seq += 10
        view = ControllerView(self._epoch, self._live, self._shutting_down, since=self._epoch)
        self.moments.append(
            ControllerAction(self._seq, self._seq * 100, kind, view, brokers, trigger=trigger, concerned=concerned)
        )

    def fold(self, replicas: Sequence[int] = ALL, what_if: WhatIf = AS_IT_WAS) -> PartitionSimulator:
        """Return the simulator of a partition that was created as soon as there was a controller."""
        fold = PartitionSimulator(KEY, Timeline(brokers=self.brokers, actions=self.moments), what_if)
        fold.created(ReplicaAssignment(tuple(BrokerId(b) for b in replicas)), 11, 1_100)
        return fold


@pytest.fixture
def life() -> Life:
    return Life()


def story(fold: PartitionSimulator) -> list[tuple[str, int | None, int | None, tuple[int, ...]]]:
    return [(row.kind, row.leader, row.leader_epoch, tuple(row.isr)) for row in fold.take()]


def test_a_new_partition_is_led_by_the_first_of_its_replicas(life: Life) -> None:
    assert story(life.fold()) == [("LeaderElection", 1, 0, (1, 2, 3))]


def test_without_a_controller_nobody_leads_until_there_is_one() -> None:
    life = Life()
    life.moments.clear()
    life.takes_over(epoch=2)
    fold = PartitionSimulator(KEY, Timeline(brokers=life.brokers, actions=life.moments))
    fold.created(ReplicaAssignment((BrokerId(2), BrokerId(1))), 5, 500)
    assert story(fold) == []
    fold.advance()
    assert story(fold) == [("LeaderElection", 2, 0, (2, 1))]


def test_the_leader_fails_and_another_one_takes_over_at_the_cost_of_one_epoch(life: Life) -> None:
    life.stops(1)
    fold = life.fold()
    fold.advance()
    assert story(fold)[1:] == [("LeaderElection", 2, 1, (2, 3))]


def test_a_follower_fails_and_leaves_the_isr(life: Life) -> None:
    life.stops(3)
    fold = life.fold()
    fold.advance()
    assert story(fold)[1:] == [("ReplicaRemovedFromIsr", 1, 1, (1, 2))]


def test_the_last_in_sync_stays_in_the_isr_and_has_to_come_back_first(life: Life) -> None:
    """Every broker that starts or stops makes the controller try an election again, in vain."""
    life.stops(1)
    life.stops(2)
    life.starts(1)
    life.starts(2)
    fold = life.fold((1, 2))
    fold.advance()
    assert story(fold)[2:] == [
        ("LeaderElection", None, 1, (2,)),
        ("ReplicaRemovedFromIsr", -1, 2, (2,)),
        ("LeaderElection", None, 2, (2,)),
        ("LeaderElection", 2, 3, (2,)),
    ]


def test_where_unclean_elections_are_allowed_any_live_replica_leads(life: Life) -> None:
    life.stops(1)
    life.stops(2)
    life.starts(1)
    fold = life.fold((1, 2), WhatIf(unclean=True))
    fold.advance()
    rows = fold.take()
    assert [(row.leader, tuple(row.isr), row.clean) for row in rows[-1:]] == [(1, (1,), False)]


def test_a_single_topic_can_be_allowed_what_others_are_not(life: Life) -> None:
    life.stops(1)
    life.stops(2)
    life.starts(1)
    others = life.fold((1, 2), WhatIf(unclean_topics={"clicks": True}))
    ours = life.fold((1, 2), WhatIf(unclean=False, unclean_topics={"orders": True}))
    for fold in (others, ours):
        fold.advance()
    assert others.stored == StateZnode(None, 2, (2,), 1, 2)
    assert ours.stored == StateZnode(1, 3, (1,), 1, 3)


def test_a_broker_that_asks_to_stop_hands_over_what_it_leads_and_leaves_the_rest(life: Life) -> None:
    life.wants_to_stop(1)
    life.stops(1)
    fold = life.fold()
    fold.advance()
    assert story(fold)[1:] == [("LeaderElection", 2, 1, (2, 3))]
    fold = life.fold((2, 1))
    fold.advance()
    assert story(fold)[1:] == [("ReplicaRemovedFromIsr", 2, 1, (2,))]


def test_a_broker_that_asks_to_stop_leads_no_more_before_it_stops(life: Life) -> None:
    life.wants_to_stop(1)
    fold = life.fold()
    fold.advance()
    assert [(row.kind, row.leader, row.trigger) for row in fold.take()[1:]] == [("LeaderElection", 2, "ControlledShutdown")]


def test_a_broker_whose_log_directory_fails_leads_no_more_and_leaves_the_isr(life: Life) -> None:
    life.fails_log_dir(1)
    fold = life.fold()
    fold.advance()
    assert story(fold)[1:] == [("LeaderElection", 2, 1, (2, 3))]


def test_what_follows_from_an_action_has_its_number_and_time(life: Life) -> None:
    life.stops(1)
    fold = life.fold()
    fold.advance()
    last, action = fold.take()[-1], life.moments[-1]
    assert (last.seq, last.t_ms, last.cause) == (action.seq, action.t_ms, action.seq)


def test_a_bounced_broker_loses_its_leadership_though_nobody_saw_it_go(life: Life) -> None:
    life.stops(1, trigger=Trigger.BROKER_BOUNCED)
    life.starts(1, trigger=Trigger.BROKER_BOUNCED)
    fold = life.fold()
    fold.advance()
    rows = fold.take()
    assert [(row.kind, row.leader, row.trigger) for row in rows[1:]] == [("LeaderElection", 2, "BrokerBounced")]


def test_a_new_controller_takes_the_dead_out_and_then_elects_which_are_two_epochs(life: Life) -> None:
    life.dies_unseen(1)
    life.takes_over(epoch=2)
    fold = life.fold()
    fold.advance()
    assert story(fold)[1:] == [("ReplicaRemovedFromIsr", -1, 1, (2, 3)), ("LeaderElection", 2, 2, (2, 3))]
    assert fold.stored is not None
    assert fold.stored.controller_epoch == 2


def test_who_has_caught_up_joins_the_isr_and_can_be_given_the_lead_back(life: Life) -> None:
    life.stops(1)
    life.starts(1)
    caught_up = life.pause()
    life.rebalances(1)
    fold = life.fold()
    assert fold.caught_up(1, caught_up, 0)
    fold.advance()
    assert story(fold)[2:] == [("IsrExpanded", 2, 1, (2, 3, 1)), ("LeaderElection", 1, 2, (2, 3, 1))]


def test_the_lead_is_given_back_on_request_where_it_is_not_with_the_preferred_leader_yet(life: Life) -> None:
    life.stops(1)
    life.starts(1)
    caught_up, asked, again = life.pause(), life.pause(), life.pause()
    fold = life.fold()
    assert fold.caught_up(1, caught_up, 0)
    fold.preferred_election(asked, 7)
    fold.preferred_election(again, 8)
    assert [(row.kind, row.leader, row.seq, row.t_ms) for row in fold.take()[3:]] == [("LeaderElection", 1, asked, 7)]


def test_no_leader_is_elected_on_request_for_a_partition_that_is_not_there(life: Life) -> None:
    asked = life.pause()
    fold = PartitionSimulator(KEY, Timeline(brokers=life.brokers, actions=life.moments))
    fold.preferred_election(asked, 0)
    assert story(fold) == []


def test_the_lead_is_given_back_when_the_controller_looks_for_imbalance(life: Life) -> None:
    life.stops(1)
    life.starts(1)
    caught_up, looks = life.pause(), life.pause()
    fold = life.fold()
    assert fold.caught_up(1, caught_up, 0)
    fold.rebalanced(looks, 7)
    assert [(row.kind, row.leader, row.seq, row.t_ms) for row in fold.take()[3:]] == [("LeaderElection", 1, looks, 7)]


def test_leadership_is_not_given_to_a_replica_out_of_sync(life: Life) -> None:
    life.stops(1)
    life.starts(1)
    life.rebalances(1)
    fold = life.fold()
    fold.advance()
    assert fold.stored is not None
    assert fold.stored.leader == 2


def test_what_makes_no_sense_is_rejected(life: Life) -> None:
    """A dead or in-sync replica cannot catch up, a leader cannot fall behind, and nothing happens without a leader."""
    life.stops(3)
    later = life.pause()
    fold = life.fold()
    assert not fold.caught_up(3, later, 0)
    assert not fold.caught_up(2, later, 0)
    assert not fold.lags(1, later, 0)
    assert not fold.lags(3, later, 0)
    assert fold.lags(2, later, 0)
    assert not fold.lags(2, later, 0)


def test_a_reassignment_waits_for_who_is_new_and_then_leaves_the_old(life: Life) -> None:
    asked, caught_up = life.pause(), life.pause()
    fold = life.fold((1, 2))
    fold.reassigned((3, 2), asked, 0)
    assert fold.assignment == ReplicaAssignment((BrokerId(3), BrokerId(2), BrokerId(1)), (BrokerId(3),), (BrokerId(1),))
    assert fold.caught_up(3, caught_up, 0)
    assert [kind for kind, *_ in story(fold)[1:]] == [
        *("PartitionReassignment", "LeaderEpochBumped", "IsrExpanded"),
        *("LeaderElection", "ReplicaRemovedFromIsr", "PartitionReassignment"),
    ]
    assert fold.stored == StateZnode(3, 3, (2, 3), 1, 4)
    assert fold.assignment == ReplicaAssignment((BrokerId(3), BrokerId(2)))


def test_a_deleted_partition_is_nobodys_and_a_new_one_of_its_name_begins_anew(life: Life) -> None:
    begins, gone, again = life.pause(), life.pause(), life.pause()
    fold = life.fold((1, 2))
    fold.deletion((1, 2), begins, 0)
    fold.deleted(gone, 0)
    assert fold.stored is None
    fold.created(ReplicaAssignment((BrokerId(2),)), again, 0)
    rows = fold.take()
    assert [row.n for row in rows] == list(range(len(rows)))
    assert [(row.kind, row.leader) for row in rows[-2:]] == [("ZnodeDeleted", None), ("LeaderElection", 2)]
    assert fold.stored == StateZnode(2, 0, (2,), 1, 0)


def test_nothing_is_decided_any_more_for_a_partition_that_is_to_be_deleted(life: Life) -> None:
    begins = life.pause()
    life.stops(1)
    life.takes_over(epoch=2)
    fold = life.fold((1, 2))
    fold.deletion((1, 2), begins, 0)
    fold.take()
    fold.advance()
    assert story(fold) == []


def test_moments_of_brokers_that_host_nothing_of_it_are_passed_over(life: Life) -> None:
    for _ in range(3):
        life.stops(3)
        life.starts(3)
    fold = life.fold((1, 2))
    assert fold.next_place() == len(life.moments)
