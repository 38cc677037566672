"""The two environments of the ZooKeeper suite: the model in virtual time, and the real server."""

from itertools import count

import pytest

from tests.conformance.environment import Main, Run, run_on_model, run_on_server

_chroots = count(1)


@pytest.fixture(params=["model", pytest.param("live", marks=pytest.mark.live)])
def run(request: pytest.FixtureRequest) -> Run:
    """Return a function that runs a main coroutine in its own environment: once on the model, once on the real server."""
    if request.param == "model":
        return run_on_model
    connect_string = request.getfixturevalue("server").connect_string

    def run_live(main: Main) -> object:
        return run_on_server(connect_string, f"/conformance-{next(_chroots)}", main)

    return run_live
