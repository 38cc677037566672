"""What may differ between Kafka's writes and ours although neither is wrong: one short table, read by whoever compares.

The reasons stand in controller/FIDELITY.md under the same names. What two runs of Kafka itself never have in common (times,
the order of keys, who joins an ISR first) is no matter of design, and not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.zk import paths


@dataclass(frozen=True, slots=True)
class Freedom:
    """`place`: the znodes it is about, and all below; `what` of them is free."""

    place: str
    what: tuple[str, ...]


WHERE_BROKERS_LISTEN = "where-brokers-listen"
ORDER_OF_COMPLETION = "order-of-completion"

BY_DESIGN: Mapping[str, tuple[Freedom, ...]] = {
    WHERE_BROKERS_LISTEN: (Freedom(paths.BROKER_IDS, ("host", "port", "endpoints")),),
    # Only where runs of Kafka differ, too.
    ORDER_OF_COMPLETION: (
        Freedom(paths.BROKER_TOPICS, ("adding_replicas", "removing_replicas", "partitions")),
        Freedom(paths.REASSIGN_PARTITIONS, ("partitions",)),
    ),
}
"""Name of the reason -> what it sets free."""


def free(reason: str, path: str) -> tuple[str, ...]:
    """What a reason sets free of a znode: keys of its JSON; none if it is not about that znode."""
    places = (f for f in BY_DESIGN[reason] if path == f.place or path.startswith(f.place + "/"))
    return next((freedom.what for freedom in places), ())
