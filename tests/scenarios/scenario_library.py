"""The scenarios of the library for tests: each is loaded once per worker; a test may also reduce the library to a few."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from kcsim.scenarios.language import library
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario


@cache
def of_library(name: str) -> LoadedScenario:
    """Return a scenario of the library, by its name."""
    return load_scenario(find_scenario(name))


def small_library(directory: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Reduce the library to these scenarios: a command that lists all scenarios reads all, which takes a second or two."""
    for name in names:
        shutil.copy(find_scenario(name), directory)
    monkeypatch.setattr(library, "LIBRARY", directory)
