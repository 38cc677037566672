"""The history that a cluster's lines add up to: ordered by versions, not by clocks; each gap is reported where it shows."""

import pytest

from kcsim.brokers.apache_kafka.log_import.entries import (
    AssignmentWrite,
    ControllerRoleChange,
    RegistrationChange,
    StateGone,
    StateWrite,
    TopicGone,
    Visibility,
    WriterRole,
)
from tests.brokers.apache_kafka.log_import.lines import (
    CONTROLLER,
    DELETION,
    PARTITION,
    STATE_CHANGE,
    ZK,
    elected,
    isr_updated,
    kinds,
    line,
    shown,
    texts_of,
    won,
    writes,
)

S1, S2, C1, C2, K1, K2 = (
    f"{broker}/{file}" for file in ("state-change.log", "controller.log", "server.log") for broker in ("one", "two")
)


def removed(second: float, leader: int, epoch: int, isr: str, version: int | None, ce: int = 7) -> str:
    zk = "" if version is None else f"ZkVersion:{version},"
    return line(
        second,
        f"[Controller id=1 epoch={ce}] Partition orders-0 state changed to (Leader:{leader},ISR:{isr},LeaderEpoch:{epoch},"
        f"{zk}ControllerEpoch:{ce}) after removing replica 2 from the ISR as part of transition to OfflineReplica",
    )


def cached(second: float, broker: int, leader: int, epoch: int, isr: str, version: int, ce: int = 7) -> str:
    state = (
        f"UpdateMetadataPartitionState(topicName='orders', partitionIndex=0, controllerEpoch={ce}, leader={leader}, "
        f"leaderEpoch={epoch}, isr=[{isr}], zkVersion={version}, replicas=[1, 2, 3], offlineReplicas=[])"
    )
    return line(
        second,
        f"[Broker id={broker}] Cached leader info {state} for partition orders-0 in response to UpdateMetadata request sent "
        f"by controller 1 epoch {ce} with correlation id 3",
    )


# --- one partition ---------------------------------------------------------------------------------------------------------


def test_writes_are_in_order_of_version_whatever_the_clocks_of_their_hosts_say() -> None:
    """Broker 2's clock is ten seconds behind."""
    history = shown(
        {
            S1: [elected(10, 2, 4, "2, 3", 0, before="NewPartition"), elected(12, 3, 5, "3, 2", 2)],
            K2: [isr_updated(1, 2, "2", 1)],
        }
    )
    assert [(w.zk_version, w.role, w.by) for w in writes(history)] == [
        (0, WriterRole.CONTROLLER, 1),
        (1, WriterRole.LEADER, 2),
        (2, WriterRole.CONTROLLER, 1),
    ]


def test_a_leader_s_write_keeps_leader_and_epochs_of_the_one_before_it() -> None:
    history = shown({S1: [elected(1, 2, 4, "2, 3", 8)], K2: [isr_updated(2, 2, "2", 9)]})
    write = writes(history)[1]
    assert (write.leader, write.leader_epoch, write.isr, write.controller_epoch, write.zk_version) == (2, 4, (2,), 7, 9)


def test_a_removal_that_repeats_a_version_is_no_write_and_its_controller_epoch_is_not_the_stored_one() -> None:
    """A new controller logs such a removal for every offline replica, although nothing is left to remove."""
    history = shown({S1: [elected(1, 1, 4, "1, 3", 8), removed(9, 1, 4, "1,3", 8, ce=9)]})
    assert [(w.zk_version, w.controller_epoch) for w in writes(history)] == [(8, 7)]


def test_one_write_that_many_report_is_one_entry_with_the_writer_s_line() -> None:
    history = shown(
        {
            S1: [elected(1, 1, 4, "1, 3", 8), cached(1.1, 1, 1, 4, "1, 3", 8)],
            S2: [cached(0.9, 3, 1, 4, "1, 3", 8), cached(200, 3, 1, 4, "1, 3", 8)],
        }
    )
    assert [(str(w.place), w.shown) for w in writes(history)] == [(f"{S1}:1", Visibility.AT_ONCE)]


def test_what_is_only_seen_later_was_written_no_later_than_the_next_write() -> None:
    history = shown({S1: [elected(1, 1, 4, "1, 3", 8), cached(30, 1, 1, 4, "1", 9), elected(20, 3, 5, "1", 10)]})
    found = writes(history)
    assert [(w.zk_version, w.shown, w.role) for w in found] == [
        (8, Visibility.AT_ONCE, WriterRole.CONTROLLER),
        (9, Visibility.LATER, WriterRole.LEADER),
        (10, Visibility.AT_ONCE, WriterRole.CONTROLLER),
    ]
    assert found[1].t_ms == found[2].t_ms


def test_missing_versions_are_named_with_who_must_have_written_them() -> None:
    history = shown({S1: [elected(1, 1, 4, "1, 3", 8), elected(5, 1, 4, "1", 11), elected(9, 3, 6, "3", 14)]})
    names = [one for one in texts_of(history.not_shown) if "versions" in one]
    assert "versions 9 to 10 of orders-0: ISR changes by its leader, broker-1" in names[0]
    assert "versions 12 to 13 of orders-0: by its leader or by the controller" in names[1]


def test_what_was_before_the_first_line_is_named() -> None:
    history = shown({S1: [elected(1, 1, 4, "1, 3", 8)]})
    assert f"{S1}:1: orders-0 up to version 7 of its state: before the first line about it" in texts_of(history.not_shown)


def test_lines_that_contradict_each_other_are_named_both() -> None:
    history = shown({S1: [elected(1, 1, 4, "1, 3", 0, before="NewPartition")], S2: [cached(2, 3, 2, 5, "2", 0)]})
    (name,) = [one for one in texts_of(history.not_shown) if "which is right" in one]
    assert name.startswith(f"{S2}:1: which is right of orders-0: leader epoch 5, ISR 2")
    assert f"{S1}:1" in name


def test_an_attempt_without_a_write_is_named() -> None:
    tried = "[Partition orders-0 broker=1] Shrinking ISR from 1,3 to 1."
    history = shown({S1: [elected(1, 1, 4, "1, 3", 0, before="NewPartition")], K1: [line(2, tried, PARTITION)]})
    assert f"{K1}:1: whether broker-1 wrote the ISR 1 of orders-0, as it intended" in texts_of(history.not_shown)
    history = shown({K1: [line(2, tried, PARTITION), isr_updated(2.1, 1, "1", 4)]})
    assert [one for one in texts_of(history.not_shown) if "whether" in one] == []


# --- lines without a version -----------------------------------------------------------------------------------------------


def test_a_removal_without_a_version_takes_the_one_that_is_missing() -> None:
    """Up to 2.6 the line has no version; its leader epoch identifies the write."""
    history = shown(
        {S1: [elected(1, 1, 4, "1, 2, 3", 8), removed(2, 1, 5, "1,3", None), elected(3, 3, 6, "1, 3", 10)]},
    )
    assert [(w.zk_version, w.leader_epoch, w.version_is_shown) for w in writes(history)] == [
        (8, 4, True),
        (9, 5, False),
        (10, 6, True),
    ]
    assert [one for one in texts_of(history.not_shown) if "version" in one and "up to" not in one] == []


def test_a_removal_without_a_version_is_the_write_that_requests_report() -> None:
    history = shown({S1: [removed(2, 1, 5, "1,3", None), cached(2.1, 1, 1, 5, "1, 3", 9)]})
    assert [(w.zk_version, str(w.place)) for w in writes(history)] == [(9, f"{S1}:1")]


def test_where_no_line_has_a_version_they_are_counted_and_that_is_reported() -> None:
    """Requests of 0.10 contain leader, ISR and epochs, which suffice to order the writes."""
    sent = "Controller 1 epoch 7 sending become-leader LeaderAndIsr request "
    sent += "(Leader:{},ISR:1,3,LeaderEpoch:{},ControllerEpoch:7)"
    to = "to broker 1 for partition [orders,0]"
    history = shown({S1: [line(2, f"{sent.format(3, 5)} {to}"), line(1, f"{sent.format(1, 4)} {to}")]})
    assert [(w.leader, w.leader_epoch, w.zk_version, w.version_is_shown) for w in writes(history)] == [
        (1, 4, 0, False),
        (3, 5, 1, False),
    ]
    assert [one for one in texts_of(history.not_shown) if "so they are counted from 0" in one] != []


def test_an_epoch_raised_without_a_version_keeps_leader_and_isr() -> None:
    raised = line(2, "[Controller id=1] Updated leader epoch for partition orders-0 to 5", CONTROLLER)
    history = shown({C1: [won(0, 1, 7), raised], S1: [elected(1, 1, 4, "1, 3", 8)]})
    write = writes(history)[1]
    assert (write.leader, write.leader_epoch, write.isr, write.controller_epoch, write.zk_version) == (1, 5, (1, 3), 7, 9)


# --- topics ----------------------------------------------------------------------------------------------------------------

NEW_TOPIC = (
    "[Controller id=1] New topics: [Set(orders)], deleted topics: [Set()], new partition replica assignment "
    "[Map(orders-0 -> ReplicaAssignment(replicas=1,2, addingReplicas=, removingReplicas=))]"
)
COMPLETED = "[Topic Deletion Manager 1] Deletion of topic orders successfully completed"


def test_a_topic_made_again_under_its_name_begins_anew() -> None:
    history = shown(
        {
            C1: [line(1, NEW_TOPIC, CONTROLLER), line(5, COMPLETED, DELETION), line(8, NEW_TOPIC, CONTROLLER)],
            S1: [elected(2, 1, 0, "1, 2", 0, before="NewPartition"), elected(9, 1, 0, "1, 2", 0, before="NewPartition")],
        }
    )
    assert [type(entry) for entry in history.entries if not isinstance(entry, ControllerRoleChange)] == [
        AssignmentWrite,
        StateWrite,
        StateGone,
        TopicGone,
        AssignmentWrite,
        StateWrite,
    ]


def test_a_deletion_that_no_file_shows_follows_from_the_second_beginning() -> None:
    lines = [elected(2, 1, 0, "1, 2", 0, before="NewPartition"), elected(9, 1, 0, "1, 2", 0, before="NewPartition")]
    history = shown({S1: lines})
    assert kinds(history)[1:] == [("StateWrite", "at once"), ("StateGone", "not"), ("StateWrite", "at once")]


def test_partitions_of_a_topic_are_found_without_the_line_that_names_the_topic() -> None:
    """Where controller.log is missing, the partition state machine's lines name each partition."""
    begun = "[Controller id=1 epoch=7] Changed partition orders-{} state from NonExistentPartition to NewPartition with "
    begun += "assigned replicas {}"
    history = shown({S1: [line(1, begun.format(0, "1,2")), line(1.01, begun.format(1, "2,1"))]})
    (write,) = [entry for entry in history.entries if isinstance(entry, AssignmentWrite)]
    assert {number: one.replicas for number, one in write.assignment.items()} == {0: (1, 2), 1: (2, 1)}
    assert (write.is_new, write.shown) == (True, Visibility.LATER)


def test_a_state_seen_after_its_topic_was_deleted_is_no_write() -> None:
    history = shown(
        {
            C1: [line(1, NEW_TOPIC, CONTROLLER), line(5, COMPLETED, DELETION)],
            S1: [elected(2, 1, 0, "1, 2", 0, before="NewPartition")],
            S2: [cached(6, 3, 1, 3, "1", 4)],
        }
    )
    assert [w.zk_version for w in writes(history)] == [0]
    assert f"{S2}:1: how orders-0 can have a state: its topic had been deleted by then" in texts_of(history.not_shown)


# --- controllers -----------------------------------------------------------------------------------------------------------


def test_what_a_zombie_still_does_is_named_and_its_writes_are_marked() -> None:
    """By the clocks of both brokers, the zombie's line is later than the election of the next controller."""
    history = shown(
        {
            C1: [won(1, 1, 7)],
            C2: [won(20, 2, 8)],
            S1: [elected(2, 1, 0, "1", 0, before="NewPartition"), elected(21, 3, 1, "3", 1)],
        }
    )
    assert [w.by_zombie for w in writes(history)] == [False, True]
    (name,) = [one for one in texts_of(history.not_shown) if "zombie" in one]
    assert name.startswith(f"{S1}:2: whether what broker-1 still did with controller epoch 7")
    assert f"1000 ms after broker-2 had been elected with 8 ({C2}:1)" in name


def test_an_election_shows_in_the_first_line_with_its_epoch_if_controller_log_is_missing() -> None:
    history = shown({S1: [elected(3, 1, 4, "1", 8), elected(2, 1, 3, "1", 7)]})
    (change,) = [entry for entry in history.entries if isinstance(entry, ControllerRoleChange)]
    assert (change.controller, change.controller_epoch, change.shown) == (1, 7, Visibility.LATER)
    assert str(change.place) == f"{S1}:2"


def test_epochs_between_two_elections_are_named() -> None:
    history = shown({C1: [won(1, 1, 4)], C2: [won(9, 2, 7)]})
    assert f"{C2}:1: who was the controller with epochs 5 to 6: no file of it is here" in texts_of(history.not_shown)


# --- registrations ---------------------------------------------------------------------------------------------------------


def registered(second: float, broker: int, epoch: int | None) -> str:
    """Return a broker's line; without an epoch, as up to Kafka 2.1, for None."""
    where = f"at path /brokers/ids/{broker} with addresses: PLAINTEXT://h:9092"
    ending = "" if epoch is None else f", czxid (broker epoch): {epoch}"
    return line(second, f"Registered broker {broker} {where}{ending}", ZK)


def looked(second: float, added: str, deleted: str, bounced: str = "") -> str:
    return line(
        second,
        f"[Controller id=1] Newly added brokers: {added}, deleted brokers: {deleted}, bounced brokers: {bounced}, all live "
        "brokers: 1",
        CONTROLLER,
    )


def epochs(second: float, text: str, word: str = "Updated") -> str:
    return line(second, f"[Controller id=1] {word} broker epochs cache: HashMap({text})", CONTROLLER)


def changes_of(files: dict[str, list[str]], broker: int = 2) -> list[tuple[bool, int | None, Visibility]]:
    return [
        (entry.is_registered, entry.epoch, entry.shown)
        for entry in shown(files).entries
        if isinstance(entry, RegistrationChange) and entry.broker == broker
    ]


def test_a_broker_s_own_line_is_better_than_the_controller_s_whichever_comes_first() -> None:
    files = {C1: [looked(1, "2", ""), epochs(1.1, "1 -> 20, 2 -> 25")], K2: [registered(1.05, 2, 25)]}
    assert changes_of(files) == [(True, 25, Visibility.AT_ONCE)]


def test_without_its_own_files_a_registration_is_seen_later_with_the_epoch_of_the_list_that_follows() -> None:
    assert changes_of({C1: [looked(1, "2", ""), epochs(1.1, "1 -> 20, 2 -> 25")]}) == [(True, 25, Visibility.LATER)]


def test_the_end_is_the_controller_s_line_and_what_the_broker_says_explains_it() -> None:
    closed = line(5.2, "[ZooKeeperClient Kafka server] Closed.", "kafka.zookeeper.ZooKeeperClient")
    files = {C1: [looked(5, "", "2")], K2: [registered(1, 2, 25), closed]}
    assert changes_of(files) == [(True, 25, Visibility.AT_ONCE), (False, 25, Visibility.AT_ONCE)]
    (end,) = [e for e in shown(files).entries if isinstance(e, RegistrationChange) and not e.is_registered]
    assert (str(end.place), end.was_closed, end.because) == (f"{C1}:1", True, "it closed its session")


def test_a_bounce_ends_the_old_registration_before_the_new_one() -> None:
    files = {
        C1: [looked(3, "", "", bounced="2"), epochs(3.1, "1 -> 20, 2 -> 40")],
        K2: [registered(1, 2, 25), registered(2.9, 2, 40)],
    }
    assert changes_of(files) == [
        (True, 25, Visibility.AT_ONCE),
        (False, 25, Visibility.NOT),
        (True, 40, Visibility.AT_ONCE),
    ]


def test_two_registrations_without_epochs_are_two() -> None:
    """Up to Kafka 2.1 nothing but the broker's own line shows that a broker is back before a controller has missed it."""
    assert changes_of({K2: [registered(1, 2, None), registered(50, 2, None)]}) == [
        (True, None, Visibility.AT_ONCE),
        (False, None, Visibility.NOT),
        (True, None, Visibility.AT_ONCE),
    ]


def test_the_first_registration_after_an_upgrade_is_another_one() -> None:
    """The line of Kafka 2.1 has no epoch, that of 2.2 has one."""
    assert changes_of({K2: [registered(1, 2, None), registered(50, 2, 25)]}) == [
        (True, None, Visibility.AT_ONCE),
        (False, None, Visibility.NOT),
        (True, 25, Visibility.AT_ONCE),
    ]


def test_a_registration_without_an_epoch_that_two_files_show_is_one() -> None:
    """Kafka's start script writes what goes to server.log to kafkaServer.out as well; the controller sees it first here."""
    files = {C1: [looked(0.9, "2", "")], K2: [registered(1, 2, None)], "copy": [registered(1, 2, None)]}
    assert changes_of(files) == [(True, None, Visibility.AT_ONCE)]


def test_a_bounce_seen_by_the_controller_alone_is_both_too() -> None:
    files = {
        C1: [
            epochs(1, "1 -> 20, 2 -> 25", "Initialized"),
            looked(3, "", "", bounced="2"),
            epochs(3.1, "1 -> 20, 2 -> 40"),
        ]
    }
    assert changes_of(files) == [
        (True, 25, Visibility.LATER),
        (False, 25, Visibility.LATER),
        (True, 40, Visibility.LATER),
    ]


def test_a_session_that_expired_unseen_is_the_next_controller_s_finding() -> None:
    """The broker, which was the controller, learns of the expiry when it comes back."""
    expired = line(30, "[ZooKeeperClient Kafka server] Session expired.", "kafka.zookeeper.ZooKeeperClient")
    alive = line(20.5, "[Controller id=1] Initialized broker epochs cache: HashMap(1 -> 20)", CONTROLLER)
    files = {C2: [won(1, 2, 7)], K2: [registered(0, 2, 25), expired, registered(31, 2, 50)], C1: [won(20, 1, 8), alive]}
    assert changes_of(files) == [
        (True, 25, Visibility.AT_ONCE),
        (False, 25, Visibility.LATER),
        (True, 50, Visibility.AT_ONCE),
    ]
    entries = shown(files).entries
    (ended,) = [e for e in entries if isinstance(e, RegistrationChange) and not e.is_registered]
    (_, gone, won_by_1) = [e for e in entries if isinstance(e, ControllerRoleChange)]
    assert (ended.t_ms, gone.t_ms, gone.with_session) == (won_by_1.t_ms, won_by_1.t_ms, True)
    assert str(ended.place) == f"{K2}:2"


def test_the_session_of_the_last_controller_ends_before_the_next_is_elected() -> None:
    """Otherwise the end of that session would delete the /controller of the next one."""
    expired = line(30, "[ZooKeeperClient Kafka server] Session expired.", "kafka.zookeeper.ZooKeeperClient")
    alive = line(20.5, "[Controller id=1] Initialized broker epochs cache: HashMap(1 -> 20)", CONTROLLER)
    files = {C2: [won(1, 2, 7)], K2: [registered(0, 2, 25), expired], C1: [won(20, 1, 8), alive]}
    entries = shown(files).entries
    ended = next(place for place, e in enumerate(entries) if isinstance(e, RegistrationChange) and not e.is_registered)
    elected_again = next(
        place for place, e in enumerate(entries) if isinstance(e, ControllerRoleChange) and e.controller == 1
    )
    assert ended < elected_again


def test_a_broker_that_registers_while_a_new_controller_reads_the_brokers_was_never_gone() -> None:
    """The controller read the brokers before, logs them after, and finds the broker a moment later, with the same epoch."""
    read = [
        epochs(20.5, "1 -> 20", "Initialized"),
        line(20.6, "[Controller id=1] Currently active brokers in the cluster: Set(1)", CONTROLLER),
    ]
    found = [looked(21, "2", ""), epochs(21.1, "1 -> 20, 2 -> 25")]
    files = {C1: [won(20, 1, 8), *read, *found], K2: [registered(20.4, 2, 25)]}
    assert changes_of(files) == [(True, 25, Visibility.AT_ONCE)]
    again = {C1: [won(20, 1, 8), *read, looked(21, "2", ""), epochs(21.1, "1 -> 20, 2 -> 30")], K2: [registered(10, 2, 25)]}
    assert changes_of(again) == [(True, 25, Visibility.AT_ONCE), (False, 25, Visibility.NOT), (True, 30, Visibility.LATER)]


def test_an_end_is_not_put_to_an_election_before_its_registration() -> None:
    """Broker 2 lost the role once; the session whose end was not logged, much later, is another one."""
    files = {
        C2: [won(1, 2, 7)],
        C1: [looked(4, "", "2"), won(5, 1, 8)],
        K2: [registered(0, 2, 25), registered(10, 2, 40), registered(60, 2, 90)],
    }
    ends = [e for e in shown(files).entries if isinstance(e, RegistrationChange) and not e.is_registered]
    began = next(e.t_ms for e in shown(files).entries if isinstance(e, RegistrationChange) and e.epoch == 25)
    assert [(e.t_ms - began, e.shown) for e in ends] == [(4_000, Visibility.AT_ONCE), (60_000, Visibility.NOT)]


def test_a_controller_may_lose_the_role_and_keep_its_session() -> None:
    """/controller was removed by hand; broker 2 dies when broker 1 is the controller, and broker 3 finds broker 2 gone."""
    absent = line(40.2, "[Controller id=3] Initialized broker epochs cache: HashMap(3 -> 30)", CONTROLLER)
    files = {C2: [won(1, 2, 7)], C1: [won(5, 1, 8)], "three": [won(40, 3, 9), absent], K2: [registered(0, 2, 25)]}
    entries = shown(files).entries
    began = next(e.t_ms for e in entries if isinstance(e, RegistrationChange) and e.epoch == 25)
    (end,) = [e for e in entries if isinstance(e, RegistrationChange) and e.broker == 2 and not e.is_registered]
    assert (end.t_ms - began, end.shown) == (40_200, Visibility.NOT)
    roles = [(e.t_ms - began, e.controller, e.with_session) for e in entries if isinstance(e, ControllerRoleChange)]
    assert roles == [(1_000, 2, False), (5_000, None, False), (5_000, 1, False), (40_000, None, False), (40_000, 3, False)]


def test_a_file_of_two_brokers_does_not_show_whose_session_ended() -> None:
    closed = line(5, "[ZooKeeperClient Kafka server] Closed.", "kafka.zookeeper.ZooKeeperClient")
    assert changes_of({K1: [registered(1, 2, 25), registered(2, 3, 26), closed]}) == [(True, 25, Visibility.AT_ONCE)]


@pytest.mark.parametrize("logger", [STATE_CHANGE, CONTROLLER])
def test_lines_without_history_make_none(logger: str) -> None:
    assert shown({S1: [line(1, "[Controller id=1] Resigned", logger)]}).entries == ()
