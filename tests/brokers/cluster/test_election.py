"""Elections on a cluster. Source: docs/kafka/znodes.md 4, 12, 13; docs/kafka/controller.md 2, 5 and 13.

Each test runs on the model in virtual time, and, marked live, on a real ZooKeeper; there `make test` runs only one.
"""

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from tests.brokers.cluster.environments import (
    FAST_TWINS,
    SIMULATED,
    TWINS,
    WITHIN_MS,
    controller_of,
    find,
    kill_and_expire,
    play,
    start_and_elect,
    until_found,
    until_idle,
    until_ready,
)
from tests.sinks import chain


@pytest.fixture(params=TWINS)
def on(request: pytest.FixtureRequest) -> str:
    environment: str = request.param
    return environment


def test_the_first_controller_of_a_fresh_cluster_has_epoch_1_and_version_1(on: str) -> None:
    """docs/kafka/znodes.md 4.2: the epoch znode is created with 0, and the election multi raises it."""

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)

    (won,) = find(play(script, on=on), EventKind.ELECTION_WON)
    assert (won.controller_epoch, won.controller_epoch_zk_version) == (1, 1)


def test_a_cluster_says_which_brokers_have_no_complete_metadata(on: str) -> None:
    """Clients find the controller through any broker, so they are better made after every broker knows it."""

    async def script(cluster: Cluster) -> None:
        assert cluster.incomplete_metadata() is None, "none runs"
        await start_and_elect(cluster)
        await cluster.wait_until(cluster.incomplete_metadata, WITHIN_MS)
        controller = controller_of(cluster)
        await kill_and_expire(cluster, controller)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await cluster.wait_until(cluster.incomplete_metadata, WITHIN_MS)
        await cluster.start((controller,))
        seen = cluster.incomplete_metadata()
        assert on != SIMULATED or seen == f"metadata are incomplete on {', '.join(cluster.broker_names)}"
        await cluster.wait_until(cluster.incomplete_metadata, WITHIN_MS)

    play(script, on=on)


def test_all_others_lose_and_wait(on: str) -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.wait_until(until_found(cluster.log, EventKind.ELECTION_LOST, at_least=4), WITHIN_MS)

    log = play(script, on=on, brokers=5)
    assert len(find(log, EventKind.ELECTION_WON)) == 1
    assert len({e.node for e in find(log, EventKind.ELECTION_LOST)}) == 4


@pytest.mark.parametrize(
    ("environment", "brokers"),
    [("simulated", 200), pytest.param("embedded", 30, marks=[pytest.mark.live, pytest.mark.slow])],
)
def test_of_many_brokers_one_wins_and_every_other_one_watches(environment: str, brokers: int) -> None:
    """All brokers start at once. Every loser has armed its watch: when /controller is deleted, each of them is notified.

    A watch that fired for the winner's creation is used up, and is armed again when that event is processed.
    """

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.wait_until(until_found(cluster.log, EventKind.ELECTION_LOST, at_least=brokers - 1), WITHIN_MS)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        await cluster.znodes.delete("/controller")
        gone = until_found(cluster.log, EventKind.WATCH_FIRED, brokers, path="/controller", event="NodeDeleted")
        await cluster.wait_until(gone, WITHIN_MS)

    log = play(script, on=environment, brokers=brokers)
    won = find(log, EventKind.ELECTION_WON, controller_epoch=1)
    heard = find(log, EventKind.WATCH_FIRED, path="/controller", event="NodeDeleted")
    assert len(won) == 1
    assert len({e.node for e in heard}) == brokers


def test_the_controller_finds_every_registered_broker(on: str) -> None:
    """Some brokers may register only while the winner takes over: its watch on /brokers/ids notifies it."""

    async def script(cluster: Cluster) -> None:
        name = await start_and_elect(cluster)
        await cluster.wait_until(
            lambda: (
                None
                if (seen := cluster.broker(name).controller.context.live_or_shutting_down_broker_ids) == [1, 2, 3]
                else f"the controller knows {seen}"
            ),
            WITHIN_MS,
        )

    play(script, on=on)


@pytest.mark.parametrize("on", FAST_TWINS, indirect=True)
def test_a_deleted_controller_znode_starts_an_election_that_raises_the_epoch(on: str) -> None:
    """docs/kafka/znodes.md 13.2: the old controller resigns first, then all brokers compete."""

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        await cluster.znodes.delete("/controller")
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_RESIGNED, node=first), WITHIN_MS)

    log = play(script, on=on)
    assert [e.controller_epoch for e in find(log, EventKind.ELECTION_WON)] == [1, 2]
    assert [e.controller_epoch for e in find(log, EventKind.CONTROLLER_RESIGNED)] == [1]


def test_garbage_in_the_controller_znode_leaves_nobody_in_charge(on: str) -> None:
    """The controller resigns at the change, and a ControllerChange does not elect a controller.

    Source: docs/kafka/znodes.md 12, recorded.
    """

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        await cluster.znodes.set("/controller", "junk")
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_RESIGNED, node=first), WITHIN_MS)
        done = until_found(cluster.log, EventKind.CONTROLLER_EVENT_DONE, at_least=3, event="ControllerChange")
        await cluster.wait_until(done, WITHIN_MS)
        assert not any(cluster.broker(name).controller.is_active for name in cluster.broker_names)
        await cluster.znodes.delete("/controller")
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)

    log = play(script, on=on)
    assert len(find(log, EventKind.ELECTION_WON)) == 2
    assert find(log, EventKind.BAD_ZNODE, path="/controller")


def test_another_broker_s_id_written_into_the_controller_znode_makes_it_active_without_failover(on: str) -> None:
    """docs/kafka/znodes.md 13.8, recorded: empty context, no watches; the epoch is not raised."""
    named: list[str] = []

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        other = next(name for name in cluster.broker_names if name != first)
        named.append(other)
        other_id = other.removeprefix("broker-")
        await cluster.znodes.set("/controller", f'{{"version":1,"brokerid":{other_id},"timestamp":"0"}}')
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_RESIGNED, node=first), WITHIN_MS)
        controller = cluster.broker(other).controller
        await cluster.wait_until(lambda: None if controller.is_active else f"{other} is not active", WITHIN_MS)
        assert controller.context.live_or_shutting_down_broker_ids == []

    log = play(script, on=on)
    assert [e.controller_epoch for e in find(log, EventKind.ELECTION_WON)] == [1]


def test_a_controller_epoch_that_is_no_number_leaves_nobody_who_tries_again(on: str) -> None:
    """The election fails before /controller is created; the forced resignation finds no znode to delete.

    Source: docs/kafka/znodes.md 12.
    """

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.wait_until(until_found(cluster.log, EventKind.ELECTION_LOST, at_least=2), WITHIN_MS)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)  # each loser has armed its watch again
        await cluster.znodes.set("/controller_epoch", "many")
        await cluster.znodes.delete("/controller")
        await cluster.wait_until(
            until_found(cluster.log, EventKind.CONTROLLER_EVENT_DONE, at_least=3, event="Reelect"), WITHIN_MS
        )
        assert cluster.state.controller_id is None

    log = play(script, on=on)
    assert [e.controller_epoch for e in find(log, EventKind.ELECTION_WON)] == [1]
    assert len(find(log, EventKind.BAD_ZNODE, path="/controller_epoch")) == 3


def test_a_failover_goes_through_its_steps_in_kafkas_order(on: str) -> None:
    """A controller is ready before it continues a predecessor's work; two steps are ours.

    Source: docs/kafka/logging.md 5, "failover steps".
    """

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)

    assert [e.step for e in find(play(script, on=on), EventKind.CONTROLLER_FAILOVER)] == [
        "Registering handlers",
        "Deleting log dir event and isr change notifications",
        "Initializing controller context",
        "Fetching topic deletions in progress",
        "Sending update metadata request",
        "Starting replica state machine",
        "Starting partition state machine",
        "Ready to serve as the new controller",
        "Resuming reassignments",
        "Resuming topic deletions",
        "Starting preferred replica leader election",
        "Starting the controller scheduler",
    ]


def test_a_touched_controller_epoch_refuses_every_fenced_write_but_not_the_role(on: str) -> None:
    """docs/kafka/znodes.md 13.3: /controller still names the controller, so it does not resign; every fenced write fails."""

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        await cluster.znodes.set("/controller_epoch", "1")
        for _ in range(2):
            await cluster.znodes.create(
                "/isr_change_notification/isr_change_", '{"version":1,"partitions":[]}', sequential=True
            )
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_MOVED, node=first), WITHIN_MS)
        assert cluster.broker(first).controller.is_active

    log = play(script, on=on)
    assert not find(log, EventKind.CONTROLLER_RESIGNED)
    assert find(log, EventKind.ZK_WRITE_REFUSED, error="BADVERSION", path="/controller_epoch")


def test_a_broker_restarted_within_its_session_time_out_does_not_start(on: str) -> None:
    """docs/kafka/znodes.md 5.2: it finds its own old registration, which belongs to another session."""

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.kill("broker-2")
        with pytest.raises(ClusterError, match="NODEEXISTS for /brokers/ids/2"):
            await cluster.start(["broker-2"])

    log = play(script, on=on)
    (failed,) = find(log, EventKind.BROKER_START_FAILED, node="broker-2")
    closed = find(log, EventKind.SESSION_STATE, node="broker-2", state="closed")
    assert [e.seq < failed.seq for e in closed] == [True], "it gives its session back, and is gone"


def test_a_stopped_controller_hands_over_at_once(on: str) -> None:
    """Its session is closed, not left to expire."""

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        await cluster.stop(first)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        assert controller_of(cluster) != first

    log = play(script, on=on)
    assert not find(log, EventKind.SESSION_CLOSED, error="SESSIONEXPIRED")


def test_what_a_zombie_had_queued_is_never_begun(on: str) -> None:
    """docs/kafka/controller.md 2-2, docs/kafka/znodes.md 3.4: expiry clears the queue, and the event in progress fails."""
    paused: list[str] = []

    async def script(cluster: Cluster) -> None:
        first = await start_and_elect(cluster)
        paused.append(first)
        cluster.arm_pause(first, "before", "/isr_change_notification")
        await cluster.znodes.create("/isr_change_notification/isr_change_", '{"version":1,"partitions":[]}', sequential=True)
        await cluster.wait_until(lambda: None if cluster.state.processes[first] == "paused" else "running", WITHIN_MS)
        await cluster.expire(first)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await cluster.resume(first)
        again = until_found(cluster.log, EventKind.BROKER_REGISTERED, at_least=2, node=first)
        await cluster.wait_until(again, WITHIN_MS)

    log = play(script, on=on)
    zombie = paused[0]
    (resumed,) = find(log, EventKind.PROCESS_STATE, node=zombie, state="running")[1:]
    expired = find(log, EventKind.SESSION_STATE, node=zombie, state="expired")[0]
    assert chain(log, expired)[-1] is EventKind.FAULT
    begun = [e.event for e in log.events[resumed.seq :] if e.node == zombie and e.kind is EventKind.CONTROLLER_EVENT_BEGUN]
    assert begun[:2] == ["Expire", "RegisterBrokerAndReelect"]
    written_by_it = {e.seq for e in find(log, EventKind.ZK_WRITE, node=zombie)}
    assert not [e for e in find(log, EventKind.ZNODE_DELETED) if e.cause in written_by_it]
