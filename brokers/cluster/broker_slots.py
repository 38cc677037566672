"""The brokers of a cluster of simulated brokers: what stays the same through all incarnations of each."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kcsim.brokers.broker import Broker
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.config import BrokerConfig, Value
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.network.process import Process
from kcsim.brokers.network.process_states import ProcessState
from kcsim.brokers.stored_logs.stored_disk import StoredDisk
from kcsim.controller.capabilities import Release
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId
from kcsim.zk.ports import FaultableSession


@dataclass
class BrokerSlot:
    """A broker's place in the cluster.

    Attributes:
        numbers: the broker's own random generator, so that its draws do not depend on those of others.
        process, broker: its present incarnation; None while it is dead or stopped.
        paused_by: the sequence number of the fault that has frozen it last.
        settings: its own, beside those of the cluster.
    """

    spec: BrokerSpec
    disk: Disk
    numbers: random.Random
    process: Process | None = None
    broker: Broker | None = None
    paused_by: int | None = None
    settings: dict[str, Value] = field(default_factory=dict)
    release: Release | None = None


class BrokerSlots:
    """The slots of a cluster's brokers, by name.

    Args:
        seed: the seed of the run.
        disks: the disks of brokers that do not begin with an empty one, by name.
    """

    def __init__(self, spec: ClusterSpec, seed: int | None, disks: Mapping[str, Disk]) -> None:
        self._spec = spec
        dirs = BrokerConfig.of(spec.settings, release=spec.release).log_dir_names
        self._slots = {
            b.name: BrokerSlot(
                b,
                disks.get(b.name) or Disk(dirs, disk_numbers(seed, b)),
                random.Random(f"{seed} {b.name}"),
                settings=dict(b.settings),
                release=spec.release,
            )
            for b in spec.brokers
        }

    def __iter__(self) -> Iterator[BrokerSlot]:
        return iter(self._slots.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._slots)

    def of(self, name: str) -> BrokerSlot:
        """Return the slot of that name. Raises: ClusterError."""
        if name not in self._slots:
            raise ClusterError(f"no broker {name}; there are {', '.join(self._slots)}")
        return self._slots[name]

    def alive(self, name: str) -> tuple[BrokerSlot, Process]:
        """Return the slot of a broker whose process exists, and the process. Raises: ClusterError."""
        slot = self.of(name)
        if slot.process is None:
            raise ClusterError(f"{name} is not running")
        return slot, slot.process

    def running(self, name: str) -> tuple[BrokerSlot, Process]:
        """Return the slot of a broker that is not frozen either, and its process. Raises: ClusterError."""
        slot, process = self.alive(name)
        if process.state is not ProcessState.RUNNING:
            raise ClusterError(f"{name} is {process.state.value}; resume it, or kill it")
        return slot, process

    def session(self, name: str) -> FaultableSession:
        """Return the ZooKeeper session of a broker. Raises: ClusterError."""
        _, process = self.alive(name)
        if not process.live_sessions:
            raise ClusterError(f"{name} has no ZooKeeper session")
        return process.live_sessions[-1]

    def config_of(self, slot: BrokerSlot) -> BrokerConfig:
        """Return the broker's settings at its next start."""
        spec = self._spec
        config = BrokerConfig.of({**spec.settings, **slot.settings}, spec.protections, slot.release, spec.is_hardened)
        if spec.client_ports is None:
            return config
        given = config.given | {"host.name", "port"}
        return replace(config, host_name=spec.client_host, port=spec.client_ports[slot.spec.broker_id], given=given)


def open_disks(spec: ClusterSpec, seed: int) -> Mapping[str, Disk]:
    """Return the disk of each broker whose logs are kept in files. Raises: StorageError."""
    if spec.data_dir is None:
        return {}
    (broker,) = spec.brokers  # a data directory has the logs of one broker
    dirs = BrokerConfig.of(spec.settings, release=spec.release).log_dir_names
    return {broker.name: StoredDisk(spec.data_dir, BrokerId(broker.broker_id), dirs, disk_numbers(seed, broker))}


def disk_numbers(seed: int | None, broker: BrokerSpec) -> random.Random:
    return random.Random(f"{seed} {broker.name} disk")
