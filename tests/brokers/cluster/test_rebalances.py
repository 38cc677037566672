"""Causes of a group's rebalance, and events that cause none. Source: docs/kafka/consumer_groups.md 7, 10.5, 11."""

from dataclasses import replace

from kcsim.brokers.clients.clients import ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.requests import OffsetCommitRequest, OffsetCommitResponse
from kcsim.brokers.network.link_conditions import Links
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.consuming import GROUP, ORDERS, Consuming, consumer, play

ORDERS_0 = TopicPartition(ORDERS, 0)


async def formed(run: Consuming, *specs: ConsumerSpec) -> None:
    """Form a stable group of these consumers."""
    run.cluster.consumers.declare(specs)
    names = [spec.name for spec in specs]
    await run.cluster.consumers.start(names)
    await run.until_stable(1, *names)


def reasons(run: Consuming) -> list[str]:
    """Return the reasons for which rebalances began, without member ids."""
    return [" ".join((e.rule or "").split()[2:]) for e in run.of_kind(EventKind.GROUP_REBALANCE)]


def test_a_consumer_that_joins_gets_its_share_in_one_round_eagerly() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1"), consumer("c2"))
        run.cluster.consumers.declare([consumer("c3")])
        await run.cluster.consumers.start(["c3"])
        await run.until_stable(2, "c1", "c2", "c3")
        assert [len(owned) for owned in run.owned("c1", "c2", "c3")] == [2, 2, 2]

    play(script)


def test_a_consumer_that_joins_gets_its_share_in_two_rounds_cooperatively_and_never_what_another_still_has() -> None:
    async def script(run: Consuming) -> None:
        both = (AssignmentStrategy.COOPERATIVE_STICKY,)
        await formed(run, consumer("c1", strategies=both), consumer("c2", strategies=both))
        run.cluster.consumers.declare([consumer("c3", strategies=both)])
        await run.cluster.consumers.start(["c3"])
        await run.until(lambda: sorted(map(len, run.owned("c1", "c2", "c3"))) == [2, 2, 2], "two each")
        assert run.group.generation == 3
        gaps = [gap for gaps in run.group.gaps.values() for gap in gaps]
        assert len(gaps) == 2  # of the two that moved; the other four were consumed without interruption
        owners: dict[str, set[str]] = {}
        for event in run.cluster.log.events:
            for tp in event.partitions or () if event.node.startswith("consumer") else ():
                if event.kind is EventKind.PARTITIONS_REVOKED:
                    owners[tp].discard(event.node)
                else:
                    owners.setdefault(tp, set()).add(event.node)
                    assert len(owners[tp]) == 1, f"{tp} at {event.seq}: {owners[tp]}"

    play(script)


def test_a_consumer_that_stops_leaves_at_once_and_has_committed() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", auto_offset_reset="earliest"), consumer("c2", auto_offset_reset="earliest"))
        await run.write(ORDERS_0, 10)
        await run.until(lambda: run.consumed("c1") == 10, "c1 has read them")
        began_ms = run.cluster.runtime.now_ms()
        await run.cluster.consumers.stop("c1")
        (removed,) = run.of_kind(EventKind.GROUP_MEMBER_REMOVED)
        assert (removed.rule, removed.t_ms - began_ms < 100) == ("left", True)
        await run.until_stable(2, "c2")
        await run.write(ORDERS_0, 5)
        await run.until(lambda: run.consumed("c2") == 5, "c2 goes on where c1 stopped")

    play(script)


def test_more_partitions_are_noticed_by_the_leader_when_its_metadata_is_too_old() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", metadata_max_age_ms=20_000), consumer("c2", metadata_max_age_ms=20_000))
        grown_ms = run.cluster.runtime.now_ms()
        await run.cluster.topics.add_partitions(ORDERS, 8)
        await run.until_stable(2, "c1", "c2")
        assert run.cluster.runtime.now_ms() - grown_ms <= 20_000 + 3_100
        assert [len(owned) for owned in run.owned("c1", "c2")] == [4, 4]
        assert reasons(run)[-1] == "leads and rejoined"

    play(script)


def test_a_topic_that_comes_into_being_is_consumed() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", ORDERS, "returns"))
        await run.create("returns", 2)
        await run.until(lambda: len(run.owned("c1")[0]) == 8, "returns is consumed")

    play(script)


def test_a_pattern_that_matches_a_new_topic_makes_its_consumers_rejoin_once() -> None:
    async def script(run: Consuming) -> None:
        specs = [consumer(name, pattern="orders.*", metadata_max_age_ms=5_000) for name in ("c1", "c2")]
        await formed(run, *specs)
        await run.create("payments", 1)
        await run.create("orders-eu", 2)
        await run.until(lambda: sorted(map(len, run.owned("c1", "c2"))) == [4, 4], "orders-eu is consumed")
        await run.cluster.runtime.sleep_ms(12_000)
        assert reasons(run)[1:] == ["changed its subscription"]

    play(script)


def test_a_new_leader_of_a_partition_is_no_reason_for_a_rebalance_and_is_found_by_its_consumer() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", auto_offset_reset="earliest"))
        coordinator = run.coordinator()
        states = run.cluster.state.of_topics
        led = next(tp for tp in states.partitions() if tp.topic == ORDERS and f"broker-{states.leader(tp)}" != coordinator)
        await run.cluster.kill(f"broker-{states.leader(led)}")
        await run.until(lambda: states.leader(led) is not None, "a new leader")
        await run.until(lambda: len(states.isr(led)) == 2, "the ISR is two")
        await run.write(led, 7)
        await run.until(lambda: run.consumed("c1") == 7, "read from the new leader")
        assert run.group.generation == 1

    play(script)


def test_the_loss_of_the_coordinator_is_no_reason_for_a_rebalance() -> None:
    """Its successor loads the group; members find it and continue under the same generation."""

    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1"), consumer("c2"))
        lost = run.coordinator()
        await run.cluster.kill(lost)
        offsets_0 = TopicPartition("__consumer_offsets", 0)
        states = run.cluster.state.of_topics
        await run.until(lambda: f"broker-{states.leader(offsets_0)}" not in (lost, "broker-None"), "a new coordinator")
        await run.cluster.runtime.sleep_ms(30_000)
        assert [e.state for e in run.of_kind(EventKind.GROUP_COORDINATION)] == ["loaded"]
        assert run.group.generation == 1
        assert run.of_kind(EventKind.GROUP_MEMBER_REMOVED) == []
        await run.cluster.consumers.stop("c1")
        await run.until_stable(2, "c2")

    play(script, zookeeper_session_timeout_ms=2_000)


def test_offsets_survive_the_loss_of_the_coordinator() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", auto_offset_reset="earliest"))
        await run.write(ORDERS_0, 10)
        await run.until(
            lambda: bool([e for e in run.of_kind(EventKind.OFFSETS_COMMITTED) if "orders-0 at 10" in (e.detail or "")]),
            "committed",
        )
        lost = run.coordinator()
        await run.cluster.kill(lost)
        await run.cluster.consumers.stop("c1")
        await run.cluster.consumers.start(["c1"])
        await run.until(lambda: bool(run.owned("c1")[0]), "c1 is back")
        await run.cluster.runtime.sleep_ms(2_000)
        assert run.consumed("c1") == 10  # and not again

    play(script, zookeeper_session_timeout_ms=2_000)


def test_a_static_member_that_is_back_before_its_session_is_over_causes_no_rebalance() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", is_static=True), consumer("c2", is_static=True))
        before = run.owned("c1", "c2")
        await run.cluster.consumers.kill("c2")
        await run.cluster.consumers.start(["c2"])
        await run.until(lambda: run.owned("c1", "c2") == before, "c2 has its partitions again")
        await run.cluster.runtime.sleep_ms(30_000)
        assert (run.group.generation, run.group.moves) == (1, [])

    play(script)


def test_a_static_member_that_stops_does_not_leave() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", is_static=True), consumer("c2", is_static=True))
        await run.cluster.consumers.stop("c2")
        assert run.of_kind(EventKind.GROUP_MEMBER_REMOVED) == []
        await run.until_stable(2, "c1")
        assert "sent no heartbeat" in reasons(run)[-1]

    play(script)


def test_a_frozen_consumer_is_missed_and_finds_when_it_wakes_that_it_has_lost_everything() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1"), consumer("c2"))
        await run.cluster.consumers.pause("c2")
        await run.until_stable(2, "c1")
        await run.cluster.consumers.resume("c2")
        await run.until_stable(3, "c1", "c2")
        (lost,) = run.of_kind(EventKind.PARTITIONS_LOST)
        assert (lost.node, lost.count) == ("consumer-c2", 3)

    play(script)


def test_a_consumer_whose_application_is_busy_leaves_by_itself_after_max_poll_interval() -> None:
    """Its heartbeats continue meanwhile, so the coordinator would never remove it."""

    async def script(run: Consuming) -> None:
        specs = [consumer(name, max_poll_interval_ms=20_000) for name in ("c1", "c2")]
        await formed(run, *specs)
        stalled_ms = run.cluster.runtime.now_ms()
        await run.cluster.consumers.stall("c2", 60_000)
        await run.until_stable(2, "c1")
        (removed,) = run.of_kind(EventKind.GROUP_MEMBER_REMOVED)
        assert removed.rule == "left"
        assert 20_000 < removed.t_ms - stalled_ms <= 23_100
        await run.until_stable(3, "c1", "c2")
        assert run.of_kind(EventKind.PARTITIONS_LOST)[-1].node == "consumer-c2"

    play(script)


def test_two_processes_with_one_instance_id_the_earlier_is_fenced_and_ends() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", is_static=True), consumer("c2", is_static=True))
        await run.cluster.consumers.pause("c2")
        run.cluster.consumers.declare([replace(consumer("c2-twin"), instance_id="c2")])
        await run.cluster.consumers.start(["c2-twin"])
        await run.until(lambda: len(run.owned("c2-twin")[0]) == 3, "the twin has taken the place")
        await run.cluster.consumers.resume("c2")
        await run.until(lambda: run.seen.processes["consumer-c2"] == "stopped", "the earlier one has ended")
        (ended,) = [e for e in run.of_kind(EventKind.PROCESS_STATE) if e.node == "consumer-c2" and e.state == "stopped"]
        assert ended.error == "FENCED_INSTANCE_ID"
        assert run.group.generation == 1

    play(script)


def test_a_consumer_that_shares_no_assignor_with_the_group_ends_with_the_coordinators_error() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", strategies=(AssignmentStrategy.RANGE,)))
        run.cluster.consumers.declare([consumer("c2", strategies=(AssignmentStrategy.ROUND_ROBIN,))])
        await run.cluster.consumers.start(["c2"])
        await run.until(lambda: run.seen.processes["consumer-c2"] == "stopped", "the other one has ended")
        (ended,) = [e for e in run.of_kind(EventKind.PROCESS_STATE) if e.node == "consumer-c2" and e.state == "stopped"]
        assert ended.error == "INCONSISTENT_GROUP_PROTOCOL"
        assert (run.group.generation, len(run.owned("c1")[0])) == (1, 6)

    play(script)


def test_nobody_coordinates_while_fewer_brokers_live_than_the_offsets_topic_wants_replicas() -> None:
    async def script(run: Consuming) -> None:
        run.cluster.consumers.declare([consumer("c1")])
        await run.cluster.consumers.start(["c1"])
        await run.cluster.runtime.sleep_ms(20_000)
        assert "__consumer_offsets" not in run.cluster.state.of_topics.topics
        await run.cluster.consumers.stop("c1")

    play(script, brokers=2)


def test_a_consumer_that_is_cut_off_from_everybody_is_missed_and_rejoins_when_it_is_back() -> None:
    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1"), consumer("c2"))
        everybody = Links(frozenset({"consumer-c2"}), None, both_ways=True)
        run.cluster.network_faults.partition(everybody)
        await run.until_stable(2, "c1")
        run.cluster.network_faults.heal(everybody)
        await run.until_stable(3, "c1", "c2")
        assert run.of_kind(EventKind.PARTITIONS_LOST)[-1].node == "consumer-c2"

    play(script)


def test_a_consumer_that_cannot_reach_its_coordinator_alone_goes_on_reading_until_it_hears_otherwise() -> None:
    """The coordinator removes it; meanwhile two read the same partitions, separated only by commits and generations."""

    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1"), consumer("c2"))
        states, coordinator = run.cluster.state.of_topics, run.coordinator()
        (mine, *_) = [tp for tp in run.owned("c2")[0] if f"broker-{states.leader(partition(tp))}" != coordinator]
        await run.write(partition(mine), 3)
        await run.until(lambda: run.consumed("c2") == 3, "c2 reads")
        run.cluster.network_faults.partition(Links(frozenset({"consumer-c2"}), frozenset({coordinator}), both_ways=True))
        await run.until_stable(2, "c1")
        assert mine in run.owned("c1")[0]
        assert mine in run.owned("c2")[0]
        await run.write(partition(mine), 5)
        await run.until(lambda: run.consumed("c1") >= 5 and run.consumed("c2") == 3 + 5, "both have read them")

    play(script)


def test_a_committed_offset_that_the_log_does_not_have_is_not_asked_for_again_and_again() -> None:
    """auto.offset.reset decides then, and not the commit."""

    async def script(run: Consuming) -> None:
        await formed(run, consumer("c1", auto_offset_reset="earliest"))
        await run.cluster.consumers.stop("c1")
        await run.write(ORDERS_0, 3)
        client = ClusterClient(run.cluster.client_process("admin"), run.cluster.bootstrap)
        await client.refresh(0)
        commit = OffsetCommitRequest(GROUP, {ORDERS_0: 1_000})
        answer: OffsetCommitResponse = await client.send_to(BrokerId(int(run.coordinator()[-1])), commit, 0)
        assert answer.error is ErrorCode.NONE
        await run.cluster.consumers.start(["c1"])
        await run.until(lambda: run.consumed("c1") == 3, "c1 reads from the beginning")

    play(script)


def partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
