"""No page violates a rule of axe-core, on a screen and on a phone, in light and dark, with each panel and a menu open."""

from collections.abc import Callable

import pytest

from kcsim.scenarios.play.live_cluster import LiveCluster
from tests.accessibility import violations
from tests.chromium import Chromium
from tests.requirements import require
from tests.scenarios.classroom.conftest import served_lesson
from tests.scenarios.play.conftest import served
from tests.scenarios.play.live_clusters import served_pages
from tests.scenarios.play.test_play_in_browser import RUNNING
from tests.scenarios.play.watched_runs import Watched
from tests.scenarios.views.page.conftest import chromium, page_of  # noqa: F401 -- fixtures

PANELS = ("cluster", "partitions", "messages", "znodes", "states")
SIZES = ((1280, 800, False), (390, 844, True))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "dark"), SIZES)
@pytest.mark.parametrize("name", ["rack-loss", "leader_of_many"])
def test_a_report_violates_no_rule(
    chromium: Chromium,  # noqa: F811
    page_of: Callable[[str], str],  # noqa: F811
    name: str,
    width: int,
    height: int,
    dark: bool,
) -> None:
    """The second one has so many partitions that they are drawn as a matrix."""
    require("axe")
    with chromium.open(page_of(name), width, height, dark=dark) as tab:
        for panel in PANELS:
            tab.evaluate(f"kcsim.page.panel('{panel}')")
            assert violations(tab) == [], panel


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "dark"), SIZES)
def test_the_page_of_a_played_cluster_violates_no_rule(
    chromium: Chromium,  # noqa: F811
    width: int,
    height: int,
    dark: bool,
) -> None:
    require("axe")
    with served() as server, chromium.open(server.address, width, height, dark=dark) as tab:
        tab.wait_for(RUNNING)
        tab.evaluate("play.bar.act('kill: broker-2'); play.send({paused: true})")
        tab.wait_for("play.bar.acts.length === 3")
        tab.evaluate("byId('links').open = true")
        for panel in PANELS:
            tab.evaluate(f"kcsim.page.panel('{panel}')")
            assert violations(tab) == [], panel
        tab.click("#act-on-cluster")
        assert violations(tab) == [], "the menu"
        tab.click("#act-menu [data-act='Create a topic']")
        assert violations(tab) == [], "a question"
        assert tab.evaluate("document.documentElement.scrollWidth") == width, "nothing to scroll sideways to"
        assert tab.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "dark"), SIZES)
def test_the_page_of_a_cluster_in_real_time_violates_no_rule(
    chromium: Chromium,  # noqa: F811
    width: int,
    height: int,
    dark: bool,
) -> None:
    require("axe")
    live = LiveCluster("others run this cluster")
    for event in Watched(5_000).events:
        live.see(event)
    with served_pages(live) as server, chromium.open(server.address, width, height, dark=dark) as tab:
        tab.wait_for(RUNNING)
        tab.evaluate("play.bar.act('kill: broker-2')")
        tab.click("#live-simulate")
        tab.wait_for("document.querySelector('#live-simulated a') !== null")
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") == width, "nothing to scroll sideways to"
        assert tab.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "dark"), SIZES)
def test_the_page_of_a_lesson_violates_no_rule(
    chromium: Chromium,  # noqa: F811
    width: int,
    height: int,
    dark: bool,
) -> None:
    require("axe")
    with served_lesson("controller-election") as server, chromium.open(server.address, width, height, dark=dark) as tab:
        tab.wait_for("lesson.lesson !== null")
        assert violations(tab) == [], "a question"
        tab.evaluate("lesson.answer('2')")
        tab.wait_for("lesson.answered(lesson.lesson) !== null")
        assert violations(tab) == [], "a wrong answer"
        assert tab.evaluate("document.documentElement.scrollWidth") == width, "nothing to scroll sideways to"
        assert tab.complaints == []
