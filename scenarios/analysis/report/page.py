"""The page of a report: one file that needs no other files."""

from collections.abc import Iterator
from pathlib import Path

from kcsim.scenarios.analysis.report.contents import Contents, ReportTotals
from kcsim.scenarios.analysis.report.drawing import tag, text
from kcsim.scenarios.analysis.report.human import count, duration, percent
from kcsim.scenarios.analysis.report.sections import HALF, PHONE, WIDE, Figure, Section, sections
from kcsim.scenarios.analysis.report.table_html import table_html

HERE = Path(__file__).parent
NO_NETWORK = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
PATTERNS = """\
<svg width="0" height="0" style="position:absolute" aria-hidden="true" focusable="false"><defs>
<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="var(--c1)" fill-opacity=".28"/><rect width="2.5" height="6" fill="var(--c1)"/></pattern>
<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">
<rect width="6" height="6" fill="var(--c2)" fill-opacity=".25"/><circle cx="3" cy="3" r="1.7" fill="var(--c2)"/></pattern>
</defs></svg>"""


def page(contents: Contents) -> str:
    """Return the whole page, as HTML."""
    parts = sections(contents)
    title = f"{contents.dataset}: history report"
    links = "".join(tag("li", tag("a", text(part.word), href=f"#{part.anchor}")) for part in parts)
    body = "\n".join(
        [
            PATTERNS,
            tag("header", "\n".join(_opening(contents, title))),
            tag("nav", tag("ul", links), aria_label="Sections"),
            tag("main", "\n".join(_section(part, contents) for part in parts)),
            tag("footer", tag("p", text(f"Made by kcsim {contents.version}. Times are since the beginning of a run."))),
            tag("script", (HERE / "report.js").read_text(encoding="utf-8")),
        ]
    )
    head = "\n".join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=NO_NETWORK),
            tag("title", text(title)),
            tag("style", (HERE / "report.css").read_text(encoding="utf-8")),
        ]
    )
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


# --- the opening -----------------------------------------------------------------------------------------------------------


def _opening(contents: Contents, title: str) -> Iterator[str]:
    totals = contents.totals
    yield tag("h1", text(title))
    yield tag("p", text(_in_a_sentence(totals)))
    yield tag("ul", "".join(_tiles(contents)), class_="tiles")
    if (focus := contents.focus) is not None and totals.runs > 1:
        shown = f"Figures over time show run {focus.run} of batch {focus.batch}; all others are of all {totals.runs:,} runs."
        yield tag("p", text(shown), class_="soft")
    for left_out in contents.left_out:
        yield tag("p", text(left_out), class_="soft")
    pairs = "".join(tag("div", tag("dt", text(name)) + tag("dd", text(value))) for name, value in contents.facts.items())
    yield tag("details", tag("summary", "What it was made of") + tag("dl", pairs, class_="facts"))


def _in_a_sentence(totals: ReportTotals) -> str:
    runs = "one run" if totals.runs == 1 else f"{totals.runs:,} runs"
    racks = f" in {totals.racks} racks" if totals.racks else ""
    return (
        f"{totals.events:,} events of {runs}, {totals.transitions:,} of which changed a partition's state: "
        f"{totals.brokers:,} brokers{racks}, {totals.topics:,} topics, {totals.partitions:,} partitions."
    )


def _tiles(contents: Contents) -> Iterator[str]:
    totals, recovery = contents.totals, contents.recovery.quantiles_ms
    availability = 1 - totals.unavailable_ms / totals.existing_ms if totals.existing_ms else None
    yield _tile(
        percent(availability) if availability is not None else "–",
        "availability: time with a live leader, over all partitions",
    )
    still = f"; {count(totals.open_windows)} not over at the end"
    yield _tile(count(totals.windows), "windows without a live leader" + still, totals.open_windows > 0)
    yield _tile(duration(totals.longest_ms) if totals.windows else "–", "the longest of them")
    most = f"; 99 %: {duration(recovery[0.99])}" if recovery else ""
    yield _tile(duration(recovery[0.5]) if recovery else "–", "from a fault to live leaders, median" + most)
    yield _tile(count(totals.elections), f"leaders elected; {count(totals.nobody)} times none could be")
    yield _tile(count(totals.unclean), "unclean elections: records may be lost", totals.unclean > 0)
    yield _tile(count(totals.controllers), f"terms of a controller; the longest gap {duration(totals.longest_gap_ms)}")
    worst = next(iter(contents.tables["loss-of-broker"].named()), None)
    if worst is not None:
        what = f"partitions offline if broker {worst['broker']} were lost now, the worst one"
        yield _tile(count(worst["offline"]), what, worst["offline"] > 0)


def _tile(figure: str, what: str, is_bad: bool = False) -> str:
    return tag("li", tag("b", text(figure)) + tag("span", text(what)), class_="tile bad" if is_bad else "tile")


# --- the sections ----------------------------------------------------------------------------------------------------------


def _section(part: Section, contents: Contents) -> str:
    drawn, pair = [], list[str]()
    for figure in part.figures:
        if figure.is_wide:
            drawn.append(_figure(figure, WIDE))
        else:
            pair.append(_figure(figure, HALF))
    if pair:
        drawn.append(tag("div", "\n".join(pair), class_="pair"))
    drawn += [table_html(contents.tables[name], contents.dataset) for name in part.tables]
    return tag("section", tag("h2", text(part.title)) + "\n".join(drawn), id=part.anchor)


def _figure(figure: Figure, width: int) -> str:
    title, caption = tag("h3", text(figure.title)), tag("figcaption", text(figure.caption))
    if figure.draw is None:
        return tag("figure", title + tag("p", text(figure.caption), class_="nothing"))
    # Drawn twice, once for each width: text that is scaled down to a phone's width cannot be read.
    drawings = tag("div", figure.draw(width), class_="wide") + tag("div", figure.draw(PHONE), class_="narrow")
    return tag("figure", title + drawings + caption)
