"""The two environments of a test's cluster: a running ZooKeeper, or virtual time with a simulated ZooKeeper."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kcsim.brokers.cluster.cluster_spec import TICK_TIME_MS, BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.live_environment import run_live
from kcsim.brokers.cluster.run_setup import RunInfo, Script
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.language.schema import ClusterModel
from kcsim.scenarios.testing.artefacts import ZOOKEEPER_LOG, Artefacts, unused
from kcsim.scenarios.testing.cluster import ClusterForTest
from kcsim.scenarios.testing.cluster_run import LiveRun, SimulatedRun
from kcsim.scenarios.testing.errors import BadOptionError
from kcsim.scenarios.testing.failure_timeline import ZooKeeperLog
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import Transaction

Brokers = int | Sequence[Mapping[str, Any]]
"""The number of brokers (ids 1, 2, …), or a list of {"id": …, "rack": …, "settings": …}."""
OWN_DEFAULTS = {"controlled.shutdown.retry.backoff.ms": 500, "zookeeper.session.timeout.ms": 4_000}
"""Defaults that differ from Kafka's: the last brokers to stop have no broker to move their leaders to; and the session of a
killed broker need not keep a test waiting."""
DATA = "zookeeper-data"


def checked_spec(
    brokers: Brokers, racks: int | None, settings: Mapping[str, str | int | bool], hardening: bool = False
) -> ClusterSpec:
    """Return the requested cluster, checked as the cluster of a scenario file is. Raises: BadOptionError."""
    described: dict[str, Any] = {"brokers": brokers, "settings": {**OWN_DEFAULTS, **settings}}
    if racks is not None:
        described["racks"] = racks
    try:
        model = ClusterModel.model_validate(described)
    except ValidationError as error:
        raise BadOptionError("; ".join(_problem(detail) for detail in error.errors(include_url=False))) from None
    members = tuple(BrokerSpec(broker.id, broker.rack, broker.settings) for broker in model.members())
    longest_ms = max_session_timeout_ms(model.settings, TICK_TIME_MS)
    return ClusterSpec(members, model.settings, max_session_timeout_ms=longest_ms, is_hardened=hardening)


def _problem(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"] if not str(part).startswith("<"))
    return f"{place}: {detail.get('ctx', {}).get('message') or detail['msg']}"


def simulated_cluster(spec: ClusterSpec, name: str, seed: int, artefacts: Artefacts) -> ClusterForTest:
    """Return a cluster in virtual time whose brokers are not started yet."""
    kept: list[Transaction] = []

    def run(script: Script) -> None:
        run_simulated(1, spec, RunInfo(name, seed, ZooKeeperKind.SIMULATED), script, (), kept.append)

    cluster = ClusterForTest(SimulatedRun(run), spec, seed)
    artefacts.offer(cluster.write_artefacts)
    artefacts.offer(transaction_log_writer(lambda: kept))
    return cluster


def live_cluster(
    spec: ClusterSpec, name: str, seed: int, zookeeper: ZooKeeperForTest, artefacts: Artefacts
) -> ClusterForTest:
    """Return a cluster on a running ZooKeeper, its brokers not started yet.

    Raises: ServerError, ZooKeeperUnavailableError.
    """
    security = zookeeper.server.security
    choice = ZooKeeperChoice(ZooKeeperKind.EXTERNAL, connect=zookeeper.connect_string, security=security)

    def run(script: Script) -> None:
        run_live(choice, spec, RunInfo(name, seed, zookeeper.connect_string), script, ())

    cluster = ClusterForTest(LiveRun(run), spec, seed, zookeeper)
    artefacts.offer(cluster.write_artefacts)
    return cluster


def transaction_log_writer(transactions: Callable[[], Sequence[Transaction]]) -> Callable[[Path], None]:
    """Return a function that writes a simulated ZooKeeper's log, as text and in ZooKeeper's own format."""

    def write(directory: Path) -> None:
        data = unused(directory, DATA)
        with LogWriter(data) as log:
            for transaction in transactions():
                log.write(transaction)
        text = "".join(f"{line}\n" for line in ZooKeeperLog(data).lines())
        unused(directory, ZOOKEEPER_LOG).write_text(text, encoding="utf-8")

    return write
