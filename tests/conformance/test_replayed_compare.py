"""What two recordings of the same steps must have in common, and what may differ."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kcsim.zk.capture.write_comparison.differences import WriteDifference
from kcsim.zk.capture.write_comparison.writes import Writes, ZnodeWrite
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.recording import Recording, Step

STATE = "/brokers/topics/orders/partitions/0/state"
DO = {"kill": 2}


def state(isr: Sequence[int], *, leader: int = 1, epoch: int = 0) -> str:
    return json.dumps({"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": list(isr)})


def decided(isr: Sequence[int], **rest: int) -> ZnodeWrite:
    """Return the controller's decision on the partition."""
    return ZnodeWrite("controller", "set", STATE, state(isr, **rest), fenced=True)


def joined(isr: Sequence[int], **rest: int) -> ZnodeWrite:
    """Return the leader's write after a replica has joined."""
    return ZnodeWrite("broker-1", "set", STATE, state(isr, **rest))


CREATED = ZnodeWrite("controller", "create", STATE, state([1]), fenced=True)
ELECTED = ZnodeWrite("controller", "create", "/controller", '{"version":1,"brokerid":2,"timestamp":"17"}')


def recording(*steps: Step, final: dict[str, str | None] | None = None) -> Recording:
    return Recording("made up", "", (1, 2, 3), {}, {}, steps, (1, 3), final or {})


def step(*writes: ZnodeWrite, **rest: Any) -> Step:
    return Step(DO, controller=1, writes=writes, **rest)


def found(kafka: Sequence[Writes], ours: Sequence[Writes]) -> list[tuple[int | None, str]]:
    """Return the differences between two runs of equally many steps."""
    return where(recording(*(step(*writes) for writes in kafka)), recording(*(step(*writes) for writes in ours)))


def where(kafka: Recording, ours: Recording) -> list[tuple[int | None, str]]:
    return [(difference.step, difference.what) for difference in differences(kafka, ours)]


# --- writes ----------------------------------------------------------------------------------------------------------------


def test_the_same_writes_agree() -> None:
    assert found([(CREATED, ELECTED)], [(CREATED, ELECTED)]) == []


def test_a_changed_leader_epoch_is_reported_with_both_sides() -> None:
    kafka, ours = recording(step(decided([1], epoch=1))), recording(step(decided([1], epoch=2)))
    assert differences(kafka, ours) == [
        WriteDifference(
            1, STATE, (f"controller set fenced {state([1], epoch=1)}",), (f"controller set fenced {state([1], epoch=2)}",)
        )
    ]


def test_a_changed_controller_epoch_differs() -> None:
    kafka, ours = (ZnodeWrite("controller", "set", "/controller_epoch", epoch) for epoch in ("2", "3"))
    assert found([(kafka,)], [(ours,)]) == [(1, "/controller_epoch")]


def test_a_missing_write_differs() -> None:
    assert found([(CREATED, decided([1], epoch=1))], [(CREATED,)]) == [(1, STATE)]


def test_an_extra_write_differs() -> None:
    assert found([(CREATED,)], [(CREATED, ELECTED)]) == [(1, "/controller")]


def test_two_writes_to_one_znode_in_the_other_order_differ() -> None:
    first, second = decided([1], epoch=1), decided([1], epoch=2)
    assert found([(first, second)], [(second, first)]) == [(1, STATE)]


def test_the_order_of_writes_to_different_znodes_is_free() -> None:
    assert found([(CREATED, ELECTED)], [(ELECTED, CREATED)]) == []


def test_a_write_in_the_step_after_differs_in_both_steps() -> None:
    assert found([(ELECTED,), ()], [(), (ELECTED,)]) == [(1, "/controller"), (2, "/controller")]


def test_another_writer_differs() -> None:
    assert found([(joined([1, 2]),)], [(replace(joined([1, 2]), by="broker-3"),)]) == [(1, STATE)]


def test_a_write_without_its_fence_differs() -> None:
    assert found([(CREATED,)], [(replace(CREATED, fenced=False),)]) == [(1, STATE)]


def test_another_operation_differs() -> None:
    assert found([(ELECTED,)], [(replace(ELECTED, op="set"),)]) == [(1, "/controller")]


def test_null_data_is_not_the_empty_text() -> None:
    null, empty = (ZnodeWrite("admin", "create", "/admin/delete_topics/orders", data) for data in (None, ""))
    assert found([(null,)], [(empty,)]) == [(1, null.path)]


# --- data ------------------------------------------------------------------------------------------------------------------


def test_timestamps_and_the_order_of_keys_are_free() -> None:
    ours = replace(ELECTED, data='{"timestamp":"99","brokerid":2,"version":1}')
    assert found([(ELECTED,)], [(ours,)]) == []


def test_another_broker_in_the_controller_znode_differs() -> None:
    ours = replace(ELECTED, data='{"version":1,"brokerid":3,"timestamp":"17"}')
    assert found([(ELECTED,)], [(ours,)]) == [(1, "/controller")]


def test_true_is_not_one() -> None:
    kafka, ours = (ZnodeWrite("admin", "create", "/brokers/topics/x", data) for data in ('{"a":1}', '{"a":true}'))
    assert found([(kafka,)], [(ours,)]) == [(1, kafka.path)]


def test_partitions_in_an_admin_znode_stand_in_any_order() -> None:
    one, two = '{"topic":"a","partition":1}', '{"topic":"a","partition":2}'
    kafka = ZnodeWrite("admin", "create", "/admin/preferred_replica_election", f'{{"partitions":[{one},{two}]}}')
    assert found([(kafka,)], [(replace(kafka, data=f'{{"partitions":[{two},{one}]}}'),)]) == []
    assert found([(kafka,)], [(replace(kafka, data=f'{{"partitions":[{two},{two}]}}'),)]) == [(1, kafka.path)]


def test_replicas_of_a_topic_stand_in_their_order() -> None:
    kafka, ours = (
        ZnodeWrite("admin", "set", "/brokers/topics/a", f'{{"partitions":{{"0":{replicas}}}}}')
        for replicas in ("[1,2]", "[2,1]")
    )
    assert found([(kafka,)], [(ours,)]) == [(1, kafka.path)]


def test_where_a_broker_listens_is_free_and_its_rack_is_not() -> None:
    def registered(port: int, rack: str) -> ZnodeWrite:
        content = {"endpoints": [f"PLAINTEXT://h:{port}"], "host": "h", "port": port, "rack": rack, "version": 4}
        return ZnodeWrite("admin", "set", "/brokers/ids/3", json.dumps(content))

    assert found([(registered(1, "a"),)], [(registered(2, "a"),)]) == []
    assert found([(registered(1, "a"),)], [(registered(1, "b"),)]) == [(1, "/brokers/ids/3")]


# --- the order in which replicas join an ISR -------------------------------------------------------------------------------


def test_replicas_may_join_in_another_order() -> None:
    kafka = (CREATED, joined([1, 2]), joined([1, 2, 3]))
    assert found([kafka], [(CREATED, joined([1, 3]), joined([1, 3, 2]))]) == []


def test_replicas_may_join_in_another_order_through_the_controller() -> None:
    """From inter.broker.protocol.version 2.7 on the controller writes the ISR that a leader asks for."""
    kafka = (CREATED, decided([1, 2]), decided([1, 2, 3]))
    assert found([kafka], [(CREATED, decided([1, 3]), decided([1, 3, 2]))]) == []
    assert found([kafka], [(CREATED, decided([1, 3]), decided([1, 3]))]) == [(1, STATE)]


def test_the_order_of_joining_shows_in_every_later_list() -> None:
    kafka = [(CREATED, joined([1, 2]), joined([1, 2, 3])), (decided([2, 3], leader=2, epoch=1),)]
    ours = [(CREATED, joined([1, 3]), joined([1, 3, 2])), (decided([3, 2], leader=2, epoch=1),)]
    assert found(kafka, ours) == []


def test_another_replica_that_joined_differs() -> None:
    assert found([(CREATED, joined([1, 2]))], [(CREATED, joined([1, 3]))]) == [(1, STATE)]


def test_another_number_of_joins_differs() -> None:
    kafka = (CREATED, joined([1, 2]), joined([1, 2, 3]))
    assert found([kafka], [(CREATED, joined([1, 2, 3]))]) == [(1, STATE)]


def test_between_two_joins_nobody_else_may_write() -> None:
    kafka = (CREATED, joined([1, 2]), decided([1, 2], epoch=1), joined([1, 2, 3], epoch=1))
    ours = (CREATED, joined([1, 3]), decided([1, 3], epoch=1), joined([1, 3, 2], epoch=1))
    assert found([kafka], [ours]) == [(1, STATE)]


def test_the_order_of_those_that_never_joined_is_not_free() -> None:
    """The first list has the assignment's order, and the controller's removals keep the order of the others."""
    created = replace(CREATED, data=state([1, 2, 3]))
    assert found([(created,)], [(replace(CREATED, data=state([1, 3, 2])),)]) == [(1, STATE)]
    assert found([(created, decided([2, 3], leader=2, epoch=1))], [(created, decided([3, 2], leader=2, epoch=1))]) == [
        (1, STATE)
    ]


def test_who_joined_before_a_topic_was_deleted_does_not_matter_after() -> None:
    before = (CREATED, joined([1, 2]), joined([1, 2, 3]), ZnodeWrite("controller", "delete", STATE, fenced=True))
    kafka, ours = (replace(CREATED, data=state(isr)) for isr in ([1, 2, 3], [1, 3, 2]))
    assert found([before, (kafka,)], [before, (ours,)]) == [(2, STATE)]


def test_who_leads_is_never_free() -> None:
    kafka = (CREATED, joined([1, 2]))
    assert found([kafka], [(CREATED, joined([1, 2], leader=2))]) == [(1, STATE)]


# --- differences between runs of Kafka itself ------------------------------------------------------------------------------


def test_any_of_the_unsteady_alternatives_is_right() -> None:
    other = replace(ELECTED, data='{"version":1,"brokerid":3,"timestamp":"1"}')
    kafka = recording(step(ELECTED, unsteady={"/controller": ((other,), ())}))
    assert where(kafka, recording(step(ELECTED))) == []
    assert where(kafka, recording(step(other))) == []
    assert where(kafka, recording(step())) == []
    assert where(kafka, recording(step(other, other))) == [(1, "/controller")]


def test_a_znode_that_only_other_runs_wrote_may_be_written() -> None:
    kafka = recording(step(unsteady={"/controller": ((ELECTED,),)}))
    assert where(kafka, recording(step(ELECTED))) == []


def test_what_an_alternative_leaves_behind_is_what_is_there_at_the_end() -> None:
    two, three = (ZnodeWrite("controller", "set", "/controller_epoch", epoch) for epoch in ("2", "3"))
    kafka = recording(step(two, unsteady={"/controller_epoch": ((three,),)}), final={"/controller_epoch": "2"})
    assert where(kafka, recording(step(three), final={"/controller_epoch": "3"})) == []
    assert where(kafka, recording(step(three), final={"/controller_epoch": "2"})) == [(None, "/controller_epoch")]
    assert where(kafka, recording(step(two), final={"/controller_epoch": "3"})) == [(None, "/controller_epoch")]


# --- notifications ---------------------------------------------------------------------------------------------------------

NOTIFIED = ZnodeWrite("broker-1", "create", "/isr_change_notification/isr_change_N", '{"version":1,"partitions":[]}')


def test_in_which_step_brokers_notify_of_isr_changes_is_free() -> None:
    assert found([(NOTIFIED,)], [()]) == []


def test_a_notification_made_by_hand_and_what_follows_is_compared() -> None:
    by_hand = replace(NOTIFIED, by="admin")
    do = {"zk_create": ["/isr_change_notification/isr_change_0000000000", by_hand.data]}
    taken = ZnodeWrite("controller", "delete", NOTIFIED.path, fenced=True)
    kafka = recording(Step(do, controller=1, writes=(by_hand, taken)))
    assert where(kafka, recording(Step(do, controller=1, writes=(by_hand, taken)))) == []
    assert where(kafka, recording(Step(do, controller=1, writes=(by_hand,)))) == [(1, NOTIFIED.path)]


# --- sessions, winners, the end --------------------------------------------------------------------------------------------


def test_the_same_sessions_end_in_whatever_order() -> None:
    kafka = recording(step(sessions_closed=("broker-1", "broker-2")))
    assert where(kafka, recording(step(sessions_closed=("broker-2", "broker-1")))) == []
    assert where(kafka, recording(step(sessions_closed=("broker-2",)))) == [(1, "sessions_closed")]


def test_another_controller_differs() -> None:
    assert where(recording(step()), recording(replace(step(), controller=3))) == [(1, "controller")]


def test_other_brokers_alive_differ() -> None:
    assert where(recording(), replace(recording(), alive=(1, 2, 3))) == [(None, "alive")]


def test_how_a_command_ends_and_what_it_prints_must_agree() -> None:
    kafka = recording(step(outcome={"rc": 0, "out": ["Done."], "err": []}))
    assert where(kafka, recording(step(outcome={"rc": 0, "out": ["Done."], "err": []}))) == []
    assert where(kafka, recording(step(outcome={"rc": 0, "out": ["Done!"], "err": []}))) == [(1, "printed")]
    assert where(kafka, recording(step(outcome={"rc": 0, "out": ["Done."], "err": ["?"]}))) == [(1, "printed on stderr")]
    assert where(kafka, recording(step(outcome={"rc": 1, "out": ["Done."], "err": []}))) == [(1, "exit status")]
    assert where(kafka, recording(step())) == [(1, "outcome")]


def test_what_a_command_printed_is_compared_only_where_it_was_recorded() -> None:
    assert where(recording(step()), recording(step(outcome={"rc": 1, "out": ["Error"], "err": []}))) == []


def test_how_a_broker_ends_must_agree_whatever_it_says() -> None:
    kafka = recording(step(outcome={"exit": 1, "registered": False}))
    assert where(kafka, recording(step(outcome={"exit": 1, "registered": False, "err": ["taken"]}))) == []
    assert where(kafka, recording(step(outcome={"exit": None, "registered": True}))) == [
        (1, "exit of the broker"),
        (1, "registered"),
    ]
    assert where(recording(step()), recording(step(outcome={"exit": 1, "registered": False}))) == [(1, "outcome")]


def test_a_step_that_was_skipped_was_skipped_by_both_in_whatever_words() -> None:
    kafka = recording(step(outcome={"skipped": "it exists"}))
    assert where(kafka, recording(step(outcome={"skipped": "there is one"}))) == []
    assert where(kafka, recording(step())) == [(1, "outcome")]
    assert where(recording(step()), recording(step(outcome={"skipped": "there is one"}))) == [(1, "outcome")]


def test_a_znode_left_over_or_missing_at_the_end_differs() -> None:
    kafka, ours = (recording(final={path: None}) for path in ("/brokers/topics/a", "/brokers/topics/b"))
    assert where(kafka, ours) == [(None, "/brokers/topics/a"), (None, "/brokers/topics/b")]


def test_the_final_isr_has_the_freedom_of_those_that_joined() -> None:
    kafka_writes, our_writes = ((CREATED, joined([1, a]), joined([1, a, b])) for a, b in ((2, 3), (3, 2)))
    kafka = recording(step(*kafka_writes), final={STATE: state([1, 2, 3])})
    assert where(kafka, recording(step(*our_writes), final={STATE: state([1, 3, 2])})) == []
    assert where(kafka, recording(step(*our_writes), final={STATE: state([3, 1])})) == [(None, STATE)]
    assert where(kafka, recording(step(*our_writes), final={STATE: state([1, 3, 2], epoch=1)})) == [(None, STATE)]


def test_a_step_that_could_not_be_done_differs_and_what_comes_after_it_is_not_compared() -> None:
    kafka = recording(step(), step(ELECTED), final={"/controller": "x"})
    assert where(kafka, recording(step(problem="no broker 7"))) == [(1, "the step")]


def test_steps_before_one_that_is_not_supported_are_compared() -> None:
    kafka = recording(step(ELECTED), step(CREATED))
    assert where(kafka, recording(step(), step(not_supported="no records yet"))) == [(1, "/controller")]


def test_of_a_step_without_end_only_that_it_has_none_is_compared() -> None:
    endless = step(ELECTED, decided([1], epoch=1), more_writes=100)
    kafka = recording(endless, step(CREATED), final={"/controller": "x"})
    assert where(kafka, recording(step(CREATED, CREATED, CREATED), step())) == []
    assert where(kafka, recording(step(CREATED), step())) == [(1, "writes")]
