"""The changes under which a history is replayed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

REBALANCE_INTERVAL_MS = 300_000
FIRST_REBALANCE_AFTER_MS = 5_000


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The changes of a what-if. A field that is None leaves everything as it was.

    Attributes:
        unclean: unclean.leader.election.enable for every topic, whatever its settings were.
        unclean_topics: the same for single topics; takes precedence over `unclean`.
        preferred_rebalance: whether the controller automatically moves leadership back to preferred leaders. If so, every
            check moves every partition back that can be: leader.imbalance.per.broker.percentage is taken to be 0, because it
            would need to know of all partitions.
        rebalance_interval_ms: leader.imbalance.check.interval.seconds; the first check is 5 s after a controller takes over.
        min_insync_replicas: of every topic. It changes no leader, only what counts as under min.insync.replicas.
        replication_factor: every topic is placed anew by Kafka's own assignment over the brokers that the history knows.
        placement: (topic, partition) -> replicas, as if the partition had been created there and never been reassigned.
            Takes precedence over `replication_factor`.
        seed: of the random numbers of the assignment.
        catch_up_ms: how long a replica takes to join the ISR when the history does not show it. None: the median of the
            times that the history shows for that partition; CATCH_UP_MS where it shows none.
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
        """Return whether an unclean election is allowed, given whether it was allowed in the history."""
        return self.unclean_topics.get(topic, as_it_was if self.unclean is None else self.unclean)

    @property
    def changes_decisions(self) -> bool:
        """Whether any leader or ISR can differ from the history."""
        return self != WhatIf(min_insync_replicas=self.min_insync_replicas)


AS_IT_WAS = WhatIf()
CATCH_UP_MS = 10_000
