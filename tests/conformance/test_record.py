"""Recordings made from runs: on real brokers, of several runs, and without refused steps."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from tests.conformance import record
from tests.conformance.__main__ import main
from tests.conformance.record import USAGE
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.on_kafka import Recorded, with_other_runs
from tests.conformance.replayed.play import play
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import Recording, Step, read_recording
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_of
from tests.conformance.replayed.step_actions import StepActions
from tests.requirements import require

STATE = "/brokers/topics/orders/partitions/0/state"
TRACES = Path(__file__).parent / "traces"


def run(*steps: Mapping[str, Any]) -> Recording:
    return Recording.of({"name": "made-up", "brokers": [1, 2, 3], "steps": list(steps)})


def deleted(winner: int, *written: str) -> dict[str, Any]:
    """Return a step that causes an election, with the writes of its winner."""
    writes = [{"by": "controller", "op": "set", "path": STATE, "data": data, "fenced": True} for data in written]
    return {"do": {"zk_delete": "/controller"}, "controller": winner, "writes": writes}


# --- several runs ----------------------------------------------------------------------------------------------------------


def test_runs_that_agree_make_one_recording() -> None:
    assert with_other_runs(run(deleted(2, "a")), [run(deleted(2, "a"))] * 2) == run(deleted(2, "a"))


def test_what_another_run_wrote_is_as_right() -> None:
    both = with_other_runs(run(deleted(2, "a")), [run(deleted(3, "b"))])
    (step,) = both.steps
    assert (step.controller, step.other_winners) == (2, (3,))
    assert {path: [[w.data for w in writes] for writes in others] for path, others in step.unsteady.items()} == {
        STATE: [["b"]]
    }
    assert differences(both, run({**deleted(2, "b")})) == []
    assert [found.what for found in differences(both, run(deleted(2, "c")))] == [STATE]


def test_so_is_that_it_wrote_nothing() -> None:
    (step,) = with_other_runs(run(deleted(2, "a")), [run(deleted(2))]).steps
    assert step.unsteady == {STATE: ((),)}


def test_what_two_other_runs_wrote_alike_is_kept_once() -> None:
    (step,) = with_other_runs(run(deleted(2, "a")), [run(deleted(2, "b")), run(deleted(2, "b"))]).steps
    assert [len(others) for others in step.unsteady.values()] == [1]


def test_a_run_that_left_a_step_out_shows_nothing_of_those_after_it() -> None:
    refused = {"do": {"zk_delete": "/admin/x"}, "controller": 2, "writes": []}
    whole = run(deleted(2, "a"), refused, deleted(2, "b"))
    assert with_other_runs(whole, [run(deleted(2, "a"), deleted(2, "c"))]) == whole


def test_what_differs_between_runs_survives_the_file(tmp_path: Path) -> None:
    both = with_other_runs(run(deleted(2, "a")), [run(deleted(3, "b"))])
    file = tmp_path / "both.json"
    file.write_text(both.text())
    assert read_recording(file) == both


# --- refused steps ---------------------------------------------------------------------------------------------------------


class NoCommands:
    """Stands for Kafka's commands in steps without any."""

    async def run(self, words: object, files: object = None, placed: object = None) -> Mapping[str, Any]:
        raise AssertionError(f"{words} was run")

    async def alter(self, targets: object) -> Mapping[str, Any]:
        raise AssertionError(f"{targets} was requested")


async def no_records(topic: str) -> None:
    raise AssertionError(f"a record was written to {topic}")


def played_without_refused(*given: Mapping[str, Any]) -> Recording:
    """Play steps on our cluster as they are recorded from real brokers."""
    plan = run(*({"do": do} for do in given))
    players: list[Player] = []

    async def script(cluster: Cluster) -> None:
        players.append(Player(plan, cluster, StepActions(cluster, NoCommands(), no_records), leaves_out_refused=True))
        await players[0].play()

    spec = ClusterSpec(every_broker(plan), settings_of(plan), TICK_TIME_MS)
    run_in_environment(ZooKeeperChoice.parse("simulated"), spec, RunInfo(plan.name, 1, "simulated"), script)
    return players[0].played("played")


@pytest.mark.parametrize("refused", [{"zk_delete": "/admin/x"}, {"zk_delete": "/admin/x", "settle": False}])
def test_a_step_before_one_that_is_left_out_has_waited_until_all_was_quiet(refused: Mapping[str, Any]) -> None:
    """What the controller wrote during the refused step belongs to the step before, and says so: it is played likewise."""
    created = {"topic": "orders", "assignment": {"0": [1]}, "config": {}, "wait_state": False, "settle": False}
    state = {"zk_delete": STATE}
    played = played_without_refused(created, refused, state)
    assert [step.do for step in played.steps] == [{k: v for k, v in created.items() if k != "settle"}, state]
    assert STATE in [path for _, path in writes_of(played.steps[0])]
    assert differences(played, play(played, "simulated")) == []


# --- the program -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["record", "--out", "o"], "the following arguments are required: FILE"),
        (["record", "x.json"], "the following arguments are required: --out"),
        (["record", "x.json", "--out", "o", "--runs", "0"], "'0' is no number of runs"),
        (["differ", "--out", "o", "--seeds", "9..3"], "'9..3' is no range of seeds, such as 0..19"),
        (["differ", "--out", "o", "--seeds", "many"], "'many' is no range of seeds, such as 0..19"),
    ],
)
def test_wrong_arguments_are_a_usage_error(arguments: Sequence[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USAGE
    assert why in capsys.readouterr().err


def test_a_folder_that_holds_no_kafka_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["differ", "--seeds", "1", "--out", str(tmp_path), "--kafka-home", str(tmp_path / "none")]) == USAGE
    assert str(tmp_path / "none") in capsys.readouterr().err


@pytest.fixture
def differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Sequence[Recorded]], int]:
    """Return a function that runs `differ` for one seed, with these runs in place of those on real brokers."""

    def run_with(runs: Sequence[Recorded]) -> int:
        left = iter(runs)
        monkeypatch.setattr(record, "find_kafka", lambda home: SimpleNamespace(release=(2, 8)))
        monkeypatch.setattr(record, "record", lambda *_: next(left))
        return main(["differ", "--seeds", "1", "--out", str(tmp_path)])

    return run_with


def test_differences_from_one_run_only_are_printed_and_do_not_count(
    differ: Callable[[Sequence[Recorded]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    as_ours, otherwise = play(run(deleted(2)), "simulated"), run(deleted(2, "a"))
    assert differ([Recorded(otherwise, None), Recorded(as_ours, None)]) == 0
    printed = capsys.readouterr().out
    assert f'made-up, not from run 2: step 1 {{"zk_delete": "/controller"}}: {STATE}' in printed
    assert "random-1: agrees" in printed


def test_what_our_cluster_does_in_a_step_that_could_not_be_recorded_is_printed(
    differ: Callable[[Sequence[Recorded]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    as_ours, unfinished = play(run(deleted(2)), "simulated"), Step({"zk_set": ["/brokers/topics/no-such-topic", ""]})
    assert differ([Recorded(as_ours, "not quiet within 20000 ms", unfinished)]) == 0
    printed = capsys.readouterr().out
    assert "random-1: step 2 not recorded: not quiet within 20000 ms\n" in printed
    (line,) = [line for line in printed.splitlines() if line.startswith(f"random-1: on ours: {unfinished.do}: ")]
    assert line.endswith("NONODE for /brokers/topics/no-such-topic")


# --- real brokers ----------------------------------------------------------------------------------------------------------

TOPIC: Mapping[str, Any] = {"topic": "orders", "assignment": {"0": [1, 2]}, "config": {}, "wait_state": True}
ELECT = ["kafka.admin.LeaderElectionCommand", "--bootstrap-server", "BS", "--election-type", "preferred"]
STEPS: Sequence[Mapping[str, Any]] = (
    {"do": TOPIC},
    {"do": {"zk_delete": "/admin/nothing"}},
    {
        "do": {
            "tool": [*ELECT, "--path-to-json-file", "p.json"],
            "files": {"p.json": {"partitions": [{"topic": "orders", "partition": 0}]}},
        }
    },
    {"do": {"term": 2}},
    {"do": {"zk_delete": "/controller"}},
)


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.live
def test_what_real_brokers_do_is_recorded_so_that_ours_can_be_compared(tmp_path: Path) -> None:
    """The step that ZooKeeper refuses is left out; files and addresses reach the command; our cluster writes the same."""
    require("java", "kafka")
    file = tmp_path / "short.json"
    file.write_text(json.dumps({"name": "short", "brokers": [1, 2], "steps": list(STEPS)}))
    kept, logs = tmp_path / "kept", tmp_path / "logs"
    assert main(["record", str(file), "--out", str(kept), "--logs", str(logs)]) == 0
    recorded = read_recording(kept / "short.json")
    assert [step.do for step in recorded.steps] == [step["do"] for place, step in enumerate(STEPS) if place != 1]
    assert writes_of(recorded.steps[0]) == [
        ("admin", "/brokers/topics/orders"),
        ("controller", "/brokers/topics/orders/partitions"),
        ("controller", "/brokers/topics/orders/partitions/0"),
        ("controller", STATE),
    ]
    assert (recorded.steps[1].outcome or {})["rc"] == 0
    assert recorded.steps[2].sessions_closed == ("broker-2",)
    assert (recorded.steps[3].controller, recorded.alive) == (1, (1,))
    assert "Resigned" in (logs / "short-1" / "broker-1" / "controller.log").read_text()
    assert differences(recorded, play(recorded, "simulated")) == []


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("name", ["kill-leader", pytest.param("bounced-registration", marks=pytest.mark.nightly)])
def test_real_brokers_on_the_model_of_zookeeper_write_as_they_were_recorded(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In these recordings no brokers race for /controller, so that each run writes the same."""
    require("java", "kafka")
    status = main(["record", str(TRACES / f"{name}.json"), "--out", str(tmp_path), "--zookeeper", "model"])
    assert status == 0, capsys.readouterr().out


def writes_of(step: Step) -> list[tuple[str, str]]:
    return [(write.by, write.path) for write in step.writes or ()]
