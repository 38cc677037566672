"""How commands end that cannot end well: the exit status, and the one line that says why.

Each row of the table is tried; docs/reference/cli.md has the same table.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.cli.bad_ends import BAD_ENDS, FILES, BadEnd

PATIENCE_S = 300

SIGNALLED = """
import os, signal, sys

class SignalAt:
    name, module = sys.argv[1:3]

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            os.kill(os.getpid(), getattr(signal, self.name))

if sys.argv[1] != "SIGPIPE":  # which Python ignores; the others may be ignored where the tests run
    signal.signal(getattr(signal, sys.argv[1]), signal.SIG_DFL)
del sys.argv[1:3]
from kcsim.scenarios.cli.main import main
sys.meta_path.insert(0, SignalAt())
main()
"""
"""The command, which gets a signal when it imports a certain module: the same instant on a slow machine and a fast one."""


@pytest.mark.slow
@pytest.mark.parametrize("end", BAD_ENDS, ids=[end.title for end in BAD_ENDS])
def test_a_bad_end_has_its_status_and_at_most_one_line(end: BadEnd, tmp_path: Path) -> None:
    if "/dev/full" in end.shell and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = [sys.executable, "-m", "kcsim.scenarios"]
    if end.signal is not None:
        program = [sys.executable, "-c", SIGNALLED, *end.signal]
    shell = end.shell.replace("kcsim ", f"{shlex.join(program)} ", 1)
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == int(end.status), done.stderr
    expected = re.escape(end.message).replace("…", ".*")
    assert re.fullmatch(expected, done.stderr.removesuffix("\n")), done.stderr
