"""Citations of docs/kafka name sections that exist, so that a reader finds what a docstring relies on.

A citation is the name of a page and, after it, any number of places: sections (`3`, `12.8`), items of a section's list
(`5.2-6`, `7.2 (4)`), ranges (`2 to 5`), names of rows or steps (`B10`, `T8`), first cells of rows in quotation marks
(`5, "resign"`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kcsim.controller.decisions.partition_states import PARTITION_PREVIOUS_STATES
from kcsim.controller.decisions.replica_states import REPLICA_PREVIOUS_STATES
from kcsim.controller.events import ControllerState

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "kafka"
SUFFIXES = (".py", ".md", ".yaml", ".txt")

PLACE = r'(?:\d+(?:\.\d+)*(?:-\d+)?|[A-Z]\d+)(?![\w-])(?!\.\d)|"[^"\n]+"'
FIRST = re.compile(rf"[`\])]*\s+(?P<place>{PLACE})")
NEXT = re.compile(rf"(?P<join>,\s+and\s+|\s+and\s+|\s+to\s+|,\s+)(?P<place>{PLACE})")
WITHIN = re.compile(r"\s+\((?P<inner>\d+|[A-Z]\d+)\)")
REMARK = re.compile(r"\s+\([^()]*\)(?=,|\s+and\s)")
HEADING = re.compile(r"#+ (\d+(?:\.\d+)*|[A-Z]\d+)\.?(?:\s|$)")
ITEM = re.compile(r"\s*(\d+)\. ")
ROW = re.compile(r"\| *([^|]+?) *\|")
NUMBER = re.compile(r"[\d.]+")
"""A first cell that is no place: a version in a table of versions reads like a section."""
STEP = re.compile(r"\*\*([A-Z]\d+)\*\*")


class Citation(NamedTuple):
    """A place on a page that a text cites, and the line of the text. `place` is empty if only the page is named."""

    line: int
    page: str
    place: str


def citations_in(text: str, bare_names: frozenset[str] = frozenset()) -> Iterator[Citation]:
    """Yield every citation in a text.

    Args:
        bare_names: pages that may be cited by their file name alone, without docs/kafka/ before it.
    """
    names = "|".join(sorted(bare_names)) or "(?!)"
    flat = re.sub(r"\n[ \t]*#?", lambda found: " " * len(found[0]), text)  # a citation may go over several lines
    for found in re.finditer(rf"docs/kafka/(\w+)\.md|(?<![\w./-])({names})\.md", flat):
        page, line = found[1] or found[2], text.count("\n", 0, found.start()) + 1
        places = list(_places(flat, found.end()))
        yield from (Citation(line, page, place) for place in places or [""])


def _places(text: str, position: int) -> Iterator[str]:
    """Yield the places that follow the name of a page; ranges as all their members, `7.2 (4)` as 7.2-4."""
    last, pattern = "", FIRST
    while (found := pattern.match(text, position)) is not None:
        place, position, pattern = found["place"].strip('"'), found.end(), NEXT
        if found.groupdict().get("join", "").strip() == "to":
            yield from _between(last, place)
        last = place
        if (within := WITHIN.match(text, position)) is not None:
            position, inner = within.end(), within["inner"]
            yield f"{place}-{inner}" if inner.isdigit() else inner
        yield place
        if (remark := REMARK.match(text, position)) is not None:
            position = remark.end()


def _between(first: str, last: str) -> list[str]:
    """Return the places between two, both excluded: 7.1 and 7.4 give 7.2 and 7.3."""
    (stem, low), (_, high) = (re.fullmatch(r"(.*?)(\d+)", place).groups() for place in (first, last))  # type: ignore[union-attr]
    return [f"{stem}{number}" for number in range(int(low) + 1, int(high))]


def places_on(page: str) -> frozenset[str]:
    """Return every place that can be cited of a page: sections, their items as 5.2-6, first cells of rows, steps in bold."""
    section, places = "", set[str]()
    for line in page.splitlines():
        if (heading := HEADING.match(line)) is not None:
            section = heading[1]
            places.add(section)
        elif (item := ITEM.match(line)) is not None:
            places.add(f"{section}-{item[1]}")
        elif (row := ROW.match(line)) is not None:
            cell = row[1]
            places.update({f"{section}-{cell}"} if cell.isdigit() else {cell} if not NUMBER.fullmatch(cell) else ())
        places.update(STEP.findall(line))
    return frozenset(places)


def missing(citations: Iterator[Citation], pages: dict[str, frozenset[str]]) -> list[Citation]:
    return [cited for cited in citations if cited.page not in pages or cited.place not in {"", *pages[cited.page]}]


def files() -> Iterator[Path]:
    """Yield the texts of the checkout, each once: the packages in kcsim/ are links. This file cites what does not exist."""
    for top in sorted(ROOT.iterdir()):
        if top.name.startswith(".") or not top.is_dir():
            yield from [top] * (top.suffix in SUFFIXES)
            continue
        for file in sorted(top.rglob("*")):
            if file.suffix in SUFFIXES and file.resolve() == file and file != Path(__file__).resolve():
                yield file


def reference() -> dict[str, frozenset[str]]:
    return {page.stem: places_on(page.read_text()) for page in sorted(REFERENCE.glob("*.md"))}


def test_every_cited_section_exists() -> None:
    pages = reference()
    names = frozenset(pages) - {"README"}
    wrong = [
        f"{file.relative_to(ROOT)}:{cited.line}: docs/kafka/{cited.page}.md {cited.place}".rstrip()
        for file in files()
        for cited in missing(citations_in(file.read_text(), names), pages)
    ]
    assert wrong == []


def test_the_citations_of_the_checkout_are_read() -> None:
    """Otherwise nothing would be checked: by full path in code, by file name in transcripts and between the pages."""
    text = (ROOT / "controller/handlers/reassignment.py").read_text()
    assert [(cited.page, cited.place) for cited in citations_in(text)] == [("controller", "12")]
    text = (ROOT / "tests/controller/transcripts/deletion_waits_for_reassignment.txt").read_text()
    assert {"5.1-6", "12.2-0"} <= {cited.place for cited in citations_in(text, frozenset({"controller"}))}


PAGE = """# A page
## 1 First
### 1.1 Inner
1. an item
2. another, **U1**: a step
## 2. Second
| # | message |
| --- | --- |
| B1 | one |
| resign | two |
| 3.9 | a version |
### T3 A sequence
### T4 Another
### T5 A third
"""


@pytest.mark.parametrize(
    "text",
    [
        "Source: docs/kafka/page.md 1, 1.1 and 2.",
        "docs/kafka/page.md 1 to 2; KIP-101, and 7 brokers",
        "docs/kafka/page.md 1.1-2, 1.1 (1)",
        '# docs/kafka/page.md\n    # 1.1, and B1, U1; "none"',
        'docs/kafka/page.md 2, "resign"',
        "docs/kafka/page.md T3 to T5, 2 (B1)",
        "page.md 1.1 (recorded), 2; other.md 9",
        "[page.md](page.md) 1.1, and `page.md` 2",
        "docs/kafka/page.md",
        "docs/other/page.md 9",
    ],
)
def test_a_citation_of_what_exists_is_accepted(text: str) -> None:
    assert missing(citations_in(text, frozenset({"page"})), {"page": places_on(PAGE)}) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("docs/kafka/page.md 3", ["3"]),
        ("docs/kafka/page.md 1.2 and 1.1", ["1.2"]),
        ("docs/kafka/page.md 1.1,\n    2.1, 3.", ["2.1", "3"]),
        ("docs/kafka/page.md 1 to 4", ["3", "4"]),
        ("docs/kafka/page.md T1 to T4", ["T2", "T1"]),
        ("docs/kafka/page.md 1.1-3", ["1.1-3"]),
        ("docs/kafka/page.md 2-1", ["2-1"]),
        ("docs/kafka/page.md 3.9", ["3.9"]),
        ("docs/kafka/page.md 1.1 (3), 2", ["1.1-3"]),
        ("docs/kafka/page.md B2, B1, U9", ["B2", "U9"]),
        ('docs/kafka/page.md 2, "elected"', ["elected"]),
        ("page.md 1 (recorded), 1.3", ["1.3"]),
        ("[page.md](page.md) 5", ["5"]),
        ("docs/kafka/absent.md", [""]),
        ("docs/kafka/absent.md 1", ["1"]),
    ],
)
def test_a_citation_of_what_is_missing_is_found(text: str, places: list[str]) -> None:
    found = missing(citations_in(text, frozenset({"page"})), {"page": places_on(PAGE)})
    assert sorted(cited.place for cited in found) == sorted(places)


def test_a_missing_section_is_reported_with_the_line_that_cites_it() -> None:
    text = "one\n# two: docs/kafka/page.md\n# 3\n"
    assert list(missing(citations_in(text), {"page": places_on(PAGE)})) == [Citation(2, "page", "3")]


def test_the_pages_link_to_what_exists() -> None:
    links = [
        (page.name, target)
        for page in sorted(REFERENCE.glob("*.md"))
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
    ]
    assert len(links) > 100
    assert [link for link in links if not (REFERENCE / link[1]).exists()] == []


def rows_of(page: str) -> Iterator[tuple[str, ...]]:
    """Yield the cells of every table row on a page."""
    for line in (REFERENCE / f"{page}.md").read_text().splitlines():
        if line.startswith("| "):
            yield tuple(cell.strip() for cell in line.strip("| ").split(" | "))


def test_the_page_on_state_machines_has_the_transitions_of_the_code() -> None:
    previous = {
        str(state): set(map(str, before))
        for table in (PARTITION_PREVIOUS_STATES, REPLICA_PREVIOUS_STATES)
        for state, before in table.items()
    }
    shown = {row[0]: set(row[2].split(", ")) for row in rows_of("state_machines") if row[0] in previous and row[1].isdigit()}
    assert shown == previous


def test_the_page_on_the_controller_has_the_states_and_timers_of_the_code() -> None:
    states = {state.kafka_name: (str(state.gauge), state.timer or "none") for state in ControllerState}
    shown = {row[0]: (row[1], row[2].split()[0]) for row in rows_of("controller") if row[0] in states and row[1].isdigit()}
    assert shown == states
