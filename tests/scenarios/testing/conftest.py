"""Tests marked live need a Java: known before the plugin's session fixtures want to start a server on it."""

import pytest

from tests.requirements import require


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("live"):
        require("java")
