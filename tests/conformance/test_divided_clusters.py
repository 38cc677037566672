"""Recordings are played on clusters whose controller is ours and whose brokers are Apache Kafka's, and the other way round.

Each side then works with the other's requests, and not with its own: what ours has understood wrongly on both sides shows.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from tests.conformance import __main__ as main_module
from tests.conformance.__main__ import USAGE, main
from tests.conformance.replayed import accepted as accepted_module
from tests.conformance.replayed import play_divided as play_module
from tests.conformance.replayed.accepted import TRACES, Accepted, AcceptedDifference, accepted, name_of, not_accepted
from tests.conformance.replayed.companions import companion_of, nodes_of, without_companions
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.divided_cluster import Software
from tests.conformance.replayed.play_divided import play_until_it_agrees
from tests.conformance.replayed.recording import Recording, read_recording
from tests.requirements import require
from tests.tiers import chosen

PLAYED = sorted([*TRACES.glob("*.json"), *(TRACES / "protocol-2.8").glob("*.json")])
RUNS = 3
"""On a machine whose cores are all busy, a broker may be too late for a recording's next step."""
SLOW = ("kill-leader",)
NAMES = [str(file.relative_to(TRACES).with_suffix("")) for file in PLAYED]


OF_EACH_CONTROLLER = [
    pytest.param(*parameter.values, controller, marks=parameter.marks)
    for controller in Software
    for parameter in chosen(NAMES, fast=(), slow=SLOW)
]


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.parametrize(("name", "controller"), OF_EACH_CONTROLLER)
def test_a_divided_cluster_does_what_kafka_did(name: str, controller: Software) -> None:
    require("java", "kafka")
    recording = read_recording(TRACES / f"{name}.json")
    played = play_until_it_agrees(recording, find_kafka(None), controller, RUNS)
    if accepted().reason_left_out(name, controller) is None:
        assert played.not_supported is None
    assert not_accepted(recording, differences(recording, played), controller) == []


# --- companions ------------------------------------------------------------------------------------------------------------


def run_of(controller: int, *, sessions_closed: Sequence[str] = (), registered: int | None = None) -> Recording:
    """Return a run of one step in which a controller was elected."""
    held = json.dumps({"version": 1, "brokerid": controller, "timestamp": "17"})
    writes = [{"by": "controller", "op": "create", "path": "/controller", "data": held}]
    if registered is not None:
        writes.append({"by": f"broker-{registered}", "op": "register", "path": f"/brokers/ids/{registered}"})
    step = {"do": {"kill": 1}, "controller": controller, "writes": writes, "sessions_closed": [*sessions_closed]}
    return Recording.of(
        {"name": "made-up", "brokers": [1, 2], "steps": [step], "final": {"/controller": held}, "alive": [2]}
    )


def test_a_companion_is_controller_in_its_brokers_place() -> None:
    recording = run_of(2, sessions_closed=["broker-1"])
    played = run_of(companion_of(2), sessions_closed=nodes_of(1), registered=companion_of(2))
    assert [found.what for found in differences(recording, played)] == [
        "controller",
        "sessions_closed",
        "/controller",
        "/brokers/ids/902",
        "/controller",
    ]
    assert differences(recording, without_companions(played)) == []


def test_a_companion_that_a_command_calls_the_controller_counts_as_its_broker() -> None:
    def of_command(controller: int) -> Recording:
        printed = [f"the current controller {controller} went through a soft failure", "epoch 907", "Controller 902"]
        step = {"do": {"tool": ["kafka.admin.LeaderElectionCommand"]}, "outcome": {"rc": 0, "out": printed, "err": []}}
        return Recording.of({"name": "made-up", "brokers": [1], "steps": [step]})

    assert without_companions(of_command(companion_of(1))) == of_command(1)


def test_what_brokers_write_themselves_is_unchanged() -> None:
    recording = run_of(2, sessions_closed=["broker-1"], registered=2)
    assert without_companions(recording) == recording


def test_data_of_the_controller_znode_that_names_no_broker_is_unchanged() -> None:
    run = Recording.of({"name": "made-up", "brokers": [1], "steps": [{"do": {"kill": 1}}], "final": {"/controller": "junk"}})
    assert without_companions(run) == run


# --- accepted differences --------------------------------------------------------------------------------------------------


def test_accepted_differences_are_of_steps_that_exist() -> None:
    """An entry of a recording that was renamed, or has become shorter, would accept nothing."""
    for each in accepted().differences:
        steps = read_recording(TRACES / f"{each.recording}.json").steps
        assert each.step == "end" or 1 <= int(each.step) <= len(steps), each
    assert all((TRACES / f"{left.recording}.json").is_file() for left in accepted().left_out)


def test_recordings_are_named_by_their_place() -> None:
    assert [name_of(read_recording(TRACES / f"{name}.json")) for name in NAMES] == NAMES
    assert name_of(run_of(1)) == "made-up"


@pytest.fixture
def played_by_hand(monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    """Return a list, to be filled with the runs that take the place of those on real processes."""
    runs: list[Recording] = []
    monkeypatch.setattr(main_module, "find_kafka", lambda _: "a Kafka")
    monkeypatch.setattr(main_module, "play_until_it_agrees", lambda recording, **_: runs.pop(0))
    return runs


def test_the_command_counts_accepted_differences(
    played_by_hand: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file = tmp_path / "made-up.json"
    file.write_text(run_of(2).text())
    of_ours = AcceptedDifference("made-up", "1", "controller", Software.OURS, "a race")
    monkeypatch.setattr(accepted_module, "accepted", lambda: Accepted([of_ours], []))
    other = run_of(2).steps[0]
    played = replace(run_of(2), steps=(replace(other, controller=1),))
    played_by_hand += [played, played]
    assert main([str(file), "--brokers", "kafka"]) == 0
    assert f"{file}: agrees, but for 1 accepted differences\n" in capsys.readouterr().out
    assert main([str(file), "--controller", "kafka"]) == 1
    assert f"{file}: step 1" in capsys.readouterr().out


def test_a_recording_is_played_until_a_run_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    recording, other = run_of(2), replace(run_of(2), alive=(1, 2))
    a_kafka = cast(KafkaInstallation, "a Kafka")
    for runs, expected in ([other, recording, other], recording), ([other, other, other], other):
        left = [*runs]
        monkeypatch.setattr(play_module, "play_divided", lambda *_, left=left: left.pop(0))
        assert play_until_it_agrees(recording, a_kafka, Software.OURS, 3) is expected


@pytest.mark.parametrize(
    "flags", [("--brokers", "kafka", "--controller", "kafka"), ("--brokers", "kafka", "--zookeeper", "model")]
)
def test_the_command_refuses_what_is_no_divided_cluster(flags: Sequence[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["made-up.json", *flags])
    assert ended.value.code == USAGE
