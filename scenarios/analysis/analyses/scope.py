"""The part of a history that is analysed, and the settings by which it is judged."""

from dataclasses import dataclass
from enum import StrEnum

HOUR_MS = 3_600_000
FLAPPING_IN_AN_HOUR = 3


class Liveness(StrEnum):
    """When a broker counts as live."""

    SERVING = "serving"  # registered, and its process runs, as far as the history records processes: what clients notice
    REGISTERED = "registered"  # its znode in /brokers/ids exists: what the controller relies on


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a history to analyse. All times are milliseconds since a run's beginning.

    Attributes:
        topics: the topics to analyse; empty: all of them.
        since_ms, until_ms: the time to analyse, from since_ms (included) to until_ms (excluded). A window that crosses an
            edge is cut off there; a window that has not ended at `until_ms` counts as open.
        at_ms: the moment at which "if these brokers were lost now" is evaluated; None: the end.
        bucket_ms: the width of the buckets of figures over time.
        min_insync_replicas: for topics that do not set min.insync.replicas themselves.
        liveness: when a broker counts as live.
        flapping_in_an_hour: a replica flaps if it left the ISR at least this many times within some hour.
    """

    topics: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    at_ms: int | None = None
    bucket_ms: int = HOUR_MS
    min_insync_replicas: int = 1
    liveness: Liveness = Liveness.SERVING
    flapping_in_an_hour: int = FLAPPING_IN_AN_HOUR
