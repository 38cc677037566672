"""Small generated histories with many events, generated once for all tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.generating.generated_cluster import GeneratedCluster, GeneratedClusterMaker
from kcsim.scenarios.analysis.generating.portions import rows_of_partitions
from kcsim.scenarios.analysis.generating.rows import GeneratedRow
from kcsim.scenarios.analysis.generating.settings import Settings

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
DAY_MS = 24 * HOUR_MS

ROUGH = Settings(
    seed=9,
    brokers=9,
    racks=3,
    topics=12,
    partitions=30,
    length_ms=2 * DAY_MS,
    mtbf_ms=6 * HOUR_MS,
    mttr_ms=5 * MINUTE_MS,
    rack_mtbf_ms=DAY_MS,
    rolling_restart_ms=DAY_MS,
    isr_flaps_per_day=10,
    session_expiry_ms=12 * HOUR_MS,
    controller_change_ms=6 * HOUR_MS,
    reassignment_ms=HOUR_MS,
    topic_deletion_ms=6 * HOUR_MS,
    unclean=0.5,
)
"""A cluster with every kind of fault, elections by every rule, reassignments and deletions."""

FRAIL = Settings(
    seed=4,
    brokers=3,
    racks=1,
    topics=3,
    partitions=20,
    replication_factor=2,
    length_ms=DAY_MS,
    mtbf_ms=HOUR_MS,
    mttr_ms=HOUR_MS,
    rack_mtbf_ms=6 * HOUR_MS,
    rolling_restart_ms=6 * HOUR_MS,
    session_expiry_ms=3 * HOUR_MS,
    unclean=0.4,
    catch_up_ms=5 * MINUTE_MS,
)
"""Brokers that are dead half of the time, and now and then all at once."""

UNREPLICATED = Settings(
    seed=2, brokers=2, racks=1, topics=2, partitions=9, replication_factor=1, length_ms=2 * DAY_MS, mtbf_ms=6 * HOUR_MS
)
"""Two brokers without replication: no broker can take over the partitions of the other."""

EACH = {"rough": ROUGH, "frail": FRAIL, "unreplicated": UNREPLICATED}


@dataclass(frozen=True)
class Made:
    """A whole history:

    `events` in order, `rows` those of topics and partitions in the order in which they were generated.
    """

    generated: GeneratedCluster
    of_cluster: Sequence[Event]
    rows: Sequence[GeneratedRow]
    events: Sequence[Event]


@cache
def made(settings: Settings) -> Made:
    """Return the history that these settings generate."""
    maker = GeneratedClusterMaker(settings)
    of_cluster = list(maker.events())
    rows = [row for history in rows_of_partitions(maker.generated, range(settings.partitions)) for row in history]
    events = sorted([*of_cluster, *map(event_of, rows)], key=lambda event: event.seq)
    return Made(maker.generated, of_cluster, rows, events)


def event_of(row: GeneratedRow) -> Event:
    """Return a row as an event of the event log."""
    return Event(**{**row._asdict(), "kind": EventKind(row.kind)})


def drawn(seed: int) -> Settings:
    """Return small random settings, odd ones too: one broker, brokers that are mostly dead, replicas that always flap."""
    draw = Random(seed)
    brokers = draw.choice([1, 2, 3, 5, 9])
    return Settings(
        seed=seed,
        brokers=brokers,
        racks=draw.randint(1, min(brokers, 4)),
        topics=draw.randint(1, 6),
        partitions=draw.randint(6, 24),
        replication_factor=draw.randint(1, min(brokers, 5)),
        length_ms=draw.choice([HOUR_MS, DAY_MS, 2 * DAY_MS]),
        mtbf_ms=draw.choice([None, HOUR_MS, 6 * HOUR_MS, DAY_MS]),
        mttr_ms=draw.choice([20_000, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS]),
        rack_mtbf_ms=draw.choice([None, 6 * HOUR_MS, DAY_MS]),
        rolling_restart_ms=draw.choice([None, 6 * HOUR_MS, DAY_MS]),
        isr_flaps_per_day=draw.choice([0.0, 1.0, 20.0]),
        session_expiry_ms=draw.choice([None, 3 * HOUR_MS, DAY_MS]),
        controller_change_ms=draw.choice([None, 2 * HOUR_MS, DAY_MS]),
        reassignment_ms=draw.choice([None, HOUR_MS, 6 * HOUR_MS]),
        topic_deletion_ms=draw.choice([None, 6 * HOUR_MS]),
        unclean=draw.choice([0.0, 0.5, 1.0]),
        catch_up_ms=draw.choice([100, 20_000, 5 * MINUTE_MS]),
        rebalance=draw.random() < 0.7,
    )
