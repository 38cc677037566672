"""The pages in docs/reference are what the code says today, and a reader finds everything on them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from kcsim.eventlog.events import EventFields, EventKind
from tests.documents.environment import VARIABLES
from tests.documents.markdown import anchor
from tests.documents.pages import FOLDER, PAGES

ROOT = Path(__file__).parents[2]
SOURCES = ("zk", "controller", "brokers", "scenarios", "kcsim", "tests")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    """A reference that lags behind the code misleads: run `make docs`, and commit the difference."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), f"docs/reference/{name} is stale: run make docs"


def test_the_folder_has_no_other_pages() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = [anchor(heading) for heading in re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)]
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", prose)
    assert links
    assert [heading for heading, count in Counter(headings).items() if count > 1] == []
    assert [target for target, _ in links if target and not (FOLDER / target).exists()] == []
    assert [place for target, place in links if not target and place not in headings] == []


def test_every_kind_of_event_has_a_meaning_and_columns_that_exist() -> None:
    columns = set(EventFields.__annotations__)
    assert [kind for kind in EventKind if not kind.meaning.endswith(".") or not set(kind.columns) <= columns] == []


def test_every_variable_of_ours_is_described() -> None:
    """What the code, the Makefile or docker-compose.yml reads and no page names can only be found by reading the code."""
    files = [*(file for folder in SOURCES for file in (ROOT / folder).rglob("*.py")), ROOT / "docker-compose.yml"]
    named = {name for file in files for name in re.findall(r"\bKCSIM_[A-Z_]+\b", file.read_text(encoding="utf-8"))}
    assert named == {name for name in VARIABLES if name.startswith("KCSIM_")}
