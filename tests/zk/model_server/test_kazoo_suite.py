"""Kazoo's own test suite on the model: the same tests pass as on the real server, and the same five do not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

WITHIN_S = 1_800
NOT_SERVED = {
    "TestSSLClient::test_create": "TLS",
    "TestReconfig::test_add_remove_observer": "reconfiguration",
    "TestReconfig::test_bad_input": "reconfiguration",
    "TestReconfig::test_no_super_auth": "reconfiguration",
    "TestReadOnlyMode::test_read_only": "read-only members",
}
"""Kazoo's tests that need a setting that our real servers do not have either."""


@pytest.mark.parametrize(
    ("modules", "at_least"),
    [
        pytest.param(["test_client", "test_watchers", "test_lock"], 150, marks=pytest.mark.slow, id="main"),
        pytest.param([""], 307, marks=pytest.mark.nightly, id="all"),
    ],
)
def test_kazoo_s_suite_passes_on_the_model(modules: list[str], at_least: int, tmp_path: Path) -> None:
    names = [f"kazoo.tests.{module}".rstrip(".") for module in modules]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.zk.model_server.kazoo_suite", "-p", "no:cacheprovider"]
    where = ["-c", "/dev/null", "--rootdir", str(tmp_path), "--pyargs", *names]
    root = Path(__file__).parents[3]
    done = subprocess.run([*command, *where], cwd=root, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    failed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))}
    unexpected = {name for name in failed if not name.endswith(tuple(NOT_SERVED))}
    assert not unexpected, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout + done.stderr
    assert int(passed[1]) >= at_least, done.stdout
