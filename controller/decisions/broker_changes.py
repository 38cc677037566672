"""Which brokers came, went or bounced between two looks at /brokers/ids."""

from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.zk.vocabulary import BrokerEpoch, BrokerId


@dataclass(frozen=True, slots=True)
class BrokerChanges:
    """Ids, each tuple sorted. A bounced broker died and came back unseen: its epoch has grown."""

    started: tuple[BrokerId, ...] = ()
    stopped: tuple[BrokerId, ...] = ()
    bounced: tuple[BrokerId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.started or self.stopped or self.bounced)


def diff_brokers(known: Mapping[BrokerId, BrokerEpoch], seen: Mapping[BrokerId, BrokerEpoch]) -> BrokerChanges:
    """Compare what the controller knows with what it now reads.

    Source: Kafka 2.8, KafkaController.processBrokerChange (KIP-380 for the bounced ones).
    """
    return BrokerChanges(
        started=tuple(sorted(seen.keys() - known.keys())),
        stopped=tuple(sorted(known.keys() - seen.keys())),
        bounced=tuple(sorted(b for b in known.keys() & seen.keys() if seen[b] > known[b])),
    )
