"""kcsim spark follow: beside a cluster that runs, over kills, and its bad ends."""

import json
import os
import random
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcsim.eventlog.event_log import read_trace
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.streaming.followed import SETTINGS, read_statuses
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.cli.app import app
from tests.requirements import require
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.streaming.killed_follow import (
    UNTIL_END,
    children_of,
    follow_command,
    follow_with_kills,
    micro_batches,
)
from tests.scenarios.analysis.streaming.portions import BATCH, in_order
from tests.scenarios.analysis.streaming.test_follow import text, written_transitions
from tests.scenarios.cli.test_up import up
from tests.zk.servers.processes import until

RUN = "leader-crash-acks-one"
SECONDS = 900


def expected(trace: Path) -> object:
    return in_order(fold_events(BATCH, trace.stem, read_trace(trace)).transitions)


@pytest.mark.parametrize(
    ("kills", "parts"),
    [
        (2, 30),
        (20, 200),
    ],
)
@pytest.mark.nightly
def test_killed_at_random_moments_it_ends_with_the_tables_of_the_batch_replay(
    tmp_path: Path, kills: int, parts: int
) -> None:
    """All processes are killed at once with SIGKILL, in whatever they were at: planning, folding, writing or committing."""
    trace, out = tmp_path / "up.jsonl", tmp_path / "live"
    trace.write_bytes(text(library_run(RUN)))
    follow_with_kills(trace, out, BATCH, trace.stat().st_size // parts, kills, random.Random(kills))
    assert written_transitions(out) == expected(trace)
    assert not Dataset(out).has("rejects")


@pytest.mark.slow
def test_a_partial_last_line_waits_and_a_truncated_log_ends_the_command(tmp_path: Path) -> None:
    trace, out = tmp_path / "up.jsonl", tmp_path / "live"
    whole = text(library_run(RUN))
    trace.write_bytes(whole[:-7])
    command = [*follow_command(trace, out, BATCH, len(whole)), UNTIL_END]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert f"{library_run(RUN)[-1].seq} events" in ended.stdout.replace(",", "")
    assert [line for line in ended.stderr.splitlines() if "following" not in line and "events" not in line] == []
    trace.write_bytes(whole[: len(whole) // 2])
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 2
    assert "has become shorter" in ended.stderr


@pytest.mark.nightly
def test_executors_that_are_killed_change_nothing(tmp_path: Path) -> None:
    """One of two executors is killed twice; another takes over its slot, with the state from the checkpoint."""
    require("jdk")
    trace, out = tmp_path / "up.jsonl", tmp_path / "live"
    trace.write_bytes(text(library_run(RUN)))
    command = follow_command(trace, out, BATCH, trace.stat().st_size // 8, "local-cluster[2,1,1024]")
    with subprocess.Popen([*command, UNTIL_END], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        for wanted in (2, 5):
            until(partial(micro_batches, out), wanted.__le__, "a micro-batch", SECONDS)
            os.kill(_executors(process.pid)[0], signal.SIGKILL)
        assert process.wait(SECONDS) == 0
    assert written_transitions(out) == expected(trace)


def _executors(pid: int) -> list[int]:
    """Return the JVMs that are executors, below a process."""
    return [child for child in children_of(pid) if b"CoarseGrainedExecutorBackend" in _command_of(child)]


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.live
def test_a_running_cluster_is_followed_until_it_is_stopped_and_then_to_its_end(tmp_path: Path) -> None:
    trace, out = tmp_path / "up.jsonl", tmp_path / "live"
    with up(tmp_path, "--trace", str(trace), "--topic", "orders:4:3") as cluster:
        command = follow_command(trace, out, BATCH, 2**20)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            until(lambda: sum(each.partitions for each in read_statuses(out)), lambda found: found >= 4, "topic", SECONDS)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 130
        assert "of 4 partitions without a live leader now" in (out / "live.html").read_text(encoding="utf-8")
        cluster.signal(signal.SIGINT)
        cluster.end()
    subprocess.run([*command, UNTIL_END], check=True, timeout=SECONDS, stderr=subprocess.DEVNULL)
    assert len(written_transitions(out)) > 4
    assert written_transitions(out) == expected(trace)


def test_a_folder_that_is_something_else_or_follows_another_log_is_refused(tmp_path: Path) -> None:
    trace, out = tmp_path / "up.jsonl", tmp_path / "live"
    trace.write_bytes(b"")
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    refused = CliRunner().invoke(app, ["spark", "follow", str(trace), "-o", str(out)])
    assert (refused.exit_code, "nothing is overwritten" in refused.stderr) == (64, True)
    (out / SETTINGS).write_text(json.dumps({"path": "/other.jsonl", "batch": "live", "slots": 2}), encoding="utf-8")
    refused = CliRunner().invoke(app, ["spark", "follow", str(trace), "-o", str(out)])
    assert (refused.exit_code, "follows path /other.jsonl" in refused.stderr) == (64, True)
