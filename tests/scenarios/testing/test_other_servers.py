"""The fixtures on an ensemble, whose members are killed and frozen, and on an external ZooKeeper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.background import Background
from kcsim.scenarios.testing.znodes import Znodes
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest, zookeeper_for_test
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.testing.clients import CONNECT_WITHIN_S, SESSION_S, client

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.live

ON_ANOTHERS = """
import pytest
from kcsim.zk.servers.errors import NotOursError

def test_one(kcsim_zookeeper):
    kcsim_zookeeper.znodes.ensure("/a/b/c")
    with pytest.raises(NotOursError):
        kcsim_zookeeper.servers.kill("leader")

def test_two(kcsim_cluster, kcsim_zookeeper, kcsim_zookeeper_factory):
    assert kcsim_cluster.zookeeper is kcsim_zookeeper
    assert kcsim_zookeeper.znodes.exists("/brokers/ids/1")
    assert kcsim_zookeeper_factory().znodes.children("/") == []

def test_three(kcsim_scenario):
    assert kcsim_scenario("controller-race").held

def test_four(kcsim_scenario):
    kcsim_scenario("zookeeper-leader-loss")

def test_five(kcsim_zookeeper_ensemble): ...
"""

ON_AN_ENSEMBLE = """
def test_it(kcsim_zookeeper, kcsim_zookeeper_ensemble):
    assert kcsim_zookeeper.server is kcsim_zookeeper_ensemble.server
    assert kcsim_zookeeper.connect_string.count(",") == 2
    assert kcsim_zookeeper.chroot != kcsim_zookeeper_ensemble.chroot
"""


@pytest.fixture
def eyes(server: EmbeddedZooKeeper) -> Iterator[Znodes]:
    """Yield a view of the external ZooKeeper's znodes from its root, as its owner has it."""
    background = Background("eyes")
    znodes = Znodes(server.connect_string, background)
    yield znodes
    znodes.close()
    background.stop()


@pytest.mark.slow
def test_an_ensemble_loses_its_leader_and_a_follower_stands_still(kcsim_zookeeper_ensemble: ZooKeeperForTest) -> None:
    zk = kcsim_zookeeper_ensemble
    assert len(zk.servers.names) == 3
    with client(zk.client_address("a"), timeout_s=SESSION_S) as a:
        a.create("/leader", b"a", ephemeral=True)
        old = zk.servers.kill("leader")
        assert zk.servers.wait_for_leader(old, CONNECT_WITHIN_S) != old
        zk.wait_until(lambda: a.connected, CONNECT_WITHIN_S)
        assert zk.znodes.get("/leader") == b"a"
        zk.servers.start(old)
        still = zk.servers.pause("follower")
        assert zk.servers.states[still] == "paused"
        zk.servers.resume(still)


@pytest.mark.slow
def test_one_ensemble_serves_all_fixtures_where_one_was_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ON_AN_ENSEMBLE)
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=ensemble")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["kcsim: *, ZooKeeper 3.*, ensemble of three, *"])


def test_what_a_test_did_to_the_servers_is_undone_when_it_is_over(
    kcsim_zookeeper_server: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    """The servers are shared: the next test must find them running."""
    background = Background("another test")
    with zookeeper_for_test(kcsim_zookeeper_server, background, Artefacts(tmp_path, "a test")) as zk:
        zk.servers.pause("member-1")
    with zookeeper_for_test(kcsim_zookeeper_server, background, Artefacts(tmp_path, "the next")) as zk:
        assert dict(zk.servers.states) == {"member-1": "up"}
        zk.servers.kill("member-1")
    with zookeeper_for_test(kcsim_zookeeper_server, background, Artefacts(tmp_path, "the last")) as zk:
        assert zk.znodes.children("/") == []
    background.stop()


def test_nothing_is_left_on_a_zookeeper_that_is_not_ours(
    pytester: pytest.Pytester, server: EmbeddedZooKeeper, eyes: Znodes
) -> None:
    before = eyes.children("/")
    eyes.ensure("/somebodys")
    eyes.create("/somebodys/own")
    pytester.makepyfile(test_there=ON_ANOTHERS)
    where = f"{server.connect_string}/somebodys"
    result = pytester.runpytest_inprocess(f"--kcsim-zookeeper={where}", "--kcsim-execute", "-rs")
    result.assert_outcomes(passed=3, skipped=2)
    output = result.stdout.str()
    assert "a step is done to servers of ZooKeeper, and these are not ours" in output
    assert f"the servers at {where} are not ours to kill or pause" in output
    assert eyes.children("/somebodys") == ["own"]
    eyes.delete_all("/somebodys")
    assert eyes.children("/") == before


def test_a_chroot_that_somebody_names_is_not_made_for_them(
    pytester: pytest.Pytester, server: EmbeddedZooKeeper, eyes: Znodes
) -> None:
    eyes.ensure("/tests")
    pytester.makepyfile("def test_it(kcsim_zookeeper): ...")
    result = pytester.runpytest_inprocess(f"--kcsim-zookeeper={server.connect_string}/test", "--kcsim-execute")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*kcsim: chroot /test does not exist: there is no znode /test; did you mean /tests?"])
    assert not eyes.exists("/test")
    eyes.delete_all("/tests")
