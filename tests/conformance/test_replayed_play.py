"""Recordings played on our cluster: what a run of the program does, prints and answers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import USAGE, main
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.recording import BadRecordingError, Recording, read_recording
from tests.requirements import require

DELETED = {"by": "admin", "op": "delete", "path": "/controller"}


def won(broker: int, epoch: int) -> list[dict[str, str]]:
    """The writes of a broker that wins an election."""
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
    """A killed broker's session ends seconds later, and an election follows: all in the step that killed it."""
    (step,) = play(Recording.of(recorded({"do": {"kill": 1}, "controller": 2})), "simulated").steps
    assert step.sessions_closed == ("broker-1",)
    assert [write.path for write in step.writes or ()] == ["/controller", "/controller_epoch"]


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


TOPIC: Mapping[str, Any] = {"topic": "orders", "assignment": {"0": [1, 2]}, "config": {}, "wait_state": True}


@pytest.mark.parametrize("grow", [{"grow": ["orders", {"1": [2, 3]}]}, {"grow": "orders", "partitions": {"1": [2, 3]}}])
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
    assert again.outcome == {"rc": 1, "out": [], "err": ["Topic 't' already exists."]}
    assert again.writes == ()


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
        ({"levitate": 2}, 'unknown step {"levitate": 2}'),
        ({"sleep": 1}, 'unknown step {"sleep": 1}'),
        ({"tool": ["kafka.tools.StorageTool", "format"]}, "StorageTool has no counterpart here"),
    ],
)
def test_a_step_that_is_not_supported_is_told_and_ends_the_play(do: Mapping[str, Any], why: str) -> None:
    steps = [{"do": do, "controller": 1}, {"do": {"kill": 2}, "controller": 1}]
    (step,) = play(Recording.of(recorded(*steps)), "simulated").steps
    assert step.not_supported == why


def test_a_setting_that_our_brokers_do_not_know_is_told() -> None:
    recording = recorded({"do": {"kill": 2}, "controller": 1}, settings={"brokers.can.fly": "true"})
    (step,) = play(Recording.of(recording), "simulated").steps
    assert step.not_supported == "our brokers do not know the setting brokers.can.fly"


@pytest.mark.live
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
    assert 'step 2 {"levitate": 2}: not supported: unknown step {"levitate": 2}' in capsys.readouterr().out


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


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x"}', '{"name": "x", "brokers": [1], "steps": [{}]}'])
def test_a_file_that_is_no_recording_is_refused_by_name(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    assert main([str(file)]) == USAGE
    assert str(file) in capsys.readouterr().err
    with pytest.raises(BadRecordingError, match=r"bad\.json"):
        read_recording(file)


@pytest.mark.parametrize("arguments", [[], ["x.json", "--jobs", "0"], ["x.json", "--zookeeper", "cloudy"]])
def test_wrong_arguments_are_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USAGE
