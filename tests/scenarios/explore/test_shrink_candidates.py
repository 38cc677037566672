"""Each way of making a scenario simpler, on its own."""

from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.explore.shrink_candidates import SIMPLIFICATIONS
from tests.scenarios.explore.test_shrink import a_tree

WITHOUT_AN_ENTRY, WITHOUT_A_BROKER, WITHOUT_A_PARTITION, NAMED_PLAINLY, TWO_AT_ONCE, ROUND_TIMES = SIMPLIFICATIONS


def timetables(trees: list[Tree]) -> list[object]:
    return [tree["timetable"] for tree in trees]


def test_without_a_broker_those_after_it_move_up() -> None:
    steps = ({"kill": "broker-3"}, {"start": ["broker-2", "broker-4"]}, {"reassign": {"orders-0": [4, 3, 1]}})

    without_3 = list(WITHOUT_A_BROKER(a_tree(*steps)))[1]

    assert without_3["cluster"]["brokers"] == 3
    assert without_3["cluster"]["topics"]["orders"] == {"assignment": {0: [1, 2], 1: [3, 2]}}
    assert without_3["timetable"] == [{"start": ["broker-2", "broker-3"]}, {"reassign": {"orders-0": [3, 1]}}]


def test_replicas_in_a_znode_written_by_hand_move_up_too() -> None:
    plan = {"partitions": [{"topic": "orders", "partition": 2, "replicas": [4, 2]}]}
    step = {"zk-create": {"path": "/admin/reassign_partitions", "data": plan}}

    without_3 = list(WITHOUT_A_BROKER(a_tree(step)))[1]

    assert without_3["timetable"][0]["zk-create"]["data"]["partitions"][0]["replicas"] == [3, 2]


def test_without_a_partition_those_after_it_move_up() -> None:
    steps = (
        {"kill": "leader-of orders-1"},
        {"elect-preferred": ["orders-0", "clicks-0"]},
        {"reassign": {"orders-0": [1]}},
        {"delete-topic": "orders"},
    )

    (_, without_0) = WITHOUT_A_PARTITION(a_tree(*steps))

    assert without_0["cluster"]["topics"]["orders"] == {"assignment": {0: [4, 3, 2]}}
    assert without_0["timetable"] == [
        {"kill": "leader-of orders-0"},
        {"elect-preferred": ["clicks-0"]},
        {"delete-topic": "orders"},
    ]


def test_a_broker_named_by_a_role_can_be_named_by_its_id() -> None:
    assert timetables(list(NAMED_PLAINLY(a_tree({"kill": "controller"})))) == [
        [{"kill": f"broker-{number}"}] for number in range(1, 5)
    ]


def test_what_only_another_step_made_necessary_goes_with_it() -> None:
    """Neither leaving out the stop nor starting only broker-2 keeps the run as it was; both together do."""
    trees = TWO_AT_ONCE(a_tree({"start": "all"}, {"stop": "broker-1"}, {"kill": "broker-2"}))

    assert [{"start": "broker-2"}, {"kill": "broker-2"}] in timetables(list(trees))


def test_a_time_becomes_one_of_a_few_rounder_ones() -> None:
    times = [tree["timetable"][0]["after"] for tree in ROUND_TIMES(a_tree({"kill": "broker-1", "after": "2.3s"}))]

    assert times == ["2s", "1s", "500ms"]


def test_large_parts_are_left_out_before_small_ones() -> None:
    tree = a_tree({"kill": "broker-1", "after": "1s"})

    first, second, *_ = WITHOUT_AN_ENTRY(tree)

    assert first.keys() == tree.keys() - {"workload"}
    assert second.keys() == tree.keys() - {"afterwards"}


def test_what_every_scenario_has_is_not_left_out() -> None:
    kept = {"name", "description", "cluster", "timetable"}

    assert all(kept <= tree.keys() for tree in WITHOUT_AN_ENTRY(a_tree({"kill": "broker-1"})))
