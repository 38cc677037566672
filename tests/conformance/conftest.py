"""The environments of the ZooKeeper suite: the model in virtual time, the model behind a socket, and the real server."""

from collections.abc import Iterator
from itertools import count

import pytest

from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.servers.configuration import ServerSettings
from tests.conformance.environment import Main, Run, run_on_model, run_on_server
from tests.conftest import LONGEST_SESSION_MS, TICK_MS

_chroots = count(1)


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelZooKeeper]:
    """Return the model behind a socket, with the settings of the real server."""
    settings = ServerSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS)
    with ModelZooKeeper(settings=settings) as zookeeper:
        yield zookeeper


@pytest.fixture(params=["model", "socket", pytest.param("live", marks=pytest.mark.live)])
def run(request: pytest.FixtureRequest) -> Run:
    """Return a function that runs a main coroutine in its own environment: once on each ZooKeeper."""
    if request.param == "model":
        return run_on_model
    connect_string = request.getfixturevalue("server" if request.param == "live" else "model_server").connect_string

    def run_live(main: Main) -> object:
        return run_on_server(connect_string, f"/conformance-{next(_chroots)}", main)

    return run_live
