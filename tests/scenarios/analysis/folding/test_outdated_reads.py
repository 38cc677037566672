"""Which earlier state, and which earlier setting, a controller may have decided on."""

import msgspec

from kcsim.controller.decisions.election import ElectionRule
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.controller_action import BrokerBits, ControllerView
from kcsim.scenarios.analysis.folding.folding_runs import fold_of_many
from kcsim.scenarios.analysis.folding.replay_fact import fact_of
from kcsim.scenarios.analysis.folding.timeline import ControllerViews, Timeline, TopicTimeline
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicState
from kcsim.znodes import partition_state_text

PATH = "/brokers/topics/orders/partitions/0/state"
BEGAN = 8
"""The seq of the event with which the state change begins that an election is a part of."""


def mismatches(unclean: list[tuple[int, bool | None]], *events: Event) -> list[str]:
    """Return what a controller that knows only broker 1 to be alive should have decided otherwise."""
    bits = BrokerBits((1, 2))
    views = ControllerViews()
    views.put(1, ControllerView(1, bits.bit(1), since=1))
    assigned = TopicState({0: ReplicaAssignment((BrokerId(1), BrokerId(2)))})
    topic = TopicTimeline([(1, 0, None, assigned)], [(2, "broker-1", True)], unclean)
    timeline = Timeline(bits, {"broker-1": views}, topics={"orders": topic})
    rows = [("batch", "run", fact) for event in events if (fact := fact_of(event)) is not None]
    return [each.what for _, found in fold_of_many(rows, {("batch", "run"): timeline}) for each in found]


def state(seq: int, version: int, *isr: int) -> Event:
    kind = EventKind.ZNODE_CHANGED if version else EventKind.ZNODE_CREATED
    data = partition_state_text(isr[0], 0, isr, 1)
    return Event(seq, 0, "zookeeper", kind, path=PATH, data=data, zk_version=version)


def elected(rule: ElectionRule) -> Event:
    chosen = Event(10, 0, "broker-1", EventKind.LEADER_ELECTION, cause=BEGAN, topic="orders", partition=0, rule=rule.value)
    return msgspec.structs.replace(chosen, leader=1, leader_epoch=1, isr=(1,), replicas=(1, 2))


def test_a_setting_may_have_been_read_before_it_was_changed_during_the_state_change() -> None:
    unclean = elected(ElectionRule.UNCLEAN)
    assert mismatches([(5, True), (BEGAN + 1, False)], state(3, 0, 2), unclean) == []
    assert mismatches([(5, True), (BEGAN - 1, False)], state(3, 0, 2), unclean) == ["election"]


def test_a_state_may_have_been_read_only_since_the_state_change_began() -> None:
    clean = elected(ElectionRule.ALIVE_AND_IN_ISR)
    assert mismatches([], state(3, 0, 2, 1), state(BEGAN + 1, 1, 2), clean) == []
    assert mismatches([], state(3, 0, 2, 1), state(BEGAN - 1, 1, 2), clean) == ["election"]
