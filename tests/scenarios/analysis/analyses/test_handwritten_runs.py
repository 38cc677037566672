"""Analyses of small histories, compared with results worked out by hand."""

import math
from typing import Any

import pytest

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.scenarios.analysis.analyses.scope import HOUR_MS
from tests.scenarios.analysis.analyses.conftest import Results, Row

pytestmark = pytest.mark.slow


def only(rows: list[Row]) -> Row:
    assert len(rows) == 1, rows
    return rows[0]


def pick(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


WINDOW = ("topic", "partition", "from_ms", "to_ms", "open", "began_with", "broker", "leader_after")

# --- unavailability --------------------------------------------------------------------------------------------------------


def test_a_partition_is_unavailable_from_its_leaders_death_to_the_next_election(results: Results) -> None:
    """The window begins with the death of the process, not with the end of its session, which comes later."""
    assert pick(results("unavailability", "leader-dies"), *WINDOW) == [("orders", 0, 100, 160, False, "leader lost", 1, 2)]


def test_leaderless_time_that_follows_on_a_leaders_death_is_the_same_window(results: Results) -> None:
    """An election that finds no leader does not end the window, and a window that lasts to the end of the run stays open."""
    assert pick(results("unavailability", "nobody-left"), *WINDOW) == [("orders", 0, 50, 100, True, "leader lost", 1, None)]


def test_what_begins_and_ends_in_one_millisecond_does_not_count(results: Results) -> None:
    assert results("unavailability", "within-a-millisecond") == []


def test_a_partition_counts_until_the_deletion_of_its_topic_is_asked_for(results: Results) -> None:
    assert pick(results("unavailability", "deleted-while-offline"), *WINDOW) == [
        ("orders", 0, 50, 60, False, "leader lost", 1, None)
    ]
    steps = pick(results("health-steps", "deleted-while-offline"), "from_ms", "to_ms", "partitions", "offline")
    assert steps == [(10, 50, 2, 0), (50, 60, 2, 1), (60, 100, 1, 0)]


def test_a_partition_counts_from_the_first_try_to_elect_its_first_leader(results: Results) -> None:
    assert pick(results("unavailability", "never-led"), *WINDOW) == [("orders", 0, 10, 30, False, "no leader", None, 1)]


def test_a_partition_that_never_had_a_state_counts_until_the_deletion_of_its_topic(results: Results) -> None:
    """It counts again from the next fruitless try on."""
    windows = pick(results("unavailability", "deleted-without-a-state"), "from_ms", "to_ms", "open", "began_with")
    assert sorted(windows) == [(10, 30, False, "no leader"), (60, 80, False, "no leader")]


def test_what_holds_after_the_last_event_is_open_whatever_that_event_changed(results: Results) -> None:
    """A new state without a live leader continues the window, also where the new state lasted for no time."""
    windows = pick(results("unavailability", "changed-at-the-end"), "partition", "from_ms", "to_ms", "open", "leader_after")
    assert sorted(windows) == [(0, 50, 100, True, None), (1, 50, 100, True, None), (2, 50, 100, False, 3)]
    refused = pick(results("under-min-isr", "changed-at-the-end"), "from_ms", "to_ms", "open", "least_in_sync")
    assert refused == [(70, 100, True, 2)] * 3


def test_availability_is_of_the_time_that_a_partition_was_there(results: Results) -> None:
    whole = next(row for row in results("availability", "leader-dies") if row["scope"] == "cluster")
    assert (whole["existing_ms"], whole["unavailable_ms"], whole["windows"]) == (990, 60, 1)
    assert whole["availability"] == 1 - 60 / 990
    assert whole["nines"] == round(-math.log10(60 / 990), 4)
    again = next(row for row in results("availability", "created-again") if row["scope"] == "partition")
    assert (again["existing_ms"], again["unavailable_ms"], again["nines"]) == (30 + 40, 0, None)


def test_a_topic_adds_its_partitions_up_and_reports_when_any_was_unavailable(results: Results) -> None:
    """orders-0 was unavailable in [25, 30), orders-1 in [26, 100): 79 ms in sum, but only 75 ms on the clock."""
    topic = next(row for row in results("availability", "stopped-together") if row["scope"] == "topic")
    assert (topic["partitions"], topic["existing_ms"], topic["unavailable_ms"]) == (2, 180, 79)
    assert (topic["any_unavailable_ms"], topic["open_windows"], topic["longest_ms"]) == (75, 1, 74)


def test_too_few_in_sync_refuse_acks_all_from_when_the_setting_says_so(results: Results) -> None:
    row = only(results("under-min-isr", "nobody-left"))
    assert (row["from_ms"], row["to_ms"], row["open"], row["min_isr"], row["least_in_sync"]) == (20, 100, True, 2, 1)


# --- elections -------------------------------------------------------------------------------------------------------------


def test_elections_are_counted_by_strategy_rule_trigger_and_outcome(results: Results) -> None:
    found = pick(results("elections", "leader-dies"), "strategy", "rule", "trigger", "outcome", "elections", "first_ms")
    assert set(found) == {
        (None, "NewPartition", "TopicCreated", "clean", 1, 10),
        (PartitionLeaderElectionStrategy.OFFLINE, "AliveAndInIsr", "BrokerFailed", "clean", 1, 160),
    }


def test_an_election_without_a_winner_is_counted_as_an_election(results: Results) -> None:
    found = {row["outcome"]: row["elections"] for row in results("elections", "nobody-left")}
    assert found == {"clean": 1, "nobody": 1}


def test_records_cut_off_belong_to_the_unclean_election_before(results: Results) -> None:
    """Two followers truncate the offsets 100..139 and 100..109: 40 records are lost, not 50."""
    names = (
        "partition",
        "t_ms",
        "leader",
        "isr_before",
        "records_cut_off",
        "truncations",
        "acknowledged_lost",
        "lost_everywhere",
    )
    found = pick(results("unclean-elections", "unclean"), *names)
    assert (0, 50, 2, [1], 40, 2, 30, 25) in found
    assert (0, 70, 1, [2], 0, 0, 30, 25) in found


def test_records_that_nobody_counted_are_unknown_and_not_0(results: Results) -> None:
    row = next(row for row in results("unclean-elections", "unclean") if row["partition"] == 1)
    assert (row["records_cut_off"], row["acknowledged_lost"], row["records_counted"]) == (None, None, False)


# --- churn -----------------------------------------------------------------------------------------------------------------


def test_who_left_and_joined_the_isr_is_counted_by_broker_and_hour(results: Results) -> None:
    names = ("bucket_ms", "broker", "left_isr", "left_by_leader", "joined_isr", "partitions")
    assert pick(results("isr-churn", "leader-dies"), *names) == [(160, 1, 1, 0, 0, 1), (400, 1, 0, 0, 1, 1)]
    assert pick(results("isr-churn", "reassigned"), *names) == [(16, 2, 1, 1, 0, 1), (48, 3, 0, 0, 1, 1)]


def test_a_partition_that_is_created_again_has_not_changed_its_isr(results: Results) -> None:
    assert results("isr-churn", "created-again") == []


def test_a_partition_is_under_replicated_until_as_many_are_in_sync_as_before_the_adding(results: Results) -> None:
    """The ISR is [1] of [1, 2] from 20 on.

    While 3 is being added, [1, 3] has as many members as the old assignment: enough at 50.
    """
    row = only(results("isr-churn-partitions", "reassigned"))
    assert (row["shrinks"], row["shrinks_by_leader"], row["expansions"]) == (1, 1, 1)
    assert (row["under_replicated_ms"], row["least_in_sync"]) == (30, 1)


def test_a_replica_flaps_if_it_leaves_three_times_within_an_hour(results_of_hours: Results) -> None:
    """An hour lasts 3,600,000 ms: the first and the third shrink of orders-0 are 1 ms too far apart."""
    found = {row["partition"]: row for row in results_of_hours("flapping-replicas", "flapping")}
    assert (found[0]["left_isr"], found[0]["most_in_an_hour"], found[0]["flapping"]) == (3, 2, False)
    assert (found[1]["left_isr"], found[1]["most_in_an_hour"], found[1]["flapping"]) == (3, 3, True)
    assert (found[1]["returned"], found[1]["out_ms"], found[1]["median_ms"], found[1]["longest_ms"]) == (
        3,
        1_500,
        500.0,
        500,
    )
    assert found[1]["open"] is False


def test_a_replica_that_is_removed_has_not_returned(results: Results) -> None:
    row = only(results("flapping-replicas", "reassigned"))
    assert (row["broker"], row["out_ms"], row["returned"], row["open"]) == (2, 40, 0, False)
    assert (row["median_ms"], row["longest_ms"]) == (40.0, 40)


def test_a_replica_that_only_left_by_being_unassigned_has_no_longest_time_out_of_sync(results: Results) -> None:
    row = only(results("flapping-replicas", "unassigned"))
    assert (row["broker"], row["left_isr"], row["out_ms"], row["returned"]) == (2, 1, 0, 0)
    assert (row["median_ms"], row["longest_ms"]) == (None, None)


# --- controllers -----------------------------------------------------------------------------------------------------------

TERM = ("broker", "controller_epoch", "from_ms", "to_ms", "open", "ended_by", "gap_before_ms", "gap_after_ms")


def test_no_controller_works_from_a_controllers_death_until_the_next_is_ready(results: Results) -> None:
    """The znode lives on with the session of the dead controller, and a winner has to complete its failover first."""
    gaps = pick(results("controller-gaps", "controller-dies"), "from_ms", "to_ms", "duration_ms", "open")
    assert sorted(gaps) == [(100, 160, 60, False), (200, 300, 100, True)]


def test_a_controllers_term_lasts_as_long_as_its_znode(results: Results) -> None:
    assert pick(results("controllers", "controllers"), *TERM) == [
        (1, 1, 10, 100, False, "session expired", 10, 30),
        (2, 2, 130, 200, False, "deleted", 30, 100),
    ]


def test_a_controller_from_before_the_history_is_nobody_known(results: Results) -> None:
    assert pick(results("controllers", "controller-from-before"), *TERM) == [
        (None, None, 0, 40, False, "deleted", 0, 5),
        (7, 12, 45, 100, True, None, 5, 0),
    ]


# --- load ------------------------------------------------------------------------------------------------------------------


def test_load_is_weighed_by_time(results: Results) -> None:
    """Broker 1 leads three partitions for half of the 16 ms and two for the other half."""
    names = ("broker", "covered_ms", "leaders", "least_leaders", "most_leaders", "leaders_ms", "replicas_ms")
    assert pick(results("broker-load", "uneven"), *names) == [(1, 16, 2.5, 2, 3, 40, 48), (2, 16, 0.5, 0, 1, 8, 48)]


def test_skew_is_over_all_brokers_also_those_that_have_nothing(results: Results) -> None:
    """Leaders 2.5, 0.5, 0: mean 1, standard deviation sqrt((2.25 + 0.25 + 1) / 3)."""
    row = only(results("skew", "uneven"))
    assert row["brokers"] == 3
    assert row["leaders_max_to_mean"] == 2.5
    assert math.isclose(row["leaders_cv"], math.sqrt(3.5 / 3))
    assert math.isclose(row["replicas_cv"], math.sqrt(0.5))
    assert row["preferred_share"] == 40 / 48


# --- recovery --------------------------------------------------------------------------------------------------------------


def test_recovery_is_from_the_fault_to_the_last_leader_and_the_last_replica(results: Results) -> None:
    row = only(results("recoveries", "leader-dies"))
    assert (row["fault"], row["fault_ms"], row["brokers"]) == ("kill", 100, [1])
    assert (row["partitions_taken"], row["still_without_leader"], row["to_leader_ms"]) == (1, 0, 60)
    assert (row["replicas_out_of_sync"], row["still_out_of_sync"], row["to_full_isr_ms"]) == (1, 0, 300)


def test_brokers_lost_by_one_act_are_one_fault_and_never_recovered_if_one_partition_is_not(results: Results) -> None:
    row = only(results("recoveries", "stopped-together"))
    assert (row["fault"], row["fault_ms"], row["brokers"], row["partitions_taken"]) == ("stop", 20, [1, 2], 2)
    assert (row["still_without_leader"], row["to_leader_ms"]) == (1, None)
    times = only(results("recovery-times", "stopped-together"))
    assert (times["faults"], times["led_again"], times["never_led_again"], times["to_leader_p50_ms"]) == (1, 0, 1, None)


def test_a_loss_that_nothing_explains_is_a_fault_of_its_own(results: Results) -> None:
    row = only(results("recoveries", "nobody-left"))
    assert (row["fault"], row["fault_ms"], row["partitions_taken"], row["still_without_leader"]) == ("unknown", 50, 1, 1)


def test_a_replica_that_one_fault_put_out_of_sync_counts_once_however_often_its_broker_was_away(results: Results) -> None:
    row = only(results("recoveries", "away-twice"))
    assert (row["fault"], row["brokers"]) == ("pause", [2])
    assert (row["replicas_out_of_sync"], row["still_out_of_sync"], row["to_full_isr_ms"]) == (1, 1, None)


def test_a_broker_that_fails_to_start_was_taken_away_by_its_start(results: Results) -> None:
    """Its old registration is there until the session expires: for as long as its process runs it counts as live."""
    found = pick(results("recoveries", "restarted-too-soon"), "fault", "fault_ms", "brokers")
    assert found == [("kill", 20, [1]), ("start", 30, [1])]


# --- damage by broker and rack ---------------------------------------------------------------------------------------------


def test_brokers_and_racks_answer_for_the_windows_that_their_loss_began(results: Results) -> None:
    first = results("affected-brokers", "leader-dies")[0]
    assert (first["broker"], first["rack"], first["losses"], first["away_ms"]) == (1, "a", 1, 200)
    assert (first["partitions_lost"], first["unavailable_ms"], first["left_isr"], first["out_of_sync_ms"]) == (1, 60, 1, 240)
    racks = pick(results("affected-racks", "leader-dies"), "rack", "brokers", "losses", "unavailable_ms")
    assert racks == [("a", 1, 1, 60), ("b", 2, 0, 0)]


def test_topics_report_what_happened_to_their_partitions(results: Results) -> None:
    row = only(results("affected-topics", "leader-dies"))
    assert (row["partitions"], row["unavailable_ms"], row["windows"], row["under_replicated_ms"]) == (1, 60, 1, 240)
    assert (row["elections"], row["unclean"], row["left_isr"]) == (2, 0, 1)


# --- losses ----------------------------------------------------------------------------------------------------------------

DAMAGE = ("offline", "offline_if_unclean", "under_min_isr", "leaders_moved", "partitions")


def test_the_loss_of_one_broker_takes_what_has_nobody_else_in_sync(results: Results) -> None:
    """Only 3 is in sync for orders-2 (5 also has it, if unclean); logs-0 has only 6.

    Without 1, orders-1 has one of two replicas.
    """
    found = {row["broker"]: row for row in results("loss-of-broker", "racks")}
    assert tuple(found[3][name] for name in DAMAGE) == (1, 0, 0, 1, 2)
    assert tuple(found[6][name] for name in DAMAGE) == (1, 1, 0, 1, 1)
    assert tuple(found[1][name] for name in DAMAGE) == (0, 0, 1, 2, 2)
    assert found[3]["topics_offline"] == 1


def test_the_loss_of_two_takes_more_than_the_sum_where_they_share_partitions(results: Results) -> None:
    """1 and 2 have all replicas of orders-1.

    The loss of one leaves it below the minimum; only the loss of both takes it offline.
    """
    found = {tuple(row["brokers"]): row for row in results("loss-of-brokers", "racks")}
    assert found.keys() == {(1, 2), (1, 3), (1, 5), (3, 5)}
    assert tuple(found[1, 2][name] for name in DAMAGE) == (1, 1, 0, 2, 2)
    assert (found[1, 2]["shared"], found[1, 2]["offline_together"], found[1, 2]["topics_together"]) == (1, 1, 1)
    assert tuple(found[3, 5][name] for name in DAMAGE) == (1, 1, 1, 1, 2)
    assert found[3, 5]["offline_together"] == 0


def test_the_loss_of_a_rack_is_that_of_its_brokers(results: Results) -> None:
    found = {row["rack"]: tuple(row[name] for name in DAMAGE) for row in results("loss-of-rack", "racks")}
    assert found == {"a": (1, 1, 0, 2, 2), "b": (1, 0, 0, 1, 2), "c": (1, 1, 0, 1, 3)}


def test_buckets_of_time_begin_at_multiples_of_their_width(results_of_hours: Results) -> None:
    """This holds also where nothing changes for a long time; the first and the last bucket are covered in part."""
    buckets = pick(results_of_hours("health", "flapping"), "bucket_ms", "covered_ms", "partitions", "under_replicated_ms")
    first = 4 * 500  # of the six intervals in which a replica was out of the ISR, two were in the second hour
    assert buckets == [(0, HOUR_MS - 10, 2.0, first), (HOUR_MS, 400_000, 2.0, 1_000)]
