"""Fixtures shared by the tests of scenarios and commands: the command line of kcsim, built once in each worker."""

from collections.abc import Iterator
from functools import cache

import pytest
import typer.testing
from typer.main import get_command


@pytest.fixture(autouse=True, scope="session")
def _command_line_built_once() -> Iterator[None]:
    """Build the click commands of an app once:

    CliRunner builds all of them at each call, which costs 25 ms for those of kcsim.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command))
        yield
