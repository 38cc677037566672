"""A `kcsim spark follow` in a process of its own, killed at any moment with all its children, and started again."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.scenarios.analysis.conftest import SMALL

UNTIL_END = "--until-end"
MOST_SECONDS = 900.0


def follow_command(trace: Path, out: Path, batch: str, max_bytes: int, master: str = "local[2]") -> list[str]:
    """Return the command that follows a trace; it ends at the trace's end with --until-end."""
    settings = [part for name, value in SMALL.items() for part in ("--conf", f"{name}={value}")]
    options = [*settings, "--batch", batch, "--max-bytes", str(max_bytes), "--master", master]
    return [sys.executable, "-m", "kcsim.scenarios", "spark", "follow", str(trace), "-o", str(out), *options]


def follow_with_kills(trace: Path, out: Path, batch: str, max_bytes: int, kills: int, chosen: random.Random) -> None:
    """Follow a trace to its end, over so many kills with SIGKILL at random moments.

    A kill comes up to a few micro-batches after the first one of its process. The last process is left to end by itself. A
    process that ends before it is killed is an error: the trace is too short for so many kills, or the command failed.
    """
    command = [*follow_command(trace, out, batch, max_bytes), UNTIL_END]
    for _ in range(kills):
        wanted = micro_batches(out) + chosen.randrange(3)
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
            give_up = time.monotonic() + MOST_SECONDS
            while process.poll() is None and micro_batches(out) <= wanted and time.monotonic() < give_up:
                time.sleep(0.05)
            time.sleep(chosen.random() * 2)
            if process.poll() is not None:
                printed.seek(0)
                raise AssertionError(f"ended with status {process.returncode}: {printed.read().decode()}")
        kill_with_children(process)
    subprocess.run(command, check=True, timeout=MOST_SECONDS)


def micro_batches(out: Path) -> int:
    """Return how many micro-batches have been planned."""
    return sum(file.name.isdigit() for file in (out / "checkpoint" / "offsets").glob("*"))


def kill_with_children(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all that it has started, at once, and wait until they are gone."""
    found = [process.pid, *children_of(process.pid)]
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()
    for pid in found:
        while Path(f"/proc/{pid}").exists() and "Z" not in _state(pid):
            time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """Return the processes below one, of any generation (Linux)."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            except OSError:
                continue
            below.setdefault(parent, []).append(int(folder.name))
    found, wanted = list[int](), [pid]
    while wanted:
        children = below.get(wanted.pop(), [])
        found += children
        wanted += children
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
