"""All reference pages, by the name of their file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tests.documents import (
    command_line,
    environment,
    event_log,
    hardening,
    scenario_language,
    scenario_library,
    state_machines,
)

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "cli.md": command_line.page,
        "environment.md": environment.page,
        "event-log.md": event_log.page,
        "hardening.md": hardening.page,
        "scenario-schema.md": scenario_language.page,
        "scenarios.md": scenario_library.page,
        "state-machines.md": state_machines.page,
    }
)
"""File name -> the function that returns its text."""
