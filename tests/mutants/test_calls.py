"""The record of what each test calls."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.mutants.trials import ROOT

SAME_IN_BOTH = "class Gateway:\n    def __init__(self, znodes):\n        self.znodes = znodes\n"
A_TEST = """\
from zk import one, other

def test_both():
    one.Gateway(1)
    other.Gateway(2)
"""


def test_functions_with_the_same_text_at_the_same_line_of_two_files_are_distinguished(tmp_path: Path) -> None:
    """Python takes their code for equal."""
    (tmp_path / "zk").mkdir()
    for name, text in (
        ("zk/__init__.py", ""),
        ("zk/one.py", SAME_IN_BOTH),
        ("zk/other.py", SAME_IN_BOTH),
        ("test_it.py", A_TEST),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.mutants.calls",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        "test_it.py",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "CALLS_OF_TESTS": str(tmp_path / "calls")}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    (file,) = (tmp_path / "calls").iterdir()
    (found,) = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert found["functions"] == ["zk/one.py Gateway.__init__", "zk/other.py Gateway.__init__"]
