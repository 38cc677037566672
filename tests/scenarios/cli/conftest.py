"""Every test of a command has a directory of its own for running clusters, and finds none but its own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def runtime_directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return this test's own directory for sockets; its path is short, because the system limits the length."""
    with tempfile.TemporaryDirectory(prefix="kcsim-test-") as directory:
        monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
        yield Path(directory) / "kcsim"
