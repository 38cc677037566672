"""What is to be different when a history is replayed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

REBALANCE_INTERVAL_MS = 300_000
FIRST_REBALANCE_AFTER_MS = 5_000


@dataclass(frozen=True, slots=True)
class WhatIf:
    """None: as it was.

    Attributes:
        unclean: unclean.leader.election.enable for every topic, whatever its settings were.
        unclean_topics: the same for single topics; goes before `unclean`.
        preferred_rebalance: whether leadership is given back to preferred leaders by itself. If so, every partition that can
            be given back is given back at every look: leader.imbalance.per.broker.percentage, which needs to know of all
            partitions, is taken to be 0.
        rebalance_interval_ms: leader.imbalance.check.interval.seconds; the first look is 5 s after a controller takes over.
        min_insync_replicas: of every topic. It changes nothing of who leads; only what counts as under it.
        replication_factor: every topic is placed anew by Kafka's own assignment over the brokers that the history knows.
        placement: (topic, partition) -> replicas, as if the partition had been created there and never been moved. Goes
            before `replication_factor`.
        seed: of what the assignment draws.
        catch_up_ms: how long a replica takes to join the ISR when the history does not show it. None: the median of what the
            history shows for that partition; CATCH_UP_MS where it shows nothing.
    """

    unclean: bool | None = None
    unclean_topics: Mapping[str, bool] = field(default_factory=dict)
    preferred_rebalance: bool | None = None
    rebalance_interval_ms: int = REBALANCE_INTERVAL_MS
    min_insync_replicas: int | None = None
    replication_factor: int | None = None
    placement: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    catch_up_ms: int | None = None

    def allows_unclean(self, topic: str, as_it_was: bool) -> bool:
        """Whether an unclean election may be held, given whether it might in the history."""
        return self.unclean_topics.get(topic, as_it_was if self.unclean is None else self.unclean)

    @property
    def changes_decisions(self) -> bool:
        """Whether any leader or ISR can come out differently."""
        return self != WhatIf(min_insync_replicas=self.min_insync_replicas)


AS_IT_WAS = WhatIf()
CATCH_UP_MS = 10_000
