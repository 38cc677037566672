"""Traces of runs in virtual time, each made once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app
from tests.scenarios.views.page.conftest import run_of, written


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="session")
def trace_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function from a scenario of the library to the trace of its run with seed 1."""
    folder = tmp_path_factory.mktemp("traces")

    @cache
    def made(name: str, suffix: str = "jsonl") -> Path:
        return written(folder / f"{name}.{suffix}", run_of(name))

    return made
