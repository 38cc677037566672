"""The settings under which recordings were made, in the form that our brokers read."""

from collections.abc import Mapping

from kcsim.brokers.config import KAFKA_NAMES, PROTOCOL_VERSION
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.recording import Recording

Value = str | int | bool

IN_FORCE: Mapping[str, Value] = {
    PROTOCOL_VERSION: "2.6",
    "auto.leader.rebalance.enable": False,
    "zookeeper.session.timeout.ms": 3000,
    "replica.lag.time.max.ms": 5000,
    "replica.fetch.wait.max.ms": 200,
    "controlled.shutdown.retry.backoff.ms": 500,
}
"""Settings of every recording that does not have others."""
TICK_TIME_MS = 500

WITHOUT_EFFECT = (
    "background.threads",
    "log.cleaner.enable",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.flush.offset.checkpoint.interval.ms",
    "log.message.format.version",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
)
"""Threads, the disk, transactions: our brokers do not know these settings, which affect nothing that is compared."""
TWO_DIRS = {"log.dirs": "/disk-1,/disk-2"}
"""Meaning of `two.dirs`, which is not a setting of Kafka's."""


def settings_in_force(recording: Recording) -> dict[str, Value]:
    """Return the settings of every broker, by Kafka's names."""
    wanted = {**IN_FORCE, **recording.settings}
    return {**wanted, **TWO_DIRS} if wanted.pop("two.dirs", False) else wanted


def settings_of(recording: Recording) -> dict[str, Value]:
    """Return the settings that our brokers know.

    Raises: NotSupportedError for a setting that is neither known nor without effect.
    """
    wanted = settings_in_force(recording)
    known = {name: value for name, value in wanted.items() if name in KAFKA_NAMES}
    unknown = wanted.keys() - known.keys() - {*WITHOUT_EFFECT}
    if unknown:
        raise NotSupportedError(f"our brokers do not know the setting {', '.join(sorted(unknown))}")
    return known
