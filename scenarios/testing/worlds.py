"""Where the cluster of a test lives: on a ZooKeeper that runs, or in virtual time with one of its own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kcsim.scenarios.language.schema import ClusterModel
from kcsim.scenarios.live_world import run_live
from kcsim.scenarios.runs import RunInfo, Script
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.simulated_world import run_simulated
from kcsim.scenarios.testing.artefacts import ZOOKEEPER_LOG, Artefacts, unused
from kcsim.scenarios.testing.cluster import ClusterForTest
from kcsim.scenarios.testing.driven import LiveRun, SimulatedRun
from kcsim.scenarios.testing.errors import BadOptionError
from kcsim.scenarios.testing.story import ZooKeeperLog
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import Transaction

Brokers = int | Sequence[Mapping[str, Any]]
"""How many (ids 1, 2, …), or a list of {"id": …, "rack": …}."""
OWN_DEFAULTS = {"controlled.shutdown.retry.backoff.ms": 500}
"""Where a cluster of a test differs from Kafka: the last brokers to stop have nobody to move their leaders to."""
DATA = "zookeeper-data"


def spec_of(brokers: Brokers, racks: int | None, settings: Mapping[str, str | int | bool]) -> ClusterSpec:
    """The cluster as it is asked for, checked as the one of a scenario file is. Raises: BadOptionError."""
    described: dict[str, Any] = {"brokers": brokers, "settings": {**OWN_DEFAULTS, **settings}}
    if racks is not None:
        described["racks"] = racks
    try:
        model = ClusterModel.model_validate(described)
    except ValidationError as error:
        raise BadOptionError("; ".join(_problem(detail) for detail in error.errors(include_url=False))) from None
    return ClusterSpec(tuple(BrokerSpec(broker.id, broker.rack) for broker in model.members()), model.settings)


def _problem(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"] if not str(part).startswith("<"))
    return f"{place}: {detail.get('ctx', {}).get('message') or detail['msg']}"


def simulated_cluster(spec: ClusterSpec, name: str, seed: int, artefacts: Artefacts) -> ClusterForTest:
    """A cluster in virtual time, its brokers not started yet."""
    kept: list[Transaction] = []

    def run(script: Script) -> None:
        run_simulated(1, spec, RunInfo(name, seed, ZooKeeperKind.SIMULATED), script, (), kept.append)

    cluster = ClusterForTest(SimulatedRun(run), spec, seed)
    artefacts.offer(cluster.write_story)
    artefacts.offer(log_of(lambda: kept))
    return cluster


def live_cluster(
    spec: ClusterSpec, name: str, seed: int, zookeeper: ZooKeeperForTest, artefacts: Artefacts
) -> ClusterForTest:
    """A cluster on a ZooKeeper that runs, its brokers not started yet. Raises: ServerError, ZooKeeperUnavailableError."""
    choice = ZooKeeperChoice(ZooKeeperKind.EXTERNAL, connect=zookeeper.connect_string)

    def run(script: Script) -> None:
        run_live(choice, spec, RunInfo(name, seed, zookeeper.connect_string), script, ())

    cluster = ClusterForTest(LiveRun(run), spec, seed, zookeeper)
    artefacts.offer(cluster.write_story)
    return cluster


def log_of(transactions: Callable[[], Sequence[Transaction]]) -> Callable[[Path], None]:
    """Writes a simulated ZooKeeper's log, as text and in ZooKeeper's own format."""

    def write(directory: Path) -> None:
        data = unused(directory, DATA)
        with LogWriter(data) as log:
            for transaction in transactions():
                log.write(transaction)
        text = "".join(f"{line}\n" for line in ZooKeeperLog(data).lines())
        unused(directory, ZOOKEEPER_LOG).write_text(text, encoding="utf-8")

    return write
