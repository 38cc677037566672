"""Processor time of short commands, mostly of imports, beside the import of the libraries alone."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.report import Measured, print_table, summed_up

LIBRARIES = "import msgspec, pydantic, rich, ruamel.yaml, simpy, typer"
RUN = "run controller-race --zookeeper simulated"
TRACES = ("a.jsonl", "b.jsonl")
COMMANDS = (
    "--help",
    "events",
    "scenario list",
    "scenario words",
    "scenario check controller-race",
    "scenario check --static controller-race",
    RUN,
    "show a.jsonl",
    "show a.jsonl --at end",
    "why a.jsonl last:ElectionWon",
    "diff a.jsonl b.jsonl",
    "doctor",
)
ROUNDS = 5


def main() -> None:
    """Print the processor seconds of each command, children included."""
    kcsim = [sys.executable, "-m", "kcsim.scenarios"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for trace in TRACES:
            subprocess.run([*kcsim, *RUN.split(), "--trace", trace], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        libraries = _measure(LIBRARIES, [sys.executable, "-c", LIBRARIES], folder)
        measured = [_measure(f"kcsim {command}", [*kcsim, *command.split()], folder) for command in COMMANDS]
        print_table("Short commands: processor seconds", libraries, *measured)


def _measure(name: str, command: list[str], folder: Path) -> Measured:
    taken = []
    for _ in range(ROUNDS):
        before = os.times()
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = os.times()
        taken.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return summed_up(name, 1, taken)
