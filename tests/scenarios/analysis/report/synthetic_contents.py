"""Synthetic contents of a report: every table is filled, with the size that a real one has."""

import math
from typing import Any

from kcsim.scenarios.analysis.analyses.analysis import Analysis, Field
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.report.contents import Column, Contents, DurationDistribution, Focus, ReportTotals, Table
from kcsim.scenarios.analysis.report.gathering import ROWS, TABLES
from kcsim.scenarios.views.human import DURATION_EDGES_MS, HOUR_MS

HOSTILE = '<script src="https://evil.example/x.js">alert(1)</script>"\'&\u202e'
DAYS = 30
END_MS = DAYS * 24 * HOUR_MS
BUCKET_MS = 6 * HOUR_MS
TRIGGERS = (
    "BrokerFailed",
    "ControlledShutdown",
    "LeaderRebalance",
    "BrokerStarted",
    "ControllerFailover",
    "UncleanElection",
)


def made_up(rows: int = ROWS, total: int = 12_345, name: str = "orders", focused: bool = True) -> Contents:
    """Return contents with this many rows in each table. `name` is the name of the first topic, of racks, and of the run."""
    tables = {found: _table(ANALYSES[found], rows, total, name) for found in TABLES}
    return Contents(
        dataset=f"history of {name}",
        version="9.9.9",
        facts={"seed": "17", "brokers": "24", "made of": name},
        totals=_whole(),
        focus=_focus(name) if focused else None,
        unavailability=DurationDistribution(
            _classes(6, 14), {0.5: 8_200.0, 0.9: 31_000.0, 0.99: 240_000.0, 1.0: 3_725_000.0}
        ),
        recovery=DurationDistribution(_classes(9, 15), {0.5: 6_400.0, 0.9: 19_000.0, 0.99: 95_500.0, 1.0: 1_800_000.0}),
        elections={trigger: (90_000 // (place + 1), 12 * place, 3_400 * place) for place, trigger in enumerate(TRIGGERS)},
        faults={"kill": (412, 3), "rack-outage": (12, 0), "session expired": (80, 1), name: (0, 0)},
        tables=tables,
        left_out=(f"{name}.parquet: not read: broken off",),
    )


def _whole() -> ReportTotals:
    return ReportTotals(
        runs=3,
        batches=1,
        events=10_000_000,
        transitions=2_345_678,
        topics=200,
        partitions=2_400,
        brokers=24,
        racks=3,
        existing_ms=2_400 * END_MS,
        unavailable_ms=987_654_321,
        windows=54_321,
        open_windows=2,
        longest_ms=3_725_000,
        elections=765_432,
        unclean=12,
        nobody=345,
        controllers=17,
        longest_gap_ms=18_204,
    )


def _classes(first: int, last: int) -> tuple[int, ...]:
    middle = (first + last) / 2
    return tuple(
        int(9_000 * math.exp(-((place - middle) ** 2) / 5)) if first <= place <= last else 0
        for place in range(len(DURATION_EDGES_MS) + 1)
    )


def _table(analysis: Analysis, rows: int, total: int, name: str) -> Table:
    columns = tuple(Column(field.name, field.unit, field.meaning) for field in analysis.fields)
    values = tuple(tuple(_value(analysis.name, field, place, name) for field in analysis.fields) for place in range(rows))
    return Table(analysis.name, analysis.question, analysis.definition, columns, values, max(total, rows))


def _value(analysis: str, field: Field, place: int, name: str) -> Any:
    known: dict[str, Any] = {
        "batch": "generated",
        "run": name,
        "scope": ("cluster", "topic", "topic", "partition")[min(place, 3) if place < 12 else 3] if place else "cluster",
        "topic": None if analysis == "availability" and place == 0 else name if place == 1 else f"topic-{place:03d}",
        "trigger": TRIGGERS[place % len(TRIGGERS)],
        "outcome": ("clean", "clean", "clean", "unclean", "nobody")[place % 5],
        "fault": ("kill", "pause", "stop", "session expired", "rack-outage")[place % 5],
        "rack": name if place == 0 else f"rack-{place}",
        "racks": [name, f"rack-{place}"],
        "brokers": [place, place + 1],
        "availability": 1 - 0.012 / (place + 1),
        "nines": round(-math.log10(0.012 / (place + 1)), 4),
        "unavailable_ms": 90_000_000 // (place + 1),
        "broker": place + 1,
    }
    if field.name in known:
        return known[field.name] if field.type != "bigint" or isinstance(known[field.name], int) else 24
    match field.type:
        case "bigint":
            return 60_000 // (place + 1) if field.unit else place
        case "double":
            return 1.5 + 1 / (place + 1)
        case "boolean":
            return place % 7 == 0
        case "array<bigint>":
            return [place, place + 1, place + 2]
        case _:
            return "RoundRobin"


def _focus(name: str) -> Focus:
    starts = range(0, END_MS, BUCKET_MS)
    health, skew, churn = [], [], []
    for place, start in enumerate(starts):
        bump = 40 * math.exp(-((place - 60) ** 2) / 12)
        health.append(
            {
                "bucket_ms": start,
                "partitions": 2_400.0,
                "offline": 0.4 + bump / 8,
                "under_replicated": 5 + 3 * math.sin(place / 5) + bump,
                "under_min_isr": 0.5 + bump / 3,
            }
        )
        skew.append(
            {
                "bucket_ms": start,
                "leaders_max_to_mean": 1.1 + 0.3 * abs(math.sin(place / 9)),
                "replicas_max_to_mean": 1.06,
                "preferred_share": 0.99 - 0.3 * abs(math.sin(place / 9)),
            }
        )
        if place % 2 == 0:
            churn.append(
                {"bucket_ms": start, "left_isr": 30 + place % 11, "left_by_leader": place % 7, "joined_isr": 29 + place % 9}
            )
    terms = [
        {
            "broker": 1 + place % 4,
            "controller_epoch": place + 1,
            "from_ms": place * 42 * HOUR_MS + 18_000,
            "to_ms": (place + 1) * 42 * HOUR_MS,
            "served_ms": 42 * HOUR_MS - 18_000,
            "gap_before_ms": 18_000,
        }
        for place in range(17)
    ]
    return Focus(
        "generated", name, END_MS, BUCKET_MS, {"health": health, "skew": skew, "isr-churn": churn, "controllers": terms}
    )
