"""What-ifs: the simulated controller decides from the state of a snapshot, as Kafka's would."""

from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ElectionRequest,
    ReassignmentRequest,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from kcsim.scenarios.what_if.answer_text import answer_lines
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion, ask_what_if

SESSION_MS = 18_000


def led(
    number: int, replicas: tuple[int, ...], leader: int | None, isr: tuple[int, ...], size_bytes: int | None = None
) -> SnapshotPartition:
    return SnapshotPartition(
        number, replicas, leader=leader, isr=isr, leader_epoch=4, controller_epoch=2, size_bytes=size_bytes
    )


ORDERS = (
    led(0, (1, 2, 3), 1, (1, 2, 3), size_bytes=100),
    led(1, (1, 3, 2), 1, (1,), size_bytes=50),  # the others are behind
    led(2, (2, 3, 4), 3, (3, 2)),  # not led by its preferred leader; broker 4 is absent
    led(3, (4,), None, (4,)),  # offline, before anything is lost
)
CLUSTER = ControlPlaneSnapshot(
    source="test",
    taken="2024-05-01T12:30:00.000Z",
    controller=1,
    controller_epoch=9,
    brokers=(SnapshotBroker(1, 1, "a"), SnapshotBroker(2, 2, "b"), SnapshotBroker(3, 3, "b")),
    broker_configs={"<default>": {"min.insync.replicas": "2"}},
    topics=(
        SnapshotTopic("orders", ORDERS),
        SnapshotTopic("clicks", (led(0, (2, 1), 2, (2, 1)),), None, {"min.insync.replicas": "1"}),
    ),
)


def test_the_simulated_cluster_is_in_the_state_of_the_snapshot() -> None:
    (now,) = ask_what_if(CLUSTER, WhatIfQuestion()).steps
    health = now.health
    assert {name: (p.leader, p.isr) for name, p in health.partitions.items()} == {
        "clicks-0": (2, (2, 1)),
        "orders-0": (1, (1, 2, 3)),
        "orders-1": (1, (1,)),
        "orders-2": (3, (3, 2)),
        "orders-3": (None, (4,)),
    }
    assert (health.controller, health.registered, health.offline) == (1, (1, 2, 3), ["orders-3"])
    assert (health.below_min_isr, health.under_replicated) == (["orders-1"], ("orders-1", "orders-2"))
    assert (health.shares[1].leaders, health.shares[1].size_bytes) == (2, 150)


def test_a_lost_broker_is_replaced_from_the_isr_only() -> None:
    """The lost broker is the controller: another is elected first. Its partition without another ISR member is offline."""
    before, after, back = ask_what_if(CLUSTER, WhatIfQuestion((Loss("broker-1", (1,)),))).steps
    health = after.health
    assert {name: (p.leader, p.isr) for name, p in health.partitions.items()} == {
        "clicks-0": (2, (2,)),
        "orders-0": (2, (2, 3)),
        "orders-1": (None, (1,)),
        "orders-2": (3, (3, 2)),
        "orders-3": (None, (4,)),
    }
    assert health.offline == ["orders-1", "orders-3"]
    assert health.below_min_isr == []
    assert health.led_otherwise(before.health) == {"orders-0": (1, 2), "orders-1": (1, None)}
    assert health.controller in (2, 3)
    assert after.unregistered_ms is not None
    assert after.controller_ms is not None
    assert 0 < after.unregistered_ms <= after.controller_ms <= after.settled_ms
    assert after.unavailable == 2
    assert after.longest_unavailable_ms >= SESSION_MS // 2
    assert (back.what, back.health.offline) == ("the lost brokers are back", ["orders-3"])


def test_a_loss_may_lead_to_an_unclean_election_if_a_setting_allows_it() -> None:
    allowed = WhatIfQuestion((Loss("broker-1", (1,)),), {"unclean.leader.election.enable": True})
    after = ask_what_if(CLUSTER, allowed).steps[1]
    assert (after.unclean, after.health.partitions["orders-1"].leader) == (("orders-1",), 3)


def test_losses_happen_one_after_another_and_a_rack_at_once() -> None:
    question = WhatIfQuestion((Loss("rack b", (2, 3)), Loss("broker-1", (1,))), returns=False)
    _, rack, everything = ask_what_if(CLUSTER, question).steps
    assert (rack.what, rack.health.registered, rack.health.below_min_isr) == (
        "rack b lost",
        (1,),
        ["orders-0", "orders-1"],
    )
    assert (everything.health.registered, everything.health.controller) == ((), None)
    assert len(everything.health.offline) == 5


def test_replicas_that_were_behind_catch_up_when_their_brokers_are_restarted() -> None:
    """The controller is restarted last, so that there is one election only."""
    before, after = ask_what_if(CLUSTER, WhatIfQuestion(restarts=True)).steps
    assert before.health.partitions["orders-1"].isr == (1,)
    assert set(after.health.partitions["orders-1"].isr) == {1, 2, 3}
    assert (after.health.registered, after.health.offline, after.unclean) == ((1, 2, 3), ["orders-3"], ())
    assert after.unavailable == 0


def test_whatever_a_snapshot_holds_the_simulated_cluster_starts() -> None:
    """Settings that no Kafka knows, a reassignment and a deletion under way, requests, and a topic that was never led."""
    strange = ControlPlaneSnapshot(
        source="test",
        taken="2024-05-01T12:30:00.000Z",
        brokers=CLUSTER.brokers,
        broker_configs={"<default>": {"log.retention.ms": "much", "no.such": "1"}, "2": {"min.insync.replicas": "-7"}},
        topics=(
            SnapshotTopic("orders", (led(0, (1, 2), 1, (1, 2)),), None, {"retention.ms": "x"}),
            SnapshotTopic("gone", (led(0, (1, 4), 1, (1,)),)),
            SnapshotTopic("moving", (SnapshotPartition(0, (1, 2, 3), (3,), (1,), 1, (1, 2), 3, 2),)),
            SnapshotTopic("new", (SnapshotPartition(0, (2, 1)),)),
        ),
        topic_deletions=("gone", "never-there"),
        reassignment_requests=(ReassignmentRequest("orders", 0, (2, 3)),),
        election_requests=(ElectionRequest("moving", 0),),
    )
    now, after, back = ask_what_if(strange, WhatIfQuestion((Loss("broker-2", (2,)),))).steps
    assert now.health.partitions["moving-0"].isr == (1, 2)  # broker 3 is behind, so the reassignment goes on
    assert now.health.partitions["new-0"].leader == 2
    assert after.health.partitions["new-0"].leader == 1
    assert set(back.health.partitions["new-0"].isr) == {1, 2}


def test_a_leader_that_was_dead_in_the_snapshot_is_replaced_at_once() -> None:
    """A snapshot may be taken before the controller has reacted."""
    outdated = ControlPlaneSnapshot(
        "s", "t", brokers=CLUSTER.brokers, topics=(SnapshotTopic("o", (led(0, (4, 2), 4, (4, 2)),)),)
    )
    (now,) = (answer := ask_what_if(outdated, WhatIfQuestion())).steps
    assert now.health.partitions["o-0"].leader == 2
    lines = [*answer_lines(outdated, answer, everything=False)]
    assert "led otherwise than in the snapshot as soon as a controller looks: o-0" in lines
