"""The table of allowed differences between Kafka's writes and the simulator's, used by every comparison.

controller/FIDELITY.md gives the reasons under the same names. Differences that two runs of Kafka itself always have (times,
the order of keys, which replica joins an ISR first) do not follow from the simulator's design and are not in this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.znodes import paths


@dataclass(frozen=True, slots=True)
class AllowedDifference:
    """Keys whose values may differ in certain znodes: `place` and all znodes below it."""

    place: str
    keys: tuple[str, ...]


WHERE_BROKERS_LISTEN = "where-brokers-listen"
ORDER_OF_COMPLETION = "order-of-completion"

ALLOWED_DIFFERENCES: Mapping[str, tuple[AllowedDifference, ...]] = {
    WHERE_BROKERS_LISTEN: (AllowedDifference(paths.BROKER_IDS, ("host", "port", "endpoints")),),
    # Applied only where runs of Kafka differ from each other, too.
    ORDER_OF_COMPLETION: (
        AllowedDifference(paths.BROKER_TOPICS, ("adding_replicas", "removing_replicas", "partitions")),
        AllowedDifference(paths.REASSIGN_PARTITIONS, ("partitions",)),
    ),
}
"""Name of the reason -> the differences that it allows."""


def allowed_keys(reason: str, path: str) -> tuple[str, ...]:
    """Return the keys of a znode's JSON that a reason allows to differ; empty if it does not concern that znode."""
    places = (f for f in ALLOWED_DIFFERENCES[reason] if path == f.place or path.startswith(f.place + "/"))
    return next((allowed.keys for allowed in places), ())
