"""Make the pictures of the page of a played cluster and of a lesson, in docs/images.

    python -m tests.documents.pictures [DIR]

Each is what a headless Chromium shows after acts that are the same each time: a fail-over in the middle of writes, the menu
of a broker, a question of a lesson. The times in them differ a little: the page is watched in real time.
"""

import sys
from pathlib import Path

from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.played_cluster import PlayedCluster
from tests.chromium import Chromium, Tab, find_chromium
from tests.scenarios.classroom.conftest import served_lesson
from tests.scenarios.play.conftest import served
from tests.scenarios.play.watched_runs import run_processes

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH, HEIGHT = 1280, 1080
CONTROLLER = "kcsim.histories.at(kcsim.run.length - 1, 'controller')"
SCENARIO = Scenario.model_validate(
    {
        "name": "play",
        "description": "A cluster to play with.",
        "cluster": {
            "brokers": 5,
            "racks": 3,
            "settings": {"zookeeper.session.timeout.ms": 6000},
            "topics": {"orders": {"partitions": 4, "replication-factor": 3}},
        },
        "workload": {"producers": {"writer": {"topics": "orders", "rate": 20, "settings": {"acks": "all"}}}},
        "timetable": [{"start": "all"}],
    }
)
FIRST = (Act(0, "start: all"), Act(1_000, "create-topic: orders"), Act(2_000, "start-workload: writer"))


def take(chromium: Chromium, folder: Path) -> None:
    """Write the pictures into a folder."""
    cluster = PlayedCluster(SCENARIO, 1, FIRST, run_processes())
    with served(cluster) as server, chromium.open(server.address, WIDTH, HEIGHT) as tab:
        tab.evaluate("play.send({speed: 10})")
        tab.wait_for("kcsim.run.times.at(-1) > 4000")
        pause(tab, True)
        tab.evaluate(f"document.querySelector(`#act-buttons [data-name=broker-${{{CONTROLLER}}}]`).click()")
        tab.screenshot(folder / "play-menu.png")
        tab.click("#act-menu [data-act=Kill]")
        pause(tab, False)
        tab.wait_for("byId('act-list').innerText.includes('with epoch 2')")
        pause(tab, True)
        tab.screenshot(folder / "play-page.png")
    with served_lesson("controller-election") as lesson, chromium.open(lesson.address, WIDTH, HEIGHT) as tab:
        for number in (1, 2):
            tab.wait_for(f"lesson.lesson?.pages.at(-1).question?.number === {number}")
            tab.evaluate("lesson.answer('1')")
            tab.wait_for("lesson.answered(lesson.lesson) !== null")
            tab.click("#lesson-on")
        tab.wait_for("document.querySelector('.card.choice') !== null")
        tab.evaluate("document.activeElement.blur()")
        tab.screenshot(folder / "lesson-page.png")


def pause(tab: Tab, is_paused: bool) -> None:
    """Let the run wait, or go on, and wait until the page shows all that has happened."""
    tab.evaluate(f"play.send({{paused: {str(is_paused).lower()}}}); document.activeElement.blur()")
    tab.wait_for(f"byId('clock-pause').getAttribute('aria-pressed') === '{str(is_paused).lower()}'")
    if is_paused:
        tab.wait_for("play.growth === null")


if __name__ == "__main__":
    with Chromium(find_chromium()) as browser:
        take(browser, Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
