"""For every invariant a bug that breaks it, planted in our own controller or brokers, and a scenario that exposes it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.brokers.invariants import broker_bugs, controller_bugs

ROLES = "{kind: [BecameLeader, BecameFollower]}"
BEGIN = """\
  - start: broker-1
  - wait: {controller: broker-1}
  - start: [broker-2, broker-3]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}
"""
BEGIN_WITH_ORDERS = f"""{BEGIN}\
  - create-topic: orders
  - after: 1s
    wait: {{event: {{kind: ZnodeCreated, path: /brokers/topics/orders/partitions/0/state}}}}
"""
# Longer than the delay after which a leader reports a changed ISR, plus the time that a quiet cluster has to be quiet.
UNTIL_QUIET = """\
  - after: 20s
    wait: {event: {kind: RunStarted}}
"""
TO_THE_END = "afterwards: {within: 40s}\n"


@dataclass(frozen=True)
class Planted:
    """A planted bug.

    Attributes:
        invariant: name of the invariant that the bug breaks.
        plant: the bug is active while this context is entered.
        scenario: the text of a file in which only that invariant is violated, and none without the bug.
    """

    invariant: str
    plant: Callable[[], AbstractContextManager[None]]
    scenario: str


def scenario(steps: str, topic: str = "{0: [2, 3]}", more: str = "", **settings: str | int | bool) -> str:
    """Return a scenario of three brokers and topic orders, with broker 1 as the controller.

    Args:
        steps: of the timetable, after the cluster has begun; those of BEGIN included.
        more: additional keys of the file.
        settings: Kafka's, with underscores.
    """
    all_settings: Mapping[str, str | int | bool] = {
        "zookeeper_session_timeout_ms": 2000,
        "auto_leader_rebalance_enable": False,
        **settings,
    }
    settings_text = ", ".join(f"{name.replace('_', '.')}: {str(value).lower()}" for name, value in all_settings.items())
    return f"""\
name: planted
description: Brings a planted bug out.
cluster:
  brokers: 3
  settings: {{{settings_text}}}
  topics: {{orders: {{assignment: {topic}}}}}
{more}timetable:
{steps}"""


def with_orders(steps: str, more: str = "", topic: str = "{0: [2, 3]}", **settings: str | int | bool) -> str:
    return scenario(BEGIN_WITH_ORDERS + steps, topic, more, **settings)


PRODUCERS = """\
workload:
  producers:
    writer: {topics: orders, records: 40, settings: {acks: all, request.timeout.ms: 1000, linger.ms: 0}}
    hasty: {topics: orders, records: 20, settings: {acks: all, request.timeout.ms: 500, delivery.timeout.ms: 1000}}
"""
WRITTEN = """\
  - produce: writer
  - after: 2s
    wait: {in-sync: all}
"""
PARTITION = "  - partition: {between: broker-2, and: broker-3}\n"
KILL_THE_LEADER = """\
  - kill: broker-2
  - wait: {leader: {orders-0: broker-3}}
"""

PLANTED: Mapping[str, Planted] = {
    "the-controller-epoch-is-raised-by-two": Planted(
        "controller-epochs-have-no-gap",
        controller_bugs.the_controller_epoch_is_raised_by_two,
        scenario(BEGIN),
    ),
    "who-has-lost-the-election-takes-over-too": Planted(
        "one-controller-acts-in-each-controller-epoch",
        controller_bugs.who_has_lost_the_election_takes_over_too,
        scenario(BEGIN),
    ),
    "every-failover-fails-in-the-end": Planted(
        "elections-come-to-an-end",
        controller_bugs.every_failover_fails_in_the_end,
        scenario("  - start: all\n  - after: 1s\n    wait: {event: {kind: RunStarted}}\n"),
    ),
    "transactions-are-done-whatever-they-check": Planted(
        "fenced-writes-are-of-the-controller-in-office",
        controller_bugs.transactions_are_done_whatever_they_check,
        with_orders(
            """\
  - pause: broker-1
    at-write: before
    path: /brokers/topics/orders
    nth: 3
  - delete-topic: orders
  - wait: {paused: broker-1}
  - zk-delete: /controller
  - wait: {event: {kind: TopicDeletion, step: completed}}
  - create-topic: orders
  - after: 1s
    resume: broker-1
  - after: 500ms
    wait: {event: {kind: RunStarted}}
""",
            zookeeper_session_timeout_ms=8000,
        ),
    ),
    "isrs-are-written-for-an-earlier-controller": Planted(
        "epochs-never-go-back",
        broker_bugs.isrs_are_written_for_an_earlier_controller,
        with_orders(
            """\
  - kill: broker-3
  - wait: {isr: {orders-0: [2]}}
  - start: broker-3
  - wait: {in-sync: all}
""",
            inter_broker_protocol_version="2.6",
        ),
    ),
    "another-leader-comes-without-another-epoch": Planted(
        "one-leader-for-each-leader-epoch",
        controller_bugs.another_leader_comes_without_another_epoch,
        with_orders(KILL_THE_LEADER),
    ),
    "a-leader-taken-out-of-the-isr-goes-on-leading": Planted(
        "leaders-are-in-the-isr",
        controller_bugs.a_leader_taken_out_of_the_isr_goes_on_leading,
        with_orders("  - kill: broker-1\n  - wait: {leader: {orders-0: broker-2}}\n", topic="{0: [1, 2]}"),
    ),
    "the-isr-is-not-asked-when-a-leader-is-lost": Planted(
        "clean-leaders-come-from-the-isr",
        controller_bugs.the_isr_is_not_asked_when_a_leader_is_lost,
        with_orders(
            """\
  - kill: broker-3
  - wait: {isr: {orders-0: [2]}}
  - kill: broker-2
  - wait: {event: {kind: BrokerChange, brokers: [1]}}
  - start: broker-3
  - after: 1s
    wait: {event: {kind: RunStarted}}
"""
        ),
    ),
    "a-new-isr-is-everybody-who-lives": Planted(
        "isr-members-have-been-replicas",
        controller_bugs.a_new_isr_is_everybody_who_lives,
        with_orders(""),
    ),
    "leaders-count-their-epochs-themselves": Planted(
        "brokers-lead-only-what-was-decided",
        broker_bugs.leaders_count_their_epochs_themselves,
        with_orders(""),
    ),
    "an-old-leader-epoch-is-taken-as-well": Planted(
        "brokers-take-no-older-leader-epoch",
        broker_bugs.an_old_leader_epoch_is_taken_as_well,
        with_orders("  - expire: broker-1\n  - wait: {controller-epoch: 2}\n  - after: 1s\n    wait: {controller: any}\n"),
    ),
    "all-is-acknowledged-once-the-leader-has-it": Planted(
        "no-acknowledged-record-is-lost",
        broker_bugs.all_is_acknowledged_once_the_leader_has_it,
        with_orders(
            f"{WRITTEN}{PARTITION}  - produce: hasty\n{KILL_THE_LEADER}",
            PRODUCERS,
        ),
    ),
    "a-follower-cuts-one-record-too-many": Planted(
        "nothing-committed-is-cut-off",
        broker_bugs.a_follower_cuts_one_record_too_many,
        with_orders(
            f"{WRITTEN}{KILL_THE_LEADER}  - after: 2s\n    wait: {{controller: any}}\n",
            PRODUCERS,
            "{0: [2, 3, 1]}",
            inter_broker_protocol_version="2.6",  # later, a follower cuts only where the logs diverge
        ),
    ),
    "a-high-watermark-is-what-followers-have-now": Planted(
        "high-watermarks-never-go-back",
        broker_bugs.a_high_watermark_is_what_followers_have_now,
        with_orders(
            f"{WRITTEN}  - slow-follower: broker-1\n    rate: 0\n{KILL_THE_LEADER}  - produce: hasty\n",
            PRODUCERS,
            "{0: [2, 3, 1]}",
        ),
    ),
    "a-leader-commits-alone": Planted(
        "what-is-committed-is-on-every-in-sync-replica",
        broker_bugs.a_leader_commits_alone,
        with_orders(
            f"{WRITTEN}{PARTITION}  - produce: hasty\n  - heal: all\n",
            PRODUCERS,
        ),
    ),
    "a-follower-cuts-nothing": Planted(
        "logs-agree-below-the-high-watermark",
        broker_bugs.a_follower_cuts_nothing,
        with_orders(
            f"""\
{PARTITION}\
  - produce: hasty
{KILL_THE_LEADER}\
  - heal: all
  - produce: writer
  - start: broker-2
  - wait: {{in-sync: all, within: 30s}}
  - after: 2s
    wait: {{controller: any}}
""",
            PRODUCERS,
            inter_broker_protocol_version="2.6",  # later, the leader tells the follower again and again to cut
        ),
    ),
    "nobody-stands-for-election-twice": Planted(
        "there-is-one-controller",
        controller_bugs.nobody_stands_for_election_twice,
        with_orders(f"  - zk-delete: /controller\n{UNTIL_QUIET}"),
    ),
    "a-failover-forgets-partitions-without-a-leader": Planted(
        "every-partition-that-can-be-led-is-led",
        controller_bugs.a_failover_forgets_partitions_without_a_leader,
        with_orders(f"  - kill: broker-1\n  - wait: {{controller: not broker-1}}\n{UNTIL_QUIET}", topic="{0: [1, 2]}"),
    ),
    "a-reassignment-forgets-to-remove": Planted(
        "isrs-are-within-the-replicas",
        controller_bugs.a_reassignment_forgets_to_remove,
        with_orders(
            f"  - reassign: {{orders-0: [2, 1]}}\n"
            f"  - wait: {{event: {{kind: PartitionReassignment, step: completed}}, within: 30s}}\n{UNTIL_QUIET}",
            replica_lag_time_max_ms=60_000,  # else its leader tries to remove it meanwhile, cannot, and is not quiet
        ),
    ),
    "who-dies-stays-in-the-isr": Planted(
        "isrs-hold-live-replicas-only",
        controller_bugs.who_dies_stays_in_the_isr,
        with_orders(f"  - kill: broker-3\n  - wait: {{event: {{kind: BrokerChange, brokers: [1, 2]}}}}\n{UNTIL_QUIET}"),
    ),
    "notifications-of-isrs-are-read-and-left": Planted(
        "no-notification-is-left",
        controller_bugs.notifications_of_isrs_are_read_and_left,
        with_orders(
            f"""\
  - kill: broker-3
  - wait: {{isr: {{orders-0: [2]}}}}
  - start: broker-3
  - wait: {{in-sync: all}}
{UNTIL_QUIET}""",
            inter_broker_protocol_version="2.6",
        ),
    ),
    "broker-2-is-not-notified-of-what-it-leads": Planted(
        "leaders-know-that-they-lead", controller_bugs.broker_2_is_not_notified_of_what_it_leads, with_orders(UNTIL_QUIET)
    ),
    "a-leader-does-not-step-down": Planted(
        "no-other-replica-leads",
        broker_bugs.a_leader_does_not_step_down,
        with_orders(
            f"""\
{KILL_THE_LEADER}\
  - start: broker-2
  - wait: {{in-sync: all}}
  - elect-preferred: all
  - wait: {{leader: {{orders-0: broker-2}}}}
{UNTIL_QUIET}"""
        ),
    ),
    "a-leader-forgets-which-version-it-has-written": Planted(
        "leaders-know-the-isr",
        broker_bugs.a_leader_forgets_which_version_it_has_written,
        with_orders(
            f"""\
  - kill: broker-3
  - wait: {{isr: {{orders-0: [2]}}}}
  - start: broker-3
  - wait: {{in-sync: all}}
{UNTIL_QUIET}""",
            inter_broker_protocol_version="2.6",
        ),
    ),
    "broker-3-is-not-notified-of-what-it-follows": Planted(
        "followers-follow-the-leader", controller_bugs.broker_3_is_not_notified_of_what_it_follows, with_orders(UNTIL_QUIET)
    ),
    "broker-1-gets-no-metadata": Planted(
        "metadata-equals-zookeeper", controller_bugs.broker_1_gets_no_metadata, with_orders(UNTIL_QUIET)
    ),
    "nobody-is-notified-of-a-broker-that-dies": Planted(
        "no-dead-broker-is-left-in-the-metadata",
        controller_bugs.nobody_is_notified_of_a_broker_that_dies,
        with_orders(f"  - kill: broker-3\n{UNTIL_QUIET}", topic="{0: [2]}"),
    ),
    "brokers-do-not-forget-what-is-deleted": Planted(
        "no-metadata-is-left-of-what-is-gone",
        controller_bugs.brokers_do_not_forget_what_is_deleted,
        with_orders(f"  - delete-topic: orders\n{UNTIL_QUIET}"),
    ),
    "the-rebalance-elects-leaders-that-lead-already": Planted(
        "all-comes-to-rest",
        controller_bugs.the_rebalance_elects_leaders_that_lead_already,
        with_orders("", TO_THE_END, auto_leader_rebalance_enable=True, leader_imbalance_check_interval_seconds=3),
    ),
    "a-reassignment-is-not-gone-on-with": Planted(
        "no-reassignment-is-left",
        controller_bugs.a_reassignment_is_not_gone_on_with,
        with_orders("  - reassign: {orders-0: [2, 1]}\n", TO_THE_END),
    ),
    "a-deletion-stops-half-way": Planted(
        "no-deletion-is-left",
        controller_bugs.a_deletion_stops_half_way,
        with_orders("  - delete-topic: orders\n", TO_THE_END),
    ),
    "a-preferred-election-is-held-and-left": Planted(
        "no-preferred-election-is-left",
        controller_bugs.a_preferred_election_is_held_and_left,
        with_orders("  - elect-preferred: all\n", TO_THE_END),
    ),
    "nobody-is-taken-back-into-an-isr": Planted(
        "every-replica-is-in-sync",
        broker_bugs.nobody_is_taken_back_into_an_isr,
        with_orders("  - kill: broker-3\n  - wait: {isr: {orders-0: [2]}}\n", TO_THE_END),
    ),
    "a-deletion-forgets-the-settings": Planted(
        "no-znode-of-a-topic-is-orphaned",
        controller_bugs.a_deletion_forgets_the_settings,
        with_orders("  - delete-topic: orders\n", TO_THE_END),
    ),
}
"""Name of a bug -> the bug. Each promised invariant has one."""
