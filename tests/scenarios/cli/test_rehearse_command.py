"""kcsim rehearse: files that it reads, what it prints, its exit statuses, and wrong input."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, encode_snapshot
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.rehearsal.rehearsed_plans import MIB, led, snapshot_of

Targets = Mapping[str, tuple[int, ...]]
GOOD: Targets = {"orders-0": (1, 4)}
ONE_RACK: Targets = {"orders-1": (4, 3)}
FEW = ("--runs", "2", "--throttle", str(MIB), "--jobs", "1")


def plan_text(targets: Targets) -> str:
    """Return a plan as Kafka's tools print it."""
    partitions = [
        {"topic": topic, "partition": int(number), "replicas": to, "log_dirs": ["any"] * len(to)}
        for (topic, _, number), to in ((name.rpartition("-"), to) for name, to in targets.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a snapshot, a good plan, and a bad one in batches."""
    (tmp_path / "cluster.json").write_bytes(encode_snapshot(snapshot_of(led(0, 1, 3), led(1, 3, 5))))
    (tmp_path / "good.json").write_text(plan_text(GOOD))
    batches = tmp_path / "batches"
    batches.mkdir()
    for number, targets in enumerate((GOOD, ONE_RACK), 1):
        (batches / f"plan.batch-{number}.json").write_text(plan_text(targets))
        (batches / f"plan.batch-{number}.rollback.json").write_text("{}")
    return tmp_path


def rehearse(folder: Path, plan: str, *options: str, cluster: str = "cluster.json") -> tuple[int, str, str]:
    result = kcsim("rehearse", str(folder / plan), str(folder / cluster), *options)
    return result.exit_code, result.stdout, result.stderr


def test_a_good_plan_ends_with_status_0_and_a_table(folder: Path) -> None:
    status, out, _ = rehearse(folder, "good.json", *FEW)
    assert status == 0, out
    lines = out.splitlines()
    assert any(line.startswith("good.json") and "1 min 40 s" in line for line in lines)
    assert any(line.startswith("the controller dies") for line in lines)
    assert any(line.startswith("Safe: in ") for line in lines)


def test_a_folder_is_rehearsed_batch_by_batch_and_the_first_harm_is_named(folder: Path) -> None:
    status, out, _ = rehearse(folder, "batches", *FEW)
    assert status == 1
    _, _, verdict = out.partition("Not safe. The first harm:\n")
    assert verdict.splitlines()[0].startswith("  plan.batch-2.json: orders-1 has ISR [")
    assert "all in rack b: the loss of rack b takes the partition offline, and its data" in verdict.splitlines()[0]


def test_as_json_there_is_each_run_and_the_same_seed_gives_the_same_bytes(folder: Path) -> None:
    first, second = (rehearse(folder, "batches", *FEW, "--seed", "5", "--output", "json")[1] for _ in range(2))
    assert first == second
    found = json.loads(first)
    assert (found["is_safe"], found["seed"], found["throttle"]) == (False, 5, MIB)
    assert [step["name"] for step in found["steps"]] == ["plan.batch-1.json", "plan.batch-2.json"]
    assert found["steps"][0]["undisturbed"]["final"]["orders-0"] == {"replicas": [1, 4], "leader": 1, "isr": [1, 4]}
    assert found["bytes_received"] == {"4": 200 * MIB}
    kinds = {run["failure"]["kind"] for step in found["steps"] for run in step["failing"]}
    assert {"the controller dies", "a source dies", "a destination dies", "a rack is lost"} <= kinds


def test_the_plan_that_the_planner_writes_is_read_with_its_elections_and_is_safe(folder: Path) -> None:
    cluster, made = str(folder / "cluster.json"), folder / "made"
    made.mkdir()
    planned = kcsim("plan", cluster, "--goal", "remove-brokers 3", "--batches", "1", "-o", str(made / "plan.json"))
    assert planned.exit_code == 0, planned.output
    assert (made / "plan.elections.json").exists()
    status, out, _ = rehearse(folder, "made", "--runs", "1", "--output", "json")
    found = json.loads(out)
    assert (status, found["reasons"]) == (0, [])
    names = [step["name"] for step in found["steps"]]
    assert (names[0], names[-1]) == ("plan.batch-1.json", "plan.elections.json")


def test_a_new_broker_is_started_first(folder: Path) -> None:
    (folder / "new.json").write_text(plan_text({"orders-0": (1, 9)}))
    status, _, error = rehearse(folder, "new.json", *FEW)
    assert (status, error) == (
        64,
        f"{folder}/new.json: orders-0: broker 9 is no broker of the snapshot; --start 9:RACK starts it first\n",
    )
    status, out, _ = rehearse(folder, "new.json", *FEW, "--start", "9:c")
    assert status == 0, out


def test_settings_of_the_brokers_own_files_are_given_as_options(folder: Path) -> None:
    """With two of two replicas that have to be in sync, each loss ends writes; with two of three it does not."""
    cluster = snapshot_of(led(0, 1, 3, 5))
    (topic,) = cluster.topics
    (folder / "three.json").write_bytes(encode_snapshot(replace(cluster, topics=(replace(topic, config={}),))))
    (folder / "fewer.json").write_text(plan_text({"orders-0": (1, 3)}))
    assert rehearse(folder, "fewer.json", *FEW, cluster="three.json")[0] == 0
    status, out, _ = rehearse(folder, "fewer.json", *FEW, "--setting", "min.insync.replicas=2", cluster="three.json")
    assert (status, "the loss of one broker ends writes with acks=all" in out) == (1, True)


def test_the_output_of_generate_is_a_plan(folder: Path) -> None:
    current = plan_text({"orders-0": (1, 3)})
    printed = f"Current partition replica assignment\n{current}\n\nProposed partition reassignment configuration\n"
    (folder / "printed.txt").write_text(printed + plan_text(GOOD) + "\n")
    status, out, _ = rehearse(folder, "printed.txt", *FEW, "--output", "json")
    assert status == 0
    assert json.loads(out)["steps"][0]["undisturbed"]["final"]["orders-0"]["replicas"] == [1, 4]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (plan_text({}), "not a plan of kafka-reassign-partitions: Partition reassignment list cannot be empty"),
        ("{}", 'not a plan of kafka-reassign-partitions: it has no "partitions"'),
        ("partitions", 'not a plan of kafka-reassign-partitions: it has no "partitions"'),
        ('{"partitions": [', "not a plan of kafka-reassign-partitions: "),
        ('{"version": 2, "partitions": []}', "not a plan of kafka-reassign-partitions: Not supported version field value 2"),
        (
            plan_text({"orders-0": (1, 1)}),
            "not a plan of kafka-reassign-partitions: Partition replica lists may not contain",
        ),
        (plan_text({"order-0": (1, 2)}), "topic 'order' is not in the snapshot; did you mean orders?"),
        (plan_text({"orders-7": (1, 2)}), "partition orders-7 is not in the snapshot; the topic has 2 partitions"),
        (plan_text({"orders-0": (1, 8)}), "orders-0: broker 8 is no broker of the snapshot; --start 8:RACK starts it first"),
    ],
)
def test_a_plan_that_cannot_be_executed_ends_with_one_line_that_names_the_file(
    folder: Path, content: str, reason: str
) -> None:
    (folder / "bad.json").write_text(content)
    status, out, error = rehearse(folder, "bad.json")
    assert (status, out, len(error.splitlines())) == (64, "", 1)
    assert error.startswith(f"{folder}/bad.json: {reason}")


def test_other_wrong_input_ends_with_one_line(folder: Path) -> None:
    (folder / "kraft.json").write_bytes(encode_snapshot(ControlPlaneSnapshot("s", "t", kraft_controller=3000)))
    for number in (1, 2):
        (folder / f"a.batch-{number}.json").write_text(plan_text(GOOD))
    (folder / "gap").mkdir()
    (folder / "gap" / "a.batch-2.json").write_text(plan_text(GOOD))
    (folder / "two").mkdir()
    for name in ("a", "b"):
        (folder / "two" / f"{name}.batch-1.json").write_text(plan_text(GOOD))
    (folder / "binary.json").write_bytes(b"\xff\xfe")
    (folder / "good.elections.json").write_text('{"partitions": [{"topic": "orders", "partition": 1}]}')
    for plan, cluster, options, status, reason in (
        ("none.json", "cluster.json", (), 64, "No such file or directory"),
        ("good.json", "good.json", (), 64, "not a snapshot of kcsim"),
        ("good.json", "kraft.json", (), 4, "the KRaft controller 3000 decides in this cluster"),
        ("good.json", "cluster.json", ("--start", "x"), 64, "--start: 'x' is not BROKER or BROKER:RACK"),
        ("good.json", "cluster.json", ("--start", "1:a"), 64, "--start: broker 1 is registered in the snapshot already"),
        ("good.json", "cluster.json", (), 64, "good.elections.json: partition orders-1 is not in the plan"),
        ("good.json", "cluster.json", ("--setting", "no.such=1"), 64, "--setting: unknown setting 'no.such'"),
        ("gap", "cluster.json", (), 64, "there is no a.batch-1.json among 1 batches"),
        ("two", "cluster.json", (), 64, "the batches of several plans: a, b; a folder has those of one"),
        ("two/..", "cluster.json", ("--runs", "0"), 64, "--runs"),
        ("binary.json", "cluster.json", (), 64, "not a plan: it is no text in UTF-8"),
    ):
        found, out, error = rehearse(folder, plan, *options, cluster=cluster)
        assert (found, out) == (status, ""), error
        assert reason in error
