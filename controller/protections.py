"""What Kafka has learnt to protect itself with, each as a switch: off, it shows the failure that it was made for.

All are on unless a scenario says otherwise; with all on nothing here makes a difference.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Protection:
    """One protection, as it is told to people.

    Attributes:
        name: as scenario files and the command line have it.
        source: the Kafka issues and improvement proposals that brought it.
        with_it, without_it: what happens, in one sentence each.
    """

    name: str
    source: str
    with_it: str
    without_it: str


PROTECTIONS: tuple[Protection, ...] = (
    Protection(
        "controller-epoch-fence",
        "KAFKA-6082",
        "Every write of the controller is done only while /controller_epoch has the version of its own election.",
        "What a former controller still has in hand is written, whoever is in office by then.",
    ),
    Protection(
        "broker-epoch",
        "KIP-380",
        "Requests name the life of the broker that they are meant for, and the controller sees by it which have restarted.",
        "A broker that restarts too fast for the controller to see it gone is never told what it leads and follows.",
    ),
    Protection(
        "leader-epoch-truncation",
        "KIP-101, KIP-279",
        "A follower asks the leader where its records end of the latest leader epoch they share, and cuts its log there.",
        "A follower cuts its log at its high watermark, behind which it may have records that were acknowledged.",
    ),
    Protection(
        "expiry-clears-queue",
        "KAFKA-5642, KAFKA-6879",
        "A controller whose session has expired drops the events that wait, and resigns before it opens a new session.",
        "Events that waited are processed on the new session, by a controller that is not registered any more.",
    ),
    Protection(
        "isr-shrink-at-failover",
        "KAFKA-3096, KAFKA-3143",
        "A new controller takes the replicas on brokers that are gone, the former controller's too, out of their ISRs.",
        "The former controller's replicas stay in their ISRs, and where nobody else is left it goes on being the leader.",
    ),
)
"""All there are."""


@dataclass(frozen=True, slots=True)
class Protections:
    """Which protections a cluster has. Each field is the name of one with underscores."""

    controller_epoch_fence: bool = True
    broker_epoch: bool = True
    leader_epoch_truncation: bool = True
    expiry_clears_queue: bool = True
    isr_shrink_at_failover: bool = True

    def without(self, names: Iterable[str]) -> "Protections":
        """The same, but for these. Raises: ValueError for one that does not exist."""
        missing = list(names)
        unknown = [name for name in missing if name not in PROTECTION_NAMES]
        if unknown:
            raise ValueError(f"unknown protection {unknown[0]}; there are {', '.join(PROTECTION_NAMES)}")
        return replace(self, **{name.replace("-", "_"): False for name in missing})

    @property
    def off(self) -> tuple[Protection, ...]:
        """Those that are missing."""
        missing = {field.name for field in fields(self) if not getattr(self, field.name)}
        return tuple(p for p in PROTECTIONS if p.name.replace("-", "_") in missing)


PROTECTION_NAMES = tuple(protection.name for protection in PROTECTIONS)
ALL_ON = Protections()
