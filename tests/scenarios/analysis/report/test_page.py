"""The page of a report: it is self-contained, shows the values of the analyses, and escapes names that are markup."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kcsim.scenarios.analysis.report.contents import Contents, DurationDistribution
from kcsim.scenarios.analysis.report.gathering import ROWS, TABLES
from kcsim.scenarios.analysis.report.page import page
from kcsim.scenarios.views.html.charts import Bars, Distribution, Lanes, OverTime, Series
from tests.scenarios.analysis.report.synthetic_contents import HOSTILE, made_up

MOST_BYTES = 2 * 1024 * 1024
ADDRESSES = {"href", "src", "xlink:href", "action", "data", "poster", "srcset", "formaction"}


class Read(HTMLParser):
    """A parsed page. Parsing fails where an element is closed that is not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.texts: list[str] = []
        self._open: list[str] = []
        self._table = ""
        self.feed(text)
        self.close()
        assert self._open == [], "what is opened is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._open.append(tag)
        if tag == "table":
            self._table = attributes["data-name"] or ""
            self.rows[self._table] = []
        elif tag == "tr":
            self.rows[self._table].append([])
        elif tag in ("td", "th"):
            self.rows[self._table][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self._open and "style" not in self._open:
            self.texts.append(data)
        if self._open and self._open[-1] in ("td", "th"):
            self.rows[self._table][-1][-1] += data


@pytest.fixture(scope="module")
def contents() -> Contents:
    return made_up()


@pytest.fixture(scope="module")
def text(contents: Contents) -> str:
    return page(contents)


@pytest.fixture(scope="module")
def read(text: str) -> Read:
    return Read(text)


def test_nothing_leads_out_of_the_page(text: str, read: Read) -> None:
    """The page may be opened where there is no network, and must not report that it was opened."""
    addresses = [value for _, attributes in read.elements for name, value in attributes.items() if name in ADDRESSES]

    assert addresses
    assert all((address or "").startswith("#") for address in addresses)
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#hatched", "#dotted"}
    assert not re.search(r"https?:|@import|\bfetch\(|XMLHttpRequest", text)
    policy = next(
        attributes["content"]
        for name, attributes in read.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert (policy or "").startswith("default-src 'none'")


def test_every_link_has_a_place_to_go_to_and_no_name_is_given_twice(read: Read) -> None:
    names = Counter(attributes["id"] for _, attributes in read.elements if "id" in attributes)
    links = {(attributes["href"] or "")[1:] for name, attributes in read.elements if name == "a"}

    assert links <= names.keys()
    assert max(names.values()) == 1


def test_tables_carry_the_rows_of_the_analyses(contents: Contents, read: Read) -> None:
    assert read.rows.keys() == set(TABLES)
    for name, table in contents.tables.items():
        head, *rows = read.rows[name]
        assert len(rows) == len(table.rows) == ROWS
        assert [heading.startswith(column.name) for heading, column in zip(head, table.columns, strict=True)].count(
            False
        ) == 0


def test_what_is_copied_is_exact(read: Read, contents: Contents) -> None:
    """99.9 % is for reading; for a spreadsheet it is 0.9990000000000001."""
    exact = [attributes["data-v"] for name, attributes in read.elements if name == "td" and "data-v" in attributes]
    (row,) = (row for row in contents.tables["availability"].named() if row["scope"] == "cluster")

    assert repr(row["availability"]) in exact
    assert str(row["unavailable_ms"]) in exact


def test_what_was_left_out_is_reported(read: Read) -> None:
    page_text = " ".join(read.texts)

    assert f"These are the first {ROWS} of 12,345; all of them: " in page_text
    assert "kcsim spark analyse unavailability history of orders" in page_text
    assert "orders.parquet: not read: broken off" in page_text
    assert "Figures over time show run orders of batch generated; all others are of all 3 runs." in page_text


def test_figures_show_the_numbers_of_the_analyses(read: Read) -> None:
    page_text = " ".join(read.texts)

    assert "10,000,000 events of one run" not in page_text
    for figure in (
        "99.9841 %",  # availability: 1 - 987,654,321 ms of 2,400 partitions x 30 days
        "54,321",
        "765,432",
        "half of them up to 8.2 s, 90 % up to 31 s, 99 % up to 4 min, the longest 1 h 2 min",
        "35,528 windows without a live leader",
        "unavailable: 0.225 %",  # of the worst six hours
        "orders, orders\nunavailable: 0.6 %",
        "broker 1, controller epoch 1: from 18 s, for 1 d 18 h",
        "no /controller: from 0 ms, for 18 s",
        "kill\nled again: 412, never, until the end: 3",
        "BrokerFailed\nclean: 90,000, unclean: 0, no leader could be elected: 0",
        "broker 1, orders\noffline: 60,000, under min ISR: 60,000",
    ):
        assert figure in page_text, figure


def test_every_figure_is_described_to_those_who_do_not_see_it_and_defined_for_all(read: Read) -> None:
    drawings = [
        attributes for name, attributes in read.elements if name == "svg" and attributes.get("aria-hidden") != "true"
    ]
    figures = [name for name, _ in read.elements if name in ("figure", "figcaption")]

    assert drawings
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in drawings)
    assert figures.count("figure") == figures.count("figcaption") == len(drawings) / 2, "each for a desk and for a phone"


def test_lines_and_areas_differ_by_more_than_their_colour(text: str) -> None:
    css = text.partition("<style>")[2].partition("</style>")[0]

    assert all(re.search(rf"\.s{n} {{[^}}]*dasharray", css) for n in (1, 2, 3))
    assert re.search(r"\.a1 {[^}]*#hatched", css)
    assert re.search(r"\.a2 {[^}]*#dotted", css)


def test_names_that_are_markup_are_text() -> None:
    """Topics cannot have such names, but racks, runs and files can."""
    hostile = page(made_up(name=HOSTILE))
    read = Read(hostile)

    assert [name for name, _ in read.elements].count("script") == 1
    assert "https://evil.example" in "".join(read.texts), "it is shown as what it is"
    assert not any(attributes.get("src") for _, attributes in read.elements)
    assert "\u202e" not in hostile


def test_a_page_is_bounded_however_much_there_is() -> None:
    """The names are as long as Kafka allows, and all tables are full."""
    assert len(page(made_up(name="x" * 249, total=10**9)).encode()) < MOST_BYTES


def test_a_history_of_nothing_is_a_page_too() -> None:
    nothing = made_up(rows=0, total=0, focused=False)
    empty = DurationDistribution((0,) * len(nothing.recovery.classes), {})
    whole = replace(nothing.totals, existing_ms=0, unavailable_ms=0, windows=0, open_windows=0, runs=1)

    page_text = "".join(Read(page(replace(nothing, totals=whole, unavailability=empty, recovery=empty))).texts)

    assert "There were none." in page_text
    assert "Nothing would go offline" not in page_text
    assert "There are none such." in page_text


def test_what_is_counted_is_0_where_nothing_is_recorded() -> None:
    """Replicas left ISRs in every second time bucket only."""
    page_text = "".join(Read(page(made_up())).texts)

    assert "from 6 h to 12 h\nleft: 0\ntaken out by the leader: 0\njoined: 0" in page_text


def test_where_there_is_one_run_it_is_not_named() -> None:
    several = made_up()
    alone = "".join(Read(page(replace(several, totals=replace(several.totals, runs=1)))).texts)

    assert "broker 1\noffline: 60,000" in alone
    assert "Figures over time show run" not in alone


# --- charts ----------------------------------------------------------------------------------------------------------------

TWO = (Series("one", 0), Series("two", 1))


@pytest.mark.parametrize("width", [1110, 350])
@pytest.mark.parametrize(
    "chart",
    [
        OverTime(TWO, [0, 10, 30], [[1.0, None, 3.0], [0.0, 0.0, 0.0]], 10, 40, "steps"),
        OverTime((), [], [], 10, 0, "nothing"),
        Bars(TWO, [("a name that is much too long for the room that there is for it", (0, 0), None)], "bars", "things"),
        Distribution([("under 1 ms", 0, "0"), ("1 ms to 2 ms", 7, "1 ms")], "classes", "things"),
        Lanes([("broker 1", [(0, 0, "no time at all")])], [], 1, "lanes"),
    ],
    ids=lambda chart: getattr(chart, "title", str(chart)),
)
def test_charts_stay_within_their_frame(chart: OverTime | Bars | Distribution | Lanes, width: int) -> None:
    read = Read(chart.draw(width))
    (_, frame), *parts = read.elements
    _, _, right, bottom = map(float, (frame["viewbox"] or "").split())

    for name, attributes in parts:
        for key in ("x", "x1", "x2", "y", "y1", "y2"):
            if key in attributes:
                limit = right if key.startswith("x") else bottom
                assert 0 <= float(attributes[key] or "") <= limit, (name, attributes)
    assert right == width


def test_a_line_is_interrupted_where_nothing_is_known() -> None:
    drawn = OverTime(TWO[:1], [0, 10, 20, 40], [[1.0, 2.0, None, 1.0]], 10, 50, "steps").draw(1110)
    (path,) = (attributes["d"] for name, attributes in Read(drawn).elements if name == "path")

    assert (path or "").count("M") == 2
    assert (path or "").count("L") == 1
