"""What of a history is looked at, and by which settings it is judged."""

from dataclasses import dataclass
from enum import StrEnum

HOUR_MS = 3_600_000


class Liveness(StrEnum):
    """When a broker counts as live."""

    SERVING = "serving"  # registered, and its process runs, as far as the history tells of processes: what clients notice
    REGISTERED = "registered"  # its znode in /brokers/ids is there: what the controller goes by


@dataclass(frozen=True, slots=True)
class Scope:
    """What to look at. All times are milliseconds since a run's beginning.

    Attributes:
        topics: only these; none: all of them.
        since_ms, until_ms: only what is from then (included) to then (not included). A window that reaches over an edge is
            cut off there; one that is still so at `until_ms` counts as open.
        at_ms: the moment that "if these brokers were lost now" is asked for; None: the end.
        bucket_ms: how finely what is told over time is divided.
        min_insync_replicas: for topics that do not set min.insync.replicas themselves.
        liveness: when a broker counts as live.
        flapping_in_an_hour: a replica flaps if it has left the ISR so often within some hour.
    """

    topics: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    at_ms: int | None = None
    bucket_ms: int = HOUR_MS
    min_insync_replicas: int = 1
    liveness: Liveness = Liveness.SERVING
    flapping_in_an_hour: int = 3
