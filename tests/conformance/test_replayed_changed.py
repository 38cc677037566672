"""A recording that was changed by hand is not reproduced; the difference is reported where it was made, and nowhere else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main

TRACES = Path(__file__).parent / "traces"
STATE = "/brokers/topics/orders/partitions/{}/state"
Change = Callable[[list[dict[str, Any]]], None]
"""A function that changes the steps of a recording."""


def writes_to(step: dict[str, Any], path: str) -> list[dict[str, Any]]:
    return [write for write in step["writes"] if write["path"] == path]


def with_another_leader_epoch(number: int, path: str) -> Change:
    def change(steps: list[dict[str, Any]]) -> None:
        write = writes_to(steps[number - 1], path)[-1]
        state = json.loads(write["data"])
        write["data"] = json.dumps({**state, "leader_epoch": state["leader_epoch"] + 1})

    return change


def without_a_write(number: int, path: str) -> Change:
    def change(steps: list[dict[str, Any]]) -> None:
        step = steps[number - 1]
        step["writes"].remove(writes_to(step, path)[0])

    return change


def with_a_write_more(number: int, path: str) -> Change:
    def change(steps: list[dict[str, Any]]) -> None:
        write = {"by": "controller", "op": "set", "path": path, "data": "{}", "fenced": True}
        steps[number - 1]["writes"].append(write)

    return change


def with_a_line_printed(number: int, place: int, line: str) -> Change:
    def change(steps: list[dict[str, Any]]) -> None:
        steps[number - 1]["outcome"]["out"][place] = line

    return change


def with_an_exit_status(number: int, status: int) -> Change:
    def change(steps: list[dict[str, Any]]) -> None:
        steps[number - 1]["outcome"]["rc"] = status

    return change


@pytest.mark.parametrize(
    ("trace", "change", "number", "what"),
    [
        ("kill-leader", with_another_leader_epoch(2, STATE.format(1)), 2, STATE.format(1)),
        ("create", with_another_leader_epoch(1, STATE.format(0)), 1, STATE.format(0)),
        ("reassign-leader-out", with_another_leader_epoch(2, STATE.format(0)), 2, STATE.format(0)),
        ("kill-leader", without_a_write(2, STATE.format(2)), 2, STATE.format(2)),
        ("kill-controller", without_a_write(2, "/controller_epoch"), 2, "/controller_epoch"),
        ("reassign-leader-out", without_a_write(2, "/brokers/topics/orders"), 2, "/brokers/topics/orders"),
        ("kill-leader", with_a_write_more(2, STATE.format(0)), 2, STATE.format(0)),
        ("delete", with_a_write_more(2, "/admin/reassign_partitions"), 2, "/admin/reassign_partitions"),
        ("command-describe", with_a_line_printed(5, 2, "\tTopic: orders\tPartition: 9"), 5, "printed"),
        ("command-elect-preferred-zookeeper", with_a_line_printed(4, 1, "Warning: be careful."), 4, "printed"),
        ("command-reassign-bad", with_a_line_printed(2, 0, "Error: Unknown broker id 8"), 2, "printed"),
        ("command-reassign-bad", with_an_exit_status(3, 0), 3, "exit status"),
    ],
)
def test_a_change_is_reported_at_its_step_and_znode(
    trace: str, change: Change, number: int, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = json.loads((TRACES / f"{trace}.json").read_text(encoding="utf-8"))
    change(recording["steps"])
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(recording))
    assert main([str(file), "--zookeeper", "simulated"]) == 1
    reported = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{file}: step") or ": end" in line]
    assert reported == [f"{file}: step {number} {json.dumps(recording['steps'][number - 1]['do'])}: {what}"]
