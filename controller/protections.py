"""Kafka's protections, each as a switch: switched off, a protection shows the failure that it prevents.

All protections are on unless a scenario says otherwise. With all of them on, nothing here has an effect. Those that came
with a protocol version are on from that version.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Protection:
    """One protection, with its description for users.

    Attributes:
        name: as in scenario files and on the command line.
        source: the Kafka issues and improvement proposals that introduced it.
        with_it, without_it: what happens with and without the protection, in one sentence each.
        since: the first inter.broker.protocol.version with it; None: in all that are known (capabilities.py).
        is_of_release: whether it came with the release `since`, whatever the protocol version.
    """

    name: str
    source: str
    with_it: str
    without_it: str
    since: str | None = None
    is_of_release: bool = False


PROTECTIONS: tuple[Protection, ...] = (
    Protection(
        "controller-epoch-fence",
        "KAFKA-6082",
        "A write of the controller is applied only while /controller_epoch has the version of that controller's election.",
        "Writes of a former controller are applied, even after another was elected.",
    ),
    Protection(
        "broker-epoch",
        "KIP-380",
        "A request names the registration of the broker that it is meant for; the controller recognizes restarts by it.",
        "A broker that restarts too fast to be missed never receives what it leads and follows.",
    ),
    Protection(
        "leader-epoch-truncation",
        "KIP-101, KIP-279",
        "A follower asks the leader for the end of the latest leader epoch that both have, and truncates its log there.",
        "A follower truncates at its high watermark; acknowledged records may lie behind it.",
    ),
    Protection(
        "expiry-clears-queue",
        "KAFKA-5642, KAFKA-6879",
        "A controller whose session has expired drops the queued events, and resigns before it opens a new session.",
        "Queued events are processed on the new session, by a controller that is not registered.",
    ),
    Protection(
        "isr-shrink-at-failover",
        "KAFKA-3096, KAFKA-3143",
        "A new controller removes the replicas on dead brokers, the former controller's included, from their ISRs.",
        "The former controller's replicas stay in their ISRs, and it stays the leader where the ISR has no other.",
    ),
    Protection(
        "alter-isr",
        "KIP-497",
        "A leader asks the controller to change an ISR; the controller writes it, fenced, and notifies all brokers at once.",
        "A leader writes its ISR to ZooKeeper, without a fence; the controller learns it seconds later.",
        since="2.7",
    ),
    Protection(
        "topic-ids",
        "KIP-516",
        "A topic has an id; from 3.0 on a broker refuses a replica whose log is of an earlier topic of the same name.",
        "A broker takes up the log of an earlier topic of the same name.",
        since="2.8",
    ),
    Protection(
        "allocated-producer-ids",
        "KIP-730",
        "A broker gets the ids of its producers from the controller, and needs no access to ZooKeeper for them.",
        "A broker takes the ids of its producers in ZooKeeper itself, and needs no controller for them.",
        since="3.0",
    ),
    Protection(
        "refused-partitions-stay-online",
        "apache/kafka#11225",
        "A replica that its broker has refused to serve stays online, so that its topic can be deleted.",
        "A refused replica is offline until its broker's next start; the deletion of its topic does not end before.",
        since="3.1",
        is_of_release=True,
    ),
    Protection(
        "every-failure-is-announced",
        "KAFKA-13225",
        "All brokers learn that a broker without replicas has failed.",
        "While some partition has no leader, brokers go on naming a failed broker without replicas to clients.",
        since="3.1",
        is_of_release=True,
    ),
    Protection(
        "replica-eligibility",
        "KIP-841",
        "A follower joins an ISR only while the controller regards its broker as alive, and not as stopping.",
        "A follower that still fetches joins an ISR though its broker counts as dead, and cannot be elected.",
        since="3.3",
        is_of_release=True,
    ),
    Protection(
        "isr-version-checks",
        "KAFKA-14154",
        "A former controller refuses the ISR of a leader that knows a newer state, and the leader asks its successor.",
        "A former controller tries to write that ISR; cut off from ZooKeeper, it keeps the leader waiting.",
        since="3.3",
        is_of_release=True,
    ),
    Protection(
        "rebalance-during-reassignments",
        "KAFKA-10149",
        "Preferred leaders are elected automatically while partitions are being reassigned, too.",
        "While any partition is being reassigned, no preferred leader is elected automatically.",
        since="3.4",
        is_of_release=True,
    ),
    Protection(
        "min-isr-binds-high-watermark",
        "KAFKA-15583",
        "Records stay behind the high watermark while fewer than min.insync.replicas replicas are in sync.",
        "Records that fewer than min.insync.replicas replicas have are visible to consumers.",
        since="3.7",
        is_of_release=True,
    ),
)
"""All protections."""


@dataclass(frozen=True, slots=True)
class Protections:
    """The protections of a cluster. Each field is a protection's name with underscores."""

    controller_epoch_fence: bool = True
    broker_epoch: bool = True
    leader_epoch_truncation: bool = True
    expiry_clears_queue: bool = True
    isr_shrink_at_failover: bool = True
    alter_isr: bool = True
    topic_ids: bool = True
    allocated_producer_ids: bool = True
    refused_partitions_stay_online: bool = True
    every_failure_is_announced: bool = True
    replica_eligibility: bool = True
    isr_version_checks: bool = True
    rebalance_during_reassignments: bool = True
    min_isr_binds_high_watermark: bool = True

    def without(self, names: Iterable[str]) -> "Protections":
        """Return a copy with these protections switched off. Raises: ValueError for an unknown name."""
        missing = list(names)
        unknown = [name for name in missing if name not in PROTECTION_NAMES]
        if unknown:
            raise ValueError(f"unknown protection {unknown[0]}; there are {', '.join(PROTECTION_NAMES)}")
        return replace(self, **{name.replace("-", "_"): False for name in missing})

    @property
    def off(self) -> tuple[Protection, ...]:
        """The protections that are switched off."""
        missing = {field.name for field in fields(self) if not getattr(self, field.name)}
        return tuple(p for p in PROTECTIONS if p.name.replace("-", "_") in missing)


PROTECTION_NAMES = tuple(protection.name for protection in PROTECTIONS)
ALL_ON = Protections()
