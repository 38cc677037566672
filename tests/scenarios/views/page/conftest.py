"""Runs to report on, and a browser to look at the reports with: each made once."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import open_trace_writer
from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.views.page.report import report
from tests.chromium import Chromium, find_chromium
from tests.requirements import require


@cache
def run_of(name: str) -> tuple[Event, ...]:
    """Return the events of a scenario in virtual time, verdicts included: one of the library, or a file of this folder."""
    path = Path(__file__).with_name(f"{name}.yaml")
    loaded = load_scenario(path if path.exists() else find_scenario(name))

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=loaded.scenario.zookeeper.members)
    info = RunInfo(loaded.scenario.name, 1, "simulated")
    return tuple(run_in_environment(choice, cluster_spec(loaded.scenario), info, script).events)


def written(path: Path, events: Sequence[Event]) -> Path:
    """Write a trace with these events and return its path."""
    writer = open_trace_writer(path)
    for event in events:
        writer.write(event)
    writer.close()
    return path


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function from the name of a scenario to the address of the report of its run."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def made(name: str) -> str:
        trace = written(folder / f"{name}.jsonl", run_of(name))
        page = folder / f"{name}.html"
        page.write_text(report(trace, "kcsim").html, encoding="utf-8")
        return page.as_uri()

    return made


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    require("chromium")
    with Chromium(find_chromium()) as browser:
        yield browser
