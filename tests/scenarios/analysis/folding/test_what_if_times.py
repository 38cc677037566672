"""When things happen in a what-if that did not happen in the history: replicas catch up, leadership moves back."""

from collections.abc import Iterable, Sequence
from functools import partial

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.controller_action import (
    BrokerBits,
    ControllerAction,
    ControllerActionKind,
    ControllerView,
)
from kcsim.scenarios.analysis.folding.folding_runs import fold_of_many
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact, fact_of
from kcsim.scenarios.analysis.folding.timeline import Timeline, TopicTimeline
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.folding.what_if import FIRST_REBALANCE_AFTER_MS, WhatIf
from kcsim.scenarios.analysis.folding.what_if_replay import fold_what_if
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicState
from kcsim.znodes import partition_state_text

STATE = "/brokers/topics/orders/partitions/0/state"
ALL = (1, 2, 3)
ENDED_MS = 60_000


class History:
    """The history of orders-0, in which each event's number is its time; it does not record what controllers decided."""

    def __init__(self, *replicas: int) -> None:
        self.facts: list[ReplayFact] = []
        self._brokers = BrokerBits(ALL)
        self._live = self._brokers.set_of(ALL)
        self._actions: list[ControllerAction] = []
        self._assignment = ReplicaAssignment(tuple(map(BrokerId, replicas)))
        self._version = -1
        self.takes_over(1_000)
        self._takes(1_101, EventKind.LEADER_ELECTION, replicas[0], 0, replicas)

    def takes_over(self, at: int) -> None:
        self._acts(at, ControllerActionKind.FAILOVER, (), Trigger.CONTROLLER_FAILOVER)

    def stops(self, at: int, broker: int) -> None:
        self._live &= ~self._brokers.bit(broker)
        self._acts(at, ControllerActionKind.STOPPED, (broker,), Trigger.BROKER_FAILED)

    def starts(self, at: int, broker: int) -> None:
        self._live |= self._brokers.bit(broker)
        self._acts(at, ControllerActionKind.STARTED, (broker,), Trigger.BROKER_STARTED)

    def elects(self, at: int, leader: int, epoch: int, isr: Sequence[int]) -> None:
        self._takes(at, EventKind.LEADER_ELECTION, leader, epoch, isr)

    def removes(self, at: int, leader: int, epoch: int, isr: Sequence[int]) -> None:
        self._takes(at, EventKind.REPLICA_REMOVED_FROM_ISR, leader, epoch, isr)

    def leader_writes(self, at: int, leader: int, epoch: int, isr: Sequence[int]) -> None:
        self._version += 1
        kind = EventKind.ZNODE_CHANGED if self._version else EventKind.ZNODE_CREATED
        data = partition_state_text(leader, epoch, isr, 1)
        self._happens(Event(at, at, "zookeeper", kind, path=STATE, data=data, zk_version=self._version))

    def under(self, what_if: WhatIf) -> list[Transition]:
        """Return the transitions of the partition under a what-if."""
        created = 1_100, 1_100, None, TopicState({0: self._assignment})
        timeline = Timeline(
            brokers=self._brokers,
            actions=self._actions,
            topics={"orders": TopicTimeline([created])},
            ended_ms=ENDED_MS,
        )
        rows = (("batch", "run", fact) for fact in self.facts)
        return _joined(fold_of_many(rows, {("batch", "run"): timeline}, partial(fold_what_if, what_if)))

    def _takes(self, at: int, kind: EventKind, leader: int, epoch: int, isr: Sequence[int]) -> None:
        """Record a decision of the controller, and its write just after it."""
        decided = Event(
            at,
            at,
            "broker-1",
            kind,
            topic="orders",
            partition=0,
            leader=leader,
            leader_epoch=epoch,
            isr=tuple(isr),
            controller_epoch=1,
        )
        self._happens(decided)
        self.leader_writes(at + 1, leader, epoch, isr)

    def _happens(self, event: Event) -> None:
        fact = fact_of(event)
        assert fact is not None
        self.facts.append(fact)

    def _acts(self, at: int, kind: ControllerActionKind, brokers: tuple[int, ...], trigger: Trigger) -> None:
        view = ControllerView(1, self._live, since=1_000)
        self._actions.append(ControllerAction(at, at, kind, view, brokers, trigger=trigger))


def _joined(folded: Iterable[tuple[list[Transition], object]]) -> list[Transition]:
    return [row for rows, _ in folded for row in rows]


def test_a_replica_catches_up_in_the_time_that_others_took_in_the_history() -> None:
    """Broker 2 needed 700 ms; that it stopped once more before it had caught up says nothing about how long it takes."""
    history = History(1, 2)
    history.stops(2_000, 2)
    history.removes(2_001, 1, 1, (1,))
    history.starts(3_000, 2)
    history.stops(3_100, 2)
    history.starts(4_000, 2)
    history.leader_writes(4_700, 1, 1, (1, 2))
    history.stops(5_000, 3)
    history.starts(6_000, 3)
    rows = history.under(WhatIf(placement={("orders", 0): (1, 3)}))
    expanded = [(row.t_ms, tuple(row.isr)) for row in rows if row.kind == EventKind.ISR_EXPANDED]
    assert expanded == [(6_700, (1, 3))]


def caught_up_at(at: int) -> History:
    """Return a history in which the preferred leader, broker 1, fails, and is back in the ISR at a given time."""
    history = History(1, 2)
    history.stops(2_000, 1)
    history.elects(2_001, 2, 1, (2,))
    history.starts(3_000, 1)
    history.leader_writes(at, 2, 1, (2, 1))
    return history


def given_back_at(history: History) -> list[int]:
    """Return when leadership moves back, if the controller looks every second."""
    rows = history.under(WhatIf(preferred_rebalance=True, rebalance_interval_ms=1_000))
    return [row.t_ms for row in rows if row.trigger == Trigger.LEADER_REBALANCE]


FIRST_MS = 1_000 + FIRST_REBALANCE_AFTER_MS


@pytest.mark.parametrize(
    ("caught_up", "given_back"),
    [
        (FIRST_MS - 1_000, FIRST_MS),
        (FIRST_MS - 1, FIRST_MS),
        (FIRST_MS, FIRST_MS + 1_000),
        (FIRST_MS + 2_500, FIRST_MS + 3_000),
        (FIRST_MS + 3_000, FIRST_MS + 4_000),
    ],
)
def test_leadership_moves_back_at_the_next_check_after_the_leader_caught_up(caught_up: int, given_back: int) -> None:
    """The checks have fixed times; what happens at the very time of a check is after it."""
    assert given_back_at(caught_up_at(caught_up)) == [given_back]


def test_the_checks_begin_anew_with_each_controller() -> None:
    history = caught_up_at(FIRST_MS + 2_500)
    history.takes_over(FIRST_MS + 2_600)
    assert given_back_at(history) == [FIRST_MS + 2_600 + FIRST_REBALANCE_AFTER_MS]


def test_leadership_moves_back_only_after_the_preferred_leader_caught_up_in_the_what_if() -> None:
    """Broker 3 is back before the first check, and catches up after it."""
    history = History(1, 2)
    history.stops(FIRST_MS - 1_000, 3)
    history.starts(FIRST_MS - 500, 3)
    what_if = WhatIf(
        placement={("orders", 0): (3, 1)}, catch_up_ms=700, preferred_rebalance=True, rebalance_interval_ms=1_000
    )
    moved = [(row.t_ms, row.leader) for row in history.under(what_if) if row.trigger == Trigger.LEADER_REBALANCE]
    assert moved == [(FIRST_MS + 1_000, 3)]
