"""The brokers that started, stopped or bounced between two reads of /brokers/ids."""

from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.vocabulary import BrokerEpoch, BrokerId


@dataclass(frozen=True, slots=True)
class BrokerChanges:
    """Broker ids, each tuple sorted. A bounced broker restarted between the two reads: its epoch has grown."""

    started: tuple[BrokerId, ...] = ()
    stopped: tuple[BrokerId, ...] = ()
    bounced: tuple[BrokerId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.started or self.stopped or self.bounced)


def diff_brokers(known: Mapping[BrokerId, BrokerEpoch], seen: Mapping[BrokerId, BrokerEpoch]) -> BrokerChanges:
    """Compare the brokers that the controller knows with those that it reads now.

    Source: Kafka 2.8, KafkaController.processBrokerChange (KIP-380 for the bounced ones).
    """
    return BrokerChanges(
        started=tuple(sorted(seen.keys() - known.keys())),
        stopped=tuple(sorted(known.keys() - seen.keys())),
        bounced=tuple(sorted(b for b in known.keys() & seen.keys() if seen[b] > known[b])),
    )
