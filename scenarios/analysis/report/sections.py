"""The figures of a report, section by section, each with a caption that says exactly what it shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcsim.scenarios.analysis.report.contents import Contents, DurationDistribution, Focus
from kcsim.scenarios.views.html.charts import Bars, Distribution, Figure, Lanes, OverTime, Series
from kcsim.scenarios.views.human import DURATION_EDGES_MS, class_of, count, duration, duration_ticks, percent

MOST_BARS = 15
MOST_LANES = 12
OVER_THE_TIME = "Each step is the mean over {bucket}, weighed by time."
NOTHING = "There were none."

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A part of the page. `word`: its name in the navigation. `tables`: the analyses whose tables are part of it."""

    word: str
    title: str
    figures: Sequence[Figure]
    tables: Sequence[str]

    @property
    def anchor(self) -> str:
        return self.word.lower().replace(" ", "-")


def sections(contents: Contents) -> tuple[Section, ...]:
    """Return all sections, in order."""
    return (
        Section("Availability", "Availability", tuple(_availability(contents)), ("availability", "unavailability")),
        Section("Recovery", "Recovery from faults", tuple(_recovery(contents)), ("recovery-times", "recoveries")),
        Section("Elections", "Elections", (_elections(contents),), ("elections", "unclean-elections")),
        Section(
            "Replication",
            "Replication",
            tuple(_replication(contents.focus)),
            ("isr-churn-partitions", "flapping-replicas", "under-min-isr"),
        ),
        Section("Controllers", "Controllers", (_controllers(contents.focus),), ("controllers",)),
        Section("Spread", "Spread of leaders and replicas", tuple(_skew(contents.focus)), ()),
        Section(
            "Affected",
            "Affected topics, brokers and racks",
            tuple(_affected(contents)),
            ("affected-topics", "affected-brokers", "affected-racks"),
        ),
        Section(
            "Next loss",
            "What the next loss would cost",
            tuple(_losses(contents)),
            ("loss-of-broker", "loss-of-rack", "loss-of-brokers", "loss-of-racks"),
        ),
    )


# --- over time -------------------------------------------------------------------------------------------------------------


def _over_time(
    focus: Focus | None,
    analysis: str,
    title: str,
    caption: str,
    columns: Mapping[str, str],
    value: Callable[[Row, str], float | None] = lambda row, name: row[name],
    shown: Callable[[float], str] = count,
    most: float = 0.0,
) -> Figure:
    """Return a figure of columns of an analysis as lines. `columns`: name of a column -> name of its line."""
    rows = focus.over_time[analysis] if focus else ()
    if focus is None or not rows:
        return Figure(title, NOTHING, None, is_wide=True)
    series = tuple(Series(name, style) for style, name in enumerate(columns.values()))
    starts = tuple(row["bucket_ms"] for row in rows)
    values = tuple(tuple(value(row, column) for row in rows) for column in columns)
    chart = OverTime(series, starts, values, focus.bucket_ms, focus.end_ms, title, shown, most)
    note = OVER_THE_TIME.format(bucket=duration(focus.bucket_ms))
    return Figure(title, f"{caption} {note}", chart.draw, is_wide=True)


def _availability(contents: Contents) -> Iterator[Figure]:
    def missing(row: Row, _: str) -> float | None:
        whole = row["partitions"] or 0
        return (row["offline"] or 0) / whole if whole else None

    yield _over_time(
        contents.focus,
        "health",
        "Share of partitions without a live leader, over time",
        "A partition counts while it has no live leader.",
        {"offline": "unavailable"},
        missing,
        _share,
    )
    topics = [row for row in contents.tables["availability"].named() if row["scope"] == "topic"]
    worst = sorted((row for row in topics if row["unavailable_ms"]), key=lambda row: row["availability"])[:MOST_BARS]
    bars = Bars(
        (Series("unavailable", 0),),
        [
            (
                _named(contents, row, row["topic"]),
                (1 - row["availability"],),
                f"{percent(row['availability'])}, {_nines(row)}",
            )
            for row in worst
        ],
        "Topics with the least availability",
        "of the time of its partitions, unavailable",
        _share,
    )
    caption = "Length: the part of the time in which they were unavailable. Written: availability, and the same in nines."
    yield Figure(bars.title, caption if worst else "No topic was ever unavailable.", bars.draw if worst else None)
    of = "windows without a live leader"
    yield _spread(contents.unavailability, "How long partitions were unavailable", "windows", of)


def _share(part: float) -> str:
    return f"{part * 100:.3g} %"


def _nines(row: Row) -> str:
    return "nothing missing" if row["nines"] is None else f"{row['nines']:.2f} nines"


def _spread(spread: DurationDistribution, title: str, unit: str, of: str) -> Figure:
    if not spread.total:
        return Figure(title, NOTHING, None)
    there = [place for place, number in enumerate(spread.classes) if number]
    classes = [
        (class_of(place), spread.classes[place], duration(DURATION_EDGES_MS[place - 1]) if place else "0")
        for place in range(there[0], there[-1] + 1)
    ]
    named = {0.5: "half of them up to", 0.9: "90 % up to", 0.99: "99 % up to", 1.0: "the longest"}
    quantiles = ", ".join(f"{name} {duration(spread.quantiles_ms[q])}" for q, name in named.items())
    chart = Distribution(classes, title, unit)
    return Figure(title, f"{spread.total:,} {of}: {quantiles}. The classes of durations are not equally wide.", chart.draw)


def _recovery(contents: Contents) -> Iterator[Figure]:
    yield _spread(
        contents.recovery,
        "From a fault to a live leader for all that it took",
        "faults",
        "faults that took leaders, and after which all had one again",
    )
    rows = [(kind, parts, None) for kind, parts in _most(contents.faults) if any(parts)]
    chart = Bars(
        (Series("led again", 0), Series("never, until the end", 1)), rows, "Faults that took leaders, by kind", "faults"
    )
    caption = "Led again: all the partitions that it took have a live leader once more. Other faults took no leader."
    yield Figure(chart.title, caption if rows else NOTHING, chart.draw if rows else None)


def _most(counts: Mapping[str, Sequence[int]]) -> list[tuple[str, Sequence[int]]]:
    """Return the items with the greatest sums, as many as there is room for."""
    return sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))[:MOST_BARS]


def _elections(contents: Contents) -> Figure:
    rows = [(name, parts, None) for name, parts in _most(contents.elections)]
    series = (Series("clean", 0), Series("unclean", 1), Series("no leader could be elected", 2))
    chart = Bars(series, rows, "Elections, by what they were held for", "elections")
    caption = "Unclean: the leader comes from outside the ISR, and records may be lost."
    return Figure(chart.title, caption if rows else NOTHING, chart.draw if rows else None, is_wide=True)


def _replication(focus: Focus | None) -> Iterator[Figure]:
    yield _over_time(
        focus,
        "health",
        "Partitions that were under-replicated, over time",
        "Under-replicated: fewer in sync than assigned. Under min ISR: fewer than min.insync.replicas: acks=all is refused.",
        {"under_replicated": "under-replicated", "under_min_isr": "under min ISR"},
    )
    each = duration(focus.bucket_ms) if focus else ""
    figure = _over_time(
        _every_bucket(focus, "isr-churn"),
        "isr-churn",
        "Replicas that left an ISR, over time",
        "Left: also those whose broker was gone. Taken out by the leader: those that did not keep up.",
        {"left_isr": "left", "left_by_leader": "taken out by the leader", "joined_isr": "joined"},
    )
    caption = figure.caption.replace(OVER_THE_TIME.format(bucket=each), f"Counted over {each}.")
    yield Figure(figure.title, caption, figure.draw, is_wide=True)


def _every_bucket(focus: Focus | None, analysis: str) -> Focus | None:
    """Return the focus with a row for each bucket; a bucket without a row gets a row of zeros."""
    if focus is None or not focus.over_time[analysis]:
        return focus
    by_bucket = {row["bucket_ms"]: row for row in focus.over_time[analysis]}
    nothing = dict.fromkeys(next(iter(by_bucket.values())), 0)
    rows = [
        by_bucket.get(start, nothing | {"bucket_ms": start}) for start in range(0, max(1, focus.end_ms), focus.bucket_ms)
    ]
    return replace(focus, over_time={**focus.over_time, analysis: rows})


def _controllers(focus: Focus | None) -> Figure:
    title = "Controllers over time"
    terms = focus.over_time["controllers"] if focus else ()
    if focus is None or not terms:
        return Figure(title, NOTHING, None, is_wide=True)
    spans = dict[str, list[tuple[int, int, str]]]()
    gaps = []
    for term in terms:
        name = "unknown" if term["broker"] is None else f"broker {term['broker']}"
        epoch = "" if term["controller_epoch"] is None else f", controller epoch {term['controller_epoch']}"
        tooltip = f"{name}{epoch}: from {duration(term['from_ms'])}, for {duration(term['served_ms'])}"
        spans.setdefault(name, []).append((term["from_ms"], term["to_ms"], tooltip))
        if term["gap_before_ms"]:
            begun_ms = term["from_ms"] - term["gap_before_ms"]
            tooltip = f"no /controller: from {duration(begun_ms)}, for {duration(term['gap_before_ms'])}"
            gaps.append((begun_ms, term["from_ms"], tooltip))
    by_time = sorted(spans.items(), key=lambda item: -sum(to_ms - from_ms for from_ms, to_ms, _ in item[1]))
    shown = sorted(by_time[:MOST_LANES], key=lambda item: item[1][0])
    fewer = len(by_time) - MOST_LANES
    left_out = f" {fewer} brokers that were the controller for less time are left out." if fewer > 0 else ""
    chart = Lanes(shown, gaps, focus.end_ms, title)
    changes = f"{len(terms) - 1:,} changes. " if len(terms) > 1 else ""
    return Figure(title, f"{changes}No controller: /controller did not exist.{left_out}", chart.draw, is_wide=True)


def _skew(focus: Focus | None) -> Iterator[Figure]:
    yield _over_time(
        focus,
        "skew",
        "The broker with the most against the mean, over time",
        "1 is even. Brokers that have nothing count as 0.",
        {"leaders_max_to_mean": "leaders", "replicas_max_to_mean": "replicas"},
        most=2.0,
    )
    yield _over_time(
        focus,
        "skew",
        "Partitions led by their preferred leader, over time",
        "The first replica of the assignment is the preferred leader.",
        {"preferred_share": "led by the preferred leader"},
        shown=_share,
        most=1.0,
    )


def _affected(contents: Contents) -> Iterator[Figure]:
    for analysis, what, of in (
        ("affected-topics", "topic", "Topics that were unavailable longest"),
        ("affected-brokers", "broker", "Brokers whose loss made most unavailable"),
    ):
        rows = [row for row in contents.tables[analysis].named() if row["unavailable_ms"]][:MOST_BARS]
        chart = Bars(
            (Series("unavailable", 0),),
            [(_named(contents, row, _lost(what, row[what])), (row["unavailable_ms"],), None) for row in rows],
            of,
            "time, summed up over partitions",
            lambda ms: duration(ms) if ms else "0",
            duration_ticks,
        )
        caption = "The time of each of its partitions without a live leader, added up." if rows else NOTHING
        yield Figure(of, caption, chart.draw if rows else None)


def _named(contents: Contents, row: Row, name: str) -> str:
    """Return the name of a row's item, with the name of its run where there are several runs."""
    return name if contents.totals.runs == 1 else f"{name}, {row['run']}"


def _losses(contents: Contents) -> Iterator[Figure]:
    series = (Series("offline", 0), Series("under min ISR", 1))
    for analysis, what, title in (
        ("loss-of-broker", "broker", "If one broker were lost now"),
        ("loss-of-rack", "rack", "If one rack were lost now"),
        ("loss-of-brokers", "brokers", "If two brokers were lost now, together"),
        ("loss-of-racks", "racks", "If two racks were lost now, together"),
    ):
        table = contents.tables[analysis]
        rows = [row for row in table.named() if row["offline"] or row["under_min_isr"]][:MOST_BARS]
        bars = [
            (_named(contents, row, _lost(what, row[what])), (row["offline"], row["under_min_isr"]), None) for row in rows
        ]
        chart = Bars(series, bars, title, "partitions")
        none = "Nothing would go offline or under min ISR." if table.total else "There are none such."
        caption = "Partitions that would have no replica in sync left, and those that would stay online but refuse acks=all."
        yield Figure(title, f"{caption} Worst first." if rows else none, chart.draw if rows else None)


def _lost(what: str, lost: Any) -> str:
    names = lost if isinstance(lost, list | tuple) else [lost]
    joined = " + ".join(map(str, names))
    return f"broker {joined}" if what == "broker" else joined
