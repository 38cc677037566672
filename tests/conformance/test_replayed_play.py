"""Recordings played on our cluster: the program's actions, output and exit status."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.capabilities import Release
from kcsim.zk.ports import ZooKeeper
from tests.conformance.__main__ import USAGE, main
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import BadRecordingError, Recording, Step, read_recording
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_of
from tests.conformance.replayed.step_actions import StepActions
from tests.conformance.replayed.tools.tools import Tools
from tests.requirements import require

Steps = Sequence[Mapping[str, Any]]
TOPIC: Mapping[str, Any] = {"topic": "orders", "assignment": {"0": [1, 2]}, "config": {}, "wait_state": True}
DELETED = {"by": "admin", "op": "delete", "path": "/controller"}


def won(broker: int, epoch: int) -> list[dict[str, str]]:
    """Return the writes of a broker that wins an election."""
    data = json.dumps({"version": 1, "brokerid": broker, "timestamp": "17"})
    return [
        {"by": "controller", "op": "create", "path": "/controller", "data": data},
        {"by": "controller", "op": "set", "path": "/controller_epoch", "data": str(epoch)},
    ]


def recorded(*steps: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    return {"name": "made-up", "brokers": [1, 2, 3], "steps": list(steps), **rest}


def deletion_won_by(broker: int) -> dict[str, Any]:
    return {"do": {"zk_delete": "/controller"}, "controller": broker, "writes": [DELETED, *won(broker, 2)]}


def asked(tmp_path: Path, recording: Mapping[str, Any], *flags: str) -> int:
    file = tmp_path / "made-up.json"
    file.write_text(json.dumps(recording))
    return main([str(file), "--zookeeper", "simulated", *flags])


# --- playing ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("winner", [1, 2, 3])
def test_the_broker_that_won_in_the_recording_wins_here(winner: int) -> None:
    (step,) = play(Recording.of(recorded(deletion_won_by(winner))), "simulated").steps
    assert step.controller == winner
    assert [json.loads(w.data or "")["brokerid"] for w in step.writes or () if w.path == "/controller" and w.data] == [
        winner
    ]


def test_if_who_is_to_win_does_not_stand_another_does() -> None:
    steps = [{"do": {"kill": 3}, "controller": 1}, {"do": {"zk_delete": "/controller"}, "controller": 3}]
    assert play(Recording.of(recorded(*steps)), "simulated").steps[1].controller in (1, 2)


def test_a_step_ends_when_all_that_follows_from_it_is_done() -> None:
    """A killed broker's session ends seconds later, and an election follows: both belong to the step of the kill."""
    (step,) = play(Recording.of(recorded({"do": {"kill": 1}, "controller": 2})), "simulated").steps
    assert step.sessions_closed == ("broker-1",)
    assert [write.path for write in step.writes or ()] == ["/controller", "/controller_epoch"]


def test_a_bounce_lasts_until_the_former_session_has_ended_even_if_nothing_hinders_the_start() -> None:
    """How long a start takes must not decide to which step the end of that session belongs."""
    steps = [{"do": {"zk_delete": "/brokers/ids/2"}, "controller": 1}, {"do": {"bounce": 2}, "controller": 1}]
    _, bounced = play(Recording.of(recorded(*steps)), "simulated").steps
    assert bounced.sessions_closed == ("broker-2",)
    assert bounced.outcome == {"exit": None, "registered": True}


def played_as_on_real_brokers(*dos: Mapping[str, Any]) -> list[Step]:
    """Play steps, see what followed from one a second later, and leave out those that are refused."""
    recording = Recording.of(recorded(*({"do": do} for do in dos)))
    players: list[Player] = []

    async def script(cluster: Cluster) -> None:
        async def catch_up() -> None:
            await cluster.runtime.sleep_ms(1_000)

        async def nothing(_: str) -> None:
            raise AssertionError("no step produces")

        zookeeper: list[ZooKeeper] = []

        def noted(one: ZooKeeper) -> ZooKeeper:
            zookeeper.append(one)
            return one

        cluster.reach_zookeeper_through(noted)
        actions = StepActions(cluster, Tools(cluster, zookeeper[0], recording.settings, Release("2.8")), nothing)
        players.append(Player(recording, cluster, actions, leaves_out_refused=True, catch_up=catch_up))
        await players[0].play()

    spec = ClusterSpec(every_broker(recording), settings_of(recording), TICK_TIME_MS)
    run_in_environment(ZooKeeperChoice.parse("simulated"), spec, RunInfo("made-up", 1, "simulated"), script)
    return list(players[0].played("").steps)


DELETION = "/admin/delete_topics/orders"
UNSETTLED = {"delete": "orders", "settle": False}


def test_a_step_that_does_not_settle_ends_after_its_own_writes_where_what_follows_is_seen_too() -> None:
    """On real brokers: what the controller has done by then belongs to the next step, and is not lost."""
    _, deleted, touched = played_as_on_real_brokers(TOPIC, UNSETTLED, {"zk_touch": "/controller"})
    assert [(write.by, write.path) for write in deleted.writes or ()] == [("admin", DELETION)]
    followed = [(write.by, write.op, write.path) for write in touched.writes or ()]
    assert followed[-2:] == [("controller", "delete", DELETION), ("admin", "set", "/controller")]


def test_a_step_has_settled_if_a_refused_one_after_it_is_left_out() -> None:
    """The refused step has waited until all was quiet; a player of the recording has to wait, too."""
    refused = {"zk_set": ["/admin/none", ""]}
    _, deleted, touched = played_as_on_real_brokers(TOPIC, UNSETTLED, refused, {"zk_touch": "/controller"})
    assert deleted.do == {"delete": "orders"}
    assert [(w.by, w.op) for w in deleted.writes or () if w.path == DELETION] == [
        ("admin", "create"),
        ("controller", "delete"),
    ]
    assert [(w.by, w.op, w.path) for w in touched.writes or ()] == [("admin", "set", "/controller")]


def test_a_broker_that_comes_back_too_soon_is_refused() -> None:
    played = play(Recording.of(recorded({"do": {"bounce": 2}, "controller": 1})), "simulated")
    assert played.steps[0].outcome is not None
    assert (played.steps[0].outcome["exit"], played.steps[0].outcome["registered"]) == (1, False)
    assert played.steps[0].sessions_closed == ("broker-2",)
    assert played.alive == (1, 3)


def test_an_expired_broker_registers_anew_after_the_others_have_seen_it_go() -> None:
    (step,) = play(Recording.of(recorded({"do": {"expire": 1}, "controller": 3})), "simulated").steps
    assert [(write.by, write.op) for write in step.writes or ()] == [
        ("controller", "create"),
        ("controller", "set"),
        ("broker-1", "register"),
    ]


def test_bare_writes_are_made_as_they_stand() -> None:
    path = "/brokers/ids/3"
    steps = [
        {"do": {"zk_create": ["/admin/x", "1"]}, "controller": 1},
        {"do": {"zk_create": ["/admin/x/y", None]}, "controller": 1},
        {"do": {"zk_set": ["/admin/x", ""]}, "controller": 1},
        {"do": {"zk_touch": "/admin/x"}, "controller": 1},
        {"do": {"zk_delete_tree": "/admin/x"}, "controller": 1},
        {"do": {"zk_recreate": path}, "controller": 1},
    ]
    played = play(Recording.of(recorded(*steps)), "simulated").steps
    assert [[(w.by, w.op, w.path, w.data) for w in step.writes or ()] for step in played[:5]] == [
        [("admin", "create", "/admin/x", "1")],
        [("admin", "create", "/admin/x/y", None)],
        [("admin", "set", "/admin/x", "")],
        [("admin", "set", "/admin/x", "")],
        [("admin", "delete", "/admin/x/y", None), ("admin", "delete", "/admin/x", None)],
    ]
    assert [(w.by, w.op, w.path) for w in (played[5].writes or ())[:2]] == [
        ("admin", "delete", path),
        ("admin", "create", path),
    ]


@pytest.mark.parametrize(
    "grow",
    [
        {"grow": ["orders", {"1": [2, 3]}]},
        {"grow": "orders", "partitions": {"1": [2, 3]}},
        {"grow": "orders", "added": {"1": [2, 3]}, "wait": {"leader": {"orders-1": 2}}},
        {"grow": {"orders": {"1": [2, 3]}}},
    ],
)
def test_a_topic_grows_by_what_its_znode_holds_plus_the_new_partitions(grow: Mapping[str, Any]) -> None:
    steps = [TOPIC, grow, {"grow": ["none", {"0": [1]}]}]
    recording = recorded(*({"do": do, "controller": 1} for do in steps))
    _, grown, nothing = play(Recording.of(recording), "simulated").steps
    (written,) = [write.data for write in grown.writes or () if write.by == "admin"]
    assert json.loads(written or "")["partitions"] == {"0": [1, 2], "1": [2, 3]}
    assert nothing.writes == ()


def test_a_second_reassignment_is_not_asked_for_while_there_is_one() -> None:
    steps = [
        {"do": TOPIC, "controller": 1},
        {"do": {"kill": 3}, "controller": 1},
        {"do": {"reassign_if_free": {"orders-0": [1, 3]}}, "controller": 1},
        {"do": {"reassign_if_free": {"orders-0": [3, 2]}}, "controller": 1},
    ]
    *_, first, second = play(Recording.of(recorded(*steps)), "simulated").steps
    assert [write.by for write in first.writes or () if write.path == "/admin/reassign_partitions"] == ["admin"]
    assert (second.writes, second.outcome) == ((), {"skipped": "/admin/reassign_partitions exists"})


@pytest.mark.parametrize(("address", "by"), [("--zookeeper", "admin"), ("--bootstrap-server", "broker-1")])
def test_a_command_writes_by_itself_or_has_the_controllers_broker_write(address: str, by: str) -> None:
    words = ["kafka.admin.TopicCommand", address, "X", "--create", "--topic", "t", "--replica-assignment", "1:2,2:3"]
    steps = [{"do": {"tool": words}, "controller": 1}] * 2
    created, again = play(Recording.of(recorded(*steps)), "simulated").steps
    assert created.outcome == {"rc": 0, "out": ["Created topic t."], "err": []}
    assert [(write.by, write.op) for write in created.writes or () if write.path == "/brokers/topics/t"] == [(by, "create")]
    assert again.outcome == {
        "rc": 1,
        "out": ["Error while executing topic command : Topic 't' already exists."],
        "err": [],
    }
    assert again.writes == ()


def written(step: Step, path: str) -> list[tuple[str, str]]:
    return [(write.by, write.op) for write in step.writes or () if write.path == path]


def test_the_controller_can_be_killed_with_others_or_asked_to_stop() -> None:
    steps: Steps = [
        {"do": {"kill_together": [1, 4]}, "controller": 3},
        {"do": {"term": 3}, "controller": 2},
        {"do": {"start": 1}, "controller": 2},
    ]
    killed, stopped, started = play(Recording.of(recorded(*steps, brokers=[1, 2, 3, 4])), "simulated").steps
    assert (killed.sessions_closed, killed.controller) == (("broker-1", "broker-4"), 3)
    assert (stopped.sessions_closed, stopped.controller) == (("broker-3",), 2)
    assert (started.problem, written(started, "/brokers/ids/1")) == (None, [("broker-1", "register")])


def test_the_controller_expires_while_another_broker_stands_still() -> None:
    steps: Steps = [
        {"do": {"pause": 3, "settle": False}},
        {"do": {"expire": 1}, "controller": 2},
        {"do": {"resume": 3, "sleep": 1}, "controller": 2},
    ]
    _, expired, resumed = play(Recording.of(recorded(*steps)), "simulated").steps
    assert expired.sessions_closed == ("broker-1", "broker-3")
    assert written(resumed, "/brokers/ids/3") == [("broker-3", "register")]


def test_a_step_may_do_nothing_but_sleep_or_wait() -> None:
    steps: Steps = [
        {"do": TOPIC},
        {"do": {"kill": 2}},
        {"do": {"start": 2, "settle": False}},
        {"do": {"wait": {"leader": {"orders-0": 1}, "isr": {"orders-0": [2, 1]}}}},
        {"do": {"sleep": 0.5}},
        {"do": {"wait": {"leader": {"orders-0": 9}}}},
    ]
    *_, waited, slept, in_vain = play(Recording.of(recorded(*steps)), "simulated").steps
    assert (waited.problem, slept.problem) == (None, None)
    assert "orders-0 is led by 1" in (in_vain.problem or "")


def test_a_topic_is_made_with_its_settings_and_without_waiting_if_so_requested() -> None:
    nobody = {"topic": "dead", "assignment": {"0": [9]}, "config": {"min.insync.replicas": "2"}, "wait_state": False}
    again = {"topic": "dead", "assignment": {"0": [9]}, "config": {}}
    made, twice = play(Recording.of(recorded({"do": nobody}, {"do": again})), "simulated").steps
    assert [(write.by, write.path) for write in made.writes or ()] == [("admin", "/brokers/topics/dead")]
    assert twice.problem == "create /brokers/topics/dead: NODEEXISTS for /brokers/topics/dead"


def test_records_go_to_each_topic_named() -> None:
    other = {"topic": "other", "assignment": {"0": [3], "1": [2]}, "config": {}}
    steps = [TOPIC, other, {"produce": "orders"}, {"produce": ["orders", "other"]}]
    assert [step.problem for step in play(Recording.of(recorded(*({"do": do} for do in steps))), "simulated").steps] == [
        None
    ] * 4


def test_moves_and_cancellations_are_asked_of_the_controller() -> None:
    steps: Steps = [
        {"do": TOPIC},
        {"do": {"pause": 3, "settle": False}},
        {"do": {"alter": {"orders-0": [1, 3]}, "settle": False}},
        {"do": {"alter": {"orders-0": None, "orders-7": None}}},
        {"do": {"alter": {"orders-0": None}}},
    ]
    *_, moved, cancelled, nothing = play(Recording.of(recorded(*steps)), "simulated").steps
    assert ("controller", "set") in written(moved, "/brokers/topics/orders")
    assert (cancelled.outcome or {})["out"][0] == "Successfully cancelled partition reassignment for: orders-0"
    assert (nothing.outcome or {})["out"][0] == "None of the specified partition reassignments are active."


def test_a_log_directory_that_breaks_takes_its_broker_with_it() -> None:
    (step,) = play(Recording.of(recorded({"do": {"break_dir": 2, "sleep": 6}, "controller": 1})), "simulated").steps
    assert step.problem is None
    assert step.sessions_closed == ("broker-2",)


def test_a_broker_that_runs_cannot_be_started() -> None:
    (step,) = play(Recording.of(recorded({"do": {"start": 2}})), "simulated").steps
    assert "broker-2" in (step.problem or "")


def test_brokers_can_be_shut_down_together() -> None:
    played = play(Recording.of(recorded({"do": {"term_together": [2, 3]}, "controller": 1})), "simulated")
    assert played.steps[0].sessions_closed == ("broker-2", "broker-3")
    assert played.alive == (1,)


def test_a_step_that_cannot_be_done_ends_the_play_with_the_reason() -> None:
    steps = [{"do": {"zk_delete": "/admin/nothing"}, "controller": 1}, {"do": {"kill": 2}, "controller": 1}]
    (step,) = play(Recording.of(recorded(*steps)), "simulated").steps
    assert step.problem == "delete /admin/nothing: NONODE for /admin/nothing"


@pytest.mark.parametrize(
    ("do", "why"),
    [
        ({"levitate": 2}, "unknown in a step: levitate"),
        ({"kill": 2, "gently": True}, "unknown in a step: gently"),
        ({"kill": 2, "start": 3}, "several deeds in a step: kill, start"),
        ({"settle": False}, "nothing is done in the step"),
        ({"tool": ["kafka.tools.StorageTool", "format"]}, "StorageTool has no counterpart here"),
        ({"alter": {"orders-0": [1], "orders-1": None}}, "moves and cancellations at once: Kafka's command does either"),
    ],
)
def test_a_step_that_is_not_supported_is_reported_and_ends_the_play(do: Mapping[str, Any], why: str) -> None:
    steps = [{"do": do, "controller": 1}, {"do": {"kill": 2}, "controller": 1}]
    (step,) = play(Recording.of(recorded(*steps)), "simulated").steps
    assert step.not_supported == why


def test_a_setting_that_our_brokers_do_not_know_is_reported() -> None:
    recording = recorded({"do": {"kill": 2}, "controller": 1}, settings={"brokers.can.fly": "true"})
    (step,) = play(Recording.of(recording), "simulated").steps
    assert step.not_supported == "our brokers do not know the setting brokers.can.fly"


@pytest.mark.live
@pytest.mark.slow
def test_on_a_real_zookeeper_the_same_is_written() -> None:
    require("java")
    recording = Recording.of(recorded(deletion_won_by(3)))
    assert differences(recording, play(recording, "embedded")) == []


# --- the program -----------------------------------------------------------------------------------------------------------


def test_a_recording_that_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, recorded(deletion_won_by(2))) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/made-up.json: agrees",
        "1 recordings: 1 agrees, 0 not supported, 0 differs",
    ]


def test_a_difference_is_printed_with_file_step_znode_and_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"do": {"zk_delete": "/controller"}, "controller": 2, "writes": [DELETED, *won(2, epoch=7)]}
    assert asked(tmp_path, recorded(wrong)) == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        f'{tmp_path}/made-up.json: step 1 {{"zk_delete": "/controller"}}: /controller_epoch',
        "  Kafka: controller set 7",
        "  ours:  controller set 2",
    ]


def test_what_cannot_be_played_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, recorded(deletion_won_by(2), {"do": {"levitate": 2}})) == 2
    assert 'step 2 {"levitate": 2}: not supported: unknown in a step: levitate' in capsys.readouterr().out


def test_a_difference_outweighs_what_cannot_be_played(tmp_path: Path) -> None:
    wrong = {**deletion_won_by(2), "writes": []}
    assert asked(tmp_path, recorded(wrong, {"do": {"levitate": 2}})) == 1


def test_what_our_cluster_did_is_kept_as_a_recording_that_can_be_played(tmp_path: Path) -> None:
    assert asked(tmp_path, recorded(deletion_won_by(3), {"do": {"kill": 2}, "controller": 3}), "--out", f"{tmp_path}/o") == 0
    kept = tmp_path / "o" / "made-up.json"
    assert read_recording(kept).alive == (1, 3)
    assert main([str(kept), "--zookeeper", "simulated"]) == 0


def test_several_can_be_played_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files: Sequence[Path] = [tmp_path / f"{number}.json" for number in (1, 2, 3)]
    for winner, file in enumerate(files, 1):
        file.write_text(json.dumps(recorded(deletion_won_by(winner), name=file.stem)))
    assert main([*map(str, files), "--zookeeper", "simulated", "--jobs", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [f"{file}: agrees" for file in files]


def one_step(do: str) -> str:
    return f'{{"name": "x", "brokers": [1], "steps": [{{"do": {do}}}]}}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no JSON: Expecting value: line 1 column 1 (char 0)"),
        ("{", "is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "is no recording: the file holds no JSON object"),
        ('{"name": "x"}', "is no recording: without brokers, steps"),
        (
            '{"name": "x", "brokers": [], "steps": []}',
            "is no recording: brokers: a list of ids of brokers is expected, not []",
        ),
        ('{"name": "x", "brokers": [1], "steps": []}', "is no recording: steps: a list of steps is expected, not []"),
        ('{"name": "x", "brokers": [1], "steps": [{}]}', "is no recording: step 1: without do"),
        (
            '{"version": 2, "name": "x", "brokers": [1], "steps": [{"do": {"kill": 1}}]}',
            "is no recording: version 2: this program understands form 1 only",
        ),
        (one_step('{"kill": "1"}'), "is no recording: step 1: kill: the id of a broker is expected, not '1'"),
        (
            one_step('{"topic": "t", "assignment": [[1]]}'),
            "is no recording: step 1: assignment: numbers of partitions with their replicas is expected, not [[1]]",
        ),
        (one_step('{"topic": "t"}'), "is no recording: step 1: topic: without assignment"),
        (one_step('{"grow": "t"}'), "is no recording: grow: without the new partitions"),
        (
            '{"name": "x", "brokers": [1], "steps": [{"do": {"kill": 1}, "writes": [{"by": "admin"}]}]}',
            "is no recording: step 1: writes: a list of writes, each with by, op and path is expected,"
            " not [{'by': 'admin'}]",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_name(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    assert main([str(file)]) == USAGE
    assert capsys.readouterr().err == f"{file} {why}\n"


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadRecordingError, match=r"none\.json: No such file or directory"):
        read_recording(tmp_path / "none.json")


@pytest.mark.parametrize("arguments", [[], ["x.json", "--jobs", "0"], ["x.json", "--zookeeper", "cloudy"]])
def test_wrong_arguments_are_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USAGE
