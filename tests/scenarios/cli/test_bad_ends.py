"""How commands end that cannot end well: the exit status, and the one line that says why.

Each row of the table is tried; docs/reference/cli.md has the same table.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.cli.bad_ends import BAD_ENDS, FILES, OUT_OF_MEMORY, BadEnd

PATIENCE_S = 300

WITH_EVENT = """
import os, resource, signal, sys, threading, time

KEPT = []

def set_clock(by):
    now, now_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: now() + by, lambda: now_ns() + by * 10**9

def use_up_memory():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
    for size in (2**20, 2**16, 2**10, 1):
        try:
            while True:
                KEPT.append(bytes(size))
                KEPT.append([])
        except MemoryError:
            pass
    raise MemoryError

class EventAt:
    event, module = sys.argv[1:3]

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            if self.event == "OUT_OF_MEMORY":
                use_up_memory()
            if self.event.startswith("CLOCK"):
                threading.Timer(1, set_clock, [int(self.event.removeprefix("CLOCK"))]).start()
            elif self.event.endswith("+1"):
                threading.Timer(1, os.kill, [os.getpid(), getattr(signal, self.event.removesuffix("+1"))]).start()
            else:
                os.kill(os.getpid(), getattr(signal, self.event))

if sys.argv[1].startswith("SIG") and sys.argv[1] != "SIGPIPE":  # which Python ignores; the others may be ignored here
    signal.signal(getattr(signal, sys.argv[1].removesuffix("+1")), signal.SIG_DFL)
del sys.argv[1:3]
from kcsim.scenarios.cli.main import main
sys.meta_path.insert(0, EventAt())
main()
"""
"""The command, to which an event happens when it imports a certain module: the same instant on each machine."""


@pytest.mark.slow
@pytest.mark.parametrize("end", BAD_ENDS, ids=[end.title for end in BAD_ENDS])
def test_a_bad_end_has_its_status_and_at_most_one_line(end: BadEnd, tmp_path: Path) -> None:
    if "/dev/full" in end.shell and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    if end.event is not None and end.event[0] == OUT_OF_MEMORY and sys.platform != "linux":
        pytest.skip("only Linux limits the address space of a process")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = [sys.executable, "-m", "kcsim.scenarios"]
    if end.event is not None:
        program = [sys.executable, "-c", WITH_EVENT, *end.event]
    shell = end.shell.replace("kcsim ", f"{shlex.join(program)} ", 1)
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == int(end.status), done.stderr
    expected = re.escape(end.message).replace("…", ".*")
    assert re.fullmatch(expected, done.stderr.removesuffix("\n")), done.stderr
