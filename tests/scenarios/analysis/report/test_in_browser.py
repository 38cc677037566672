"""The report page in a real browser: it opens without an error, fits the window, and its tables can be downloaded."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.scenarios.analysis.report.page import page
from tests.chromium import Chromium, find_chromium
from tests.requirements import require
from tests.scenarios.analysis.report.synthetic_contents import HOSTILE, made_up

DESK, PHONE = (1280, 800), (390, 844)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    require("chromium")
    with Chromium(find_chromium()) as browser:
        yield browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with hostile names."""
    file: Path = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(page(made_up(name=HOSTILE)), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("width", "height"), [DESK, PHONE])
def test_it_opens_without_a_complaint_and_nothing_sticks_out(chromium: Chromium, url: str, width: int, height: int) -> None:
    with chromium.open(url, width, height) as tab:
        assert tab.complaints == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        shown = "[...document.querySelectorAll('svg[role=img]')].filter(drawing => drawing.getBoundingClientRect().width)"
        assert tab.evaluate(f"{shown}.length") == tab.evaluate("document.querySelectorAll('figcaption').length")
        assert (
            tab.evaluate(f"Math.min(...{shown}.map(d => d.getBoundingClientRect().width / d.viewBox.baseVal.width))") > 0.85
        )


def test_a_table_is_kept_as_csv_exactly(chromium: Chromium, url: str) -> None:
    """The file of the download button is intercepted in the page."""
    with chromium.open(url, *DESK) as tab:
        tab.evaluate("URL.createObjectURL = blob => { globalThis.kept = blob.text(); return '#kept'; }")
        tab.evaluate("document.querySelector('[aria-label=\"Download CSV: elections\"]').click()")
        kept = list(csv.DictReader(io.StringIO(tab.evaluate("globalThis.kept"))))

    table = made_up(name=HOSTILE).tables["elections"]
    assert len(kept) == len(table.rows)
    assert [int(row["elections"]) for row in kept] == [row["elections"] for row in table.named()]
    assert kept[0]["run"] == HOSTILE.replace("\u202e", "\N{REPLACEMENT CHARACTER}")


def test_every_table_can_be_copied_and_reached_by_the_keyboard(chromium: Chromium, url: str) -> None:
    with chromium.open(url, *DESK) as tab:
        assert tab.evaluate("document.querySelectorAll('.tools button').length") == 2 * tab.evaluate(
            "document.querySelectorAll('table').length"
        )
        assert tab.evaluate("[...document.querySelectorAll('.scroll')].every(table => table.tabIndex === 0)")
