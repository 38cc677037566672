"""The verbs of the control channel: each is answered with what was observed, or denied with the reason."""

from collections.abc import Awaitable, Callable, Mapping
from io import StringIO
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.up_cluster.control import DeniedError
from kcsim.scenarios.cli.up_cluster.control_commands import ControlCommands
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster
from kcsim.vocabulary import BrokerId
from tests.brokers.cluster.environments import WITHIN_MS, find, play, start_and_elect, until_found
from tests.brokers.cluster.test_client_ports import play_with_ports
from tests.brokers.cluster.test_client_records import servers_of
from tests.brokers.differential.raw_client import CLIENT_ID, raw_client

Answer = Mapping[str, Any]
Ask = Callable[..., Awaitable[Answer]]
Conversation = Callable[[Cluster, Ask], Awaitable[None]]
ORDERS = NewTopic("orders", assignment=[(BrokerId(2), BrokerId(3)), (BrokerId(3), BrokerId(2))])

PLAYGROUND = {
    "name": "playground",
    "description": "What steps can name.",
    "cluster": {"brokers": 3, "topics": {"payments": {"assignment": {0: [1, 2]}}}},
    "workload": {"producers": {"writer": {"topics": "payments", "settings": {"acks": "all"}, "rate": 100}}},
    "timetable": [{"start": "all"}],
}


def commands_of(cluster: Cluster) -> Ask:
    """Return how to ask a cluster; its brokers have not started yet."""
    timeline = ConsoleTimeline(console_on(StringIO()), cluster.broker_names)
    cluster.log.subscribe(timeline)
    followed = FollowedCluster()
    for event in cluster.log.events:
        followed.apply(event)
    cluster.log.subscribe(followed.apply)
    steps = SingleSteps(cluster, Scenario.model_validate(PLAYGROUND))
    verbs = ControlCommands(cluster, "127.0.0.1:2181", lambda event: timeline.sentences.get(event.seq), followed, steps)

    async def ask(verb: str, target: str | None = None, **arguments: Any) -> Answer:
        return await verbs.answer(verb, arguments if target is None else {"target": target, **arguments})

    return ask


def talk(conversation: Conversation, *, brokers: int = 3) -> EventLog:
    """Run the conversation with a cluster that has elected a controller, in virtual time; return its event log."""

    async def script(cluster: Cluster) -> None:
        ask = commands_of(cluster)
        await start_and_elect(cluster)
        await conversation(cluster, ask)

    return play(script, brokers=brokers)


async def create_orders(cluster: Cluster) -> None:
    """Create the topic orders: broker-2 leads orders-0, broker-3 leads orders-1."""
    await cluster.topics.create(ORDERS, _NoNumbers())
    for kind in (EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER):
        await cluster.wait_until(until_found(cluster.log, kind, at_least=2), WITHIN_MS)


class _NoNumbers:
    def randrange(self, stop: int) -> int:
        raise AssertionError("nothing is placed here")


# --- faults and acts on a node ---------------------------------------------------------------------------------------------


def test_a_fault_is_answered_with_what_it_was_seen_to_do() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        answers["kill"] = await ask("kill", "broker-3")
        answers["pause"] = await ask("pause", "broker-2")

    answers: dict[str, Answer] = {}
    log = talk(conversation)
    (killed,) = find(log, EventKind.FAULT, fault="kill")
    (confirmed,) = find(log, EventKind.FAULT_CONFIRMED, fault="kill")
    assert answers["kill"] == {"target": "broker-3", "seq": killed.seq, "observed": [confirmed.detail]}
    assert answers["pause"]["observed"] == ["broker-2 is frozen between two steps, its heartbeats with it"]


def test_an_action_is_answered_with_what_was_observed_of_its_broker() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        seen.append((await ask("stop", "broker-3"))["observed"][-1])
        seen.append((await ask("start", "broker-3"))["observed"][-1])
        await ask("pause", "broker-3")
        seen.append((await ask("resume", "broker-3"))["observed"][-1])

    seen: list[str] = []
    talk(conversation)
    assert (seen[0], seen[2]) == ("broker-3 has stopped", "broker-3 resumes where it was frozen")
    assert seen[1].startswith("broker-3 registers anew, with broker epoch ")


def test_a_reconnection_is_answered_when_it_has_come_about() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        seen.extend((await ask("disconnect", "broker-3"))["observed"])
        await cluster.wait_until(until_found(cluster.log, EventKind.SESSION_STATE, state="suspended"), WITHIN_MS)
        seen.extend((await ask("reconnect", "broker-3"))["observed"])

    seen: list[str] = []
    log = talk(conversation)
    (connected,) = find(log, EventKind.SESSION_STATE, node="broker-3", state="connected")[1:]
    assert seen[0] == f"connection of session {connected.session_id} is cut"
    assert seen[1].startswith("broker-3 is connected to ZooKeeper again, its session ")


def test_an_expiry_and_a_failed_disk_are_faults_too() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        seen.extend((await ask("expire", "broker-2"))["observed"])
        seen.extend((await ask("fail-log-dir", "broker-3"))["observed"])

    seen: list[str] = []
    talk(conversation)
    assert seen[0].startswith("session 0x")
    assert " is lost with 2 replicas: orders-" in seen[1]


def test_targets_are_also_roles() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        for target in ("leader-of orders-0", "preferred-of orders-1", "follower-of orders-0", "broker-1"):
            meant[target] = (await ask("pause", target))["target"]
            await ask("resume", target)
        meant["controller"] = (await ask("kill", "controller"))["target"]

    meant: dict[str, str] = {}
    log = talk(conversation)
    (won,) = find(log, EventKind.ELECTION_WON)
    assert meant == {
        "leader-of orders-0": "broker-2",
        "preferred-of orders-1": "broker-3",
        "follower-of orders-0": "broker-3",
        "broker-1": "broker-1",
        "controller": won.node,
    }


def test_the_network_can_be_cut_and_healed_by_naming_one_side_or_both() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        answers.append(await ask("partition", "leader-of orders-0 and broker-1, broker-3"))
        answers.append(await ask("heal", "all"))
        answers.append(await ask("break-connections", "broker-3"))

    answers: list[Answer] = []
    log = talk(conversation)
    (cut, _) = find(log, EventKind.FAULT)
    (healed,) = find(log, EventKind.ADMIN_ACT, op="heal")
    confirmed = [event.detail for event in find(log, EventKind.FAULT_CONFIRMED)]
    assert [answer["target"] for answer in answers[:2]] == ["between broker-2 and broker-1, broker-3", "between all and all"]
    assert [answer["seq"] for answer in answers[:2]] == [cut.seq, healed.seq]
    assert answers[0]["observed"] == confirmed[:1]
    assert answers[1]["observed"] == ["an operator heals the network between all and all, 4 links in trouble"]
    assert answers[2]["observed"] == confirmed[1:]
    assert str(confirmed[1]).endswith("broken between broker-3 and all")


@pytest.mark.parametrize(
    ("verb", "target", "invalid_request", "reason"),
    [
        ("partition", "broker-1 and broker-4", True, "unknown target 'broker-4'; did you mean broker-3?"),
        (
            "partition",
            "broker-1 and member-1",
            True,
            "member-1: the network is between brokers; of servers, pause or kill one",
        ),
        ("partition", "broker-1 and broker-1", False, "there is no link between broker-1 and broker-1"),
        ("heal", "all", False, "heal has no effect: nothing is wrong between all and all"),
    ],
)
def test_a_network_without_such_links_is_not_faulted(verb: str, target: str, invalid_request: bool, reason: str) -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        with pytest.raises(DeniedError) as denied:
            await ask(verb, target)
        errors.append((denied.value.invalid_request, str(denied.value)))

    errors: list[tuple[bool, str]] = []
    talk(conversation)
    assert errors == [(invalid_request, reason)]


def test_servers_of_zookeeper_can_be_faulted_as_well() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        answers.append(await ask("pause", "member-1"))
        answers.append(await ask("resume", "member-1"))
        with pytest.raises(
            DeniedError, match="expire is done to brokers; to servers of ZooKeeper: kill, start, pause, resume"
        ):
            await ask("expire", "member-1")

    answers: list[Answer] = []
    talk(conversation)
    assert [answer["observed"] for answer in answers] == [
        ["pause of member-1 has taken effect"],
        ["resume of member-1 has taken effect"],
    ]


# --- denied ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        ("kil", {"target": "broker-1"}, "unknown verb 'kil'; did you mean kill?"),
        ("kill", {"target": "broker-9"}, "unknown target 'broker-9'; did you mean broker-"),
        ("kill", {"target": "everybody"}, "unknown target 'everybody'; there are broker-1, broker-2, broker-3, controller"),
        ("kill", {"target": "leader-of orders"}, "'orders' is no partition; write one as orders-0"),
        ("kill", {"target": "leader-of orders-7"}, "there is no partition orders-7"),
        ("kill", {}, "kill: Object missing required field `target`"),
        ("kill", {"target": 3}, "kill: Expected `str`, got `int`"),
        ("kill", {"target": "broker-1", "path": "/"}, "kill: Object contains unknown field `path`"),
        ("elect-leaders", {"election_type": "FAIR", "partitions": None}, "elect-leaders: Invalid enum value 'FAIR'"),
        ("alter-partition-reassignments", {"targets": {"orders": [1]}}, "'orders' is no partition"),
        ("alter-partition-reassignments", {"targets": {"orders-0": ["1"]}}, "Expected `int`, got `str`"),
        ("status", {"of": "all"}, "status: Object contains unknown field `of`"),
    ],
)
def test_what_invalid_request_is_denied_and_changes_nothing(verb: str, arguments: Answer, message: str) -> None:
    """No request that comes in over the socket stops the cluster."""

    async def conversation(cluster: Cluster, ask: Ask) -> None:
        with pytest.raises(DeniedError) as caught:
            await ask(verb, **arguments)
        denied.append((str(caught.value), caught.value.invalid_request))

    denied: list[tuple[str, bool]] = []
    log = talk(conversation)
    assert (message in denied[0][0], denied[0][1]) == (True, True), denied
    assert find(log, EventKind.FAULT) == []


@pytest.mark.parametrize(("target", "meant"), [("orders-1", "leader-of orders-1"), ("leader", "leader-of orders-0")])
def test_a_partition_without_a_role_and_a_role_without_a_partition_are_understood(target: str, meant: str) -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        with pytest.raises(DeniedError, match=f"unknown target '{target}'; did you mean {meant}\\?"):
            await ask("kill", target)

    talk(conversation)


def test_what_cannot_be_done_now_is_denied_as_such() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        for verb, target in (("start", "broker-1"), ("resume", "broker-1")):
            with pytest.raises(DeniedError) as caught:
                await ask(verb, target)
            denied.append((str(caught.value), caught.value.invalid_request))
        for name in cluster.broker_names:
            await ask("stop", name)
        with pytest.raises(DeniedError) as caught:
            await ask("kill", "controller")
        denied.append((str(caught.value), caught.value.invalid_request))

    denied: list[tuple[str, bool]] = []
    talk(conversation)
    assert denied == [
        ("broker-1 runs already", False),
        ("broker-1 is not paused", False),
        ("no broker is the controller now", False),
    ]


# --- the controller's API --------------------------------------------------------------------------------------------------


def test_the_status_says_who_there_is() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await ask("kill", "broker-2" if cluster.state.controller_id != 2 else "broker-3")
        answers.append(await ask("status"))
        answers.append({"controller": f"broker-{cluster.state.controller_id}"})

    answers: list[Answer] = []
    talk(conversation)
    assert answers[0]["connect_string"] == "127.0.0.1:2181"
    assert sorted(answers[0]["brokers"].values()) == ["dead", "running", "running"]
    assert answers[0]["controller"] == answers[1]["controller"]
    assert answers[0]["members"] == ["member-1"]


def test_any_step_of_the_scenario_language_can_be_done() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        slow = await ask("step", steps=["slow-link: {from: broker-1, to: broker-2, delay: 200ms}"])
        named = await ask("step", steps=["pause: leader-of orders-0\nas: old"])
        again = await ask("step", steps=["resume: old", "wait: {in-sync: all, within: 60s}"])
        seen.extend([slow["observed"], named["observed"], again["observed"]])

    seen: list[list[str]] = []
    talk(conversation)
    assert "slows the network down" in seen[0][0]
    assert seen[1] == ["broker-2 is frozen between two steps, its heartbeats with it"]
    assert "broker-2" in "".join(seen[2])


def test_a_step_waits_until_what_it_is_given_as_when_has_come_true() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        await ask("step", steps=["kill: leader-of orders-0", "start: broker-2\nwhen: {leader: {orders-0: broker-3}}"])

    log = talk(conversation)
    elected = find(log, EventKind.LEADER_ELECTION, topic="orders", partition=0, leader=3)
    started = find(log, EventKind.PROCESS_STATE, node="broker-2", state="running")
    assert started[-1].seq > elected[0].seq


def test_producers_are_at_work_and_their_records_are_counted() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        assert (await ask("snapshot", as_json=True))["records"] is None
        await ask("step", steps=["create-topic: payments", "start-workload: writer"])
        await ask("step", steps=["stop-workload: writer\nafter: 5s"])
        records.append((await ask("snapshot", as_json=True))["records"])
        lines.extend((await ask("snapshot"))["lines"])

    records: list[dict[str, int]] = []
    lines: list[str] = []
    talk(conversation)
    assert records[0]["acknowledged"] == records[0]["sent"] > 100
    assert records[0]["lost"] == 0
    assert lines[-1].startswith(f"Records of producers: {records[0]['sent']} sent")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["kil: controller"], "kil: controller: unknown verb 'kil'; did you mean kill?"),
        (["kill: controller", "start: broker-7"], "start: broker-7: unknown broker 'broker-7'"),
        (["start-workload: riter"], "start-workload: riter: "),
        (["at: 5s\nkill: controller"], "at counts from the beginning of a timetable; write after"),
    ],
)
def test_an_invalid_step_is_denied_before_anything_is_done(steps: list[str], message: str) -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        before = len(cluster.log.events)
        with pytest.raises(DeniedError) as caught:
            await ask("step", steps=steps)
        denied.append((str(caught.value), caught.value.invalid_request, len(cluster.log.events) - before))

    denied: list[tuple[str, bool, int]] = []
    talk(conversation)
    ((reason, is_invalid, events),) = denied
    assert message in reason
    assert (is_invalid, events) == (True, 0)


def test_a_step_that_cannot_be_done_now_is_denied_as_such() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        with pytest.raises(DeniedError, match="is not paused") as caught:
            await ask("step", steps=["resume: broker-1"])
        denied.append(caught.value.invalid_request)

    denied: list[bool] = []
    talk(conversation)
    assert denied == [False]


def test_a_snapshot_has_the_present_state_of_the_cluster() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        answers["before"] = await ask("snapshot", as_json=True)
        await ask("kill", "broker-2")
        answers["after"] = await ask("snapshot", as_json=True)
        answers["lines"] = await ask("snapshot")

    answers: dict[str, Answer] = {}
    talk(conversation)
    processes = [{b["name"]: b["process"] for b in answers[when]["brokers"]} for when in ("before", "after")]
    assert [of["broker-2"] for of in processes] == ["running", "dead"]
    assert [(p["topic"], p["partition"], p["leader"]) for p in answers["before"]["partitions"]] == [
        ("orders", 0, 2),
        ("orders", 1, 3),
    ]
    assert any(line.split()[:2] == ["broker-2", "dead"] for line in answers["lines"]["lines"])


def test_reassignments_are_asked_for_listed_and_cancelled() -> None:
    """The target is dead, and its session has not expired yet: the reassignment is accepted, and cannot be completed."""

    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        await ask("kill", "broker-4")
        answers.append(await ask("alter-partition-reassignments", targets={"orders-0": [2, 4], "orders-9": [1]}))
        answers.append(await ask("list-partition-reassignments"))
        answers.append(await ask("alter-partition-reassignments", targets={"orders-0": None}))
        answers.append(await ask("list-partition-reassignments"))

    answers: list[Answer] = []
    talk(conversation, brokers=4)
    asked, listed, cancelled, empty = answers
    assert asked == {"errors": {"orders-0": "NONE", "orders-9": "UNKNOWN_TOPIC_OR_PARTITION"}}
    under_way = {"replicas": (2, 4, 3), "adding_replicas": (4,), "removing_replicas": (3,)}
    assert listed == {"reassignments": {"orders-0": under_way}}
    assert cancelled == {"errors": {"orders-0": "NONE"}}
    assert empty == {"reassignments": {}}


def test_leaders_are_elected_on_request() -> None:
    async def conversation(cluster: Cluster, ask: Ask) -> None:
        await create_orders(cluster)
        answers.append(await ask("elect-leaders", election_type="PREFERRED", partitions=["orders-0", "orders-7"]))
        answers.append(await ask("elect-leaders", election_type="UNCLEAN", partitions=None))

    answers: list[Answer] = []
    talk(conversation)
    assert answers[0] == {
        "errors": {"orders-0": "ELECTION_NOT_NEEDED", "orders-7": "UNKNOWN_TOPIC_OR_PARTITION"},
        "messages": {
            "orders-0": "Leader election not needed for topic partition.",
            "orders-7": "The partition does not exist.",
        },
        "release": "2.8",
    }
    assert set(answers[1]["errors"].values()) <= {"ELECTION_NOT_NEEDED"}


@pytest.mark.live
def test_a_snapshot_names_the_clients_that_are_connected() -> None:
    async def script(cluster: Cluster) -> None:
        ask = commands_of(cluster)
        await start_and_elect(cluster)
        assert (await ask("snapshot", as_json=True))["clients"] == {}
        async with raw_client(servers_of(cluster)):
            assert (await ask("snapshot", as_json=True))["clients"] == {CLIENT_ID: 1}
            assert f"Clients: {CLIENT_ID} (1 connection)" in (await ask("snapshot"))["lines"]

    play_with_ports(script)
