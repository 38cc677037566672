"""The page of a played cluster with 100 brokers and 10,000 partitions: how it opens, draws, and how much memory it takes.

First it follows a run of 2,000 events per second; then it is opened on a run of a million events, and follows it. Each is
printed beside the target. play-page=300000 selects another number of events for the second run. Without Chromium nothing is
measured.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.run_processes import RunProcesses
from tests.chromium import Chromium, NoBrowserError, Tab, find_chromium
from tests.scenarios.play.conftest import served

EVENTS = 1_000_000
BROKERS, TOPICS, PARTITIONS = 100, 100, 100
IDLE_MS = 20_000
"""All topics are created by then, and nothing has happened for a while."""
RESTART_EVERY_MS, DOWN_MS = 13_000, 12_000
"""How often a broker is stopped, and for how long: with so many partitions this makes some 2,000 events a second."""
PLANNED_MS = 3_600_000
STEP_MS = 10_000
WATCHED_S = 24
MOST_TO_OPEN_S, FEWEST_FRAMES, MOST_MEMORY_MB = 3.0, 30, 300

COUNT_FRAMES = """
new Promise((counted) => {
  const seconds = [];
  const began = performance.now();
  const count = (now) => {
    const second = Math.max(Math.floor((now - began) / 1000), 0);
    seconds[second] = (seconds[second] ?? 0) + 1;
    if (second < %d) requestAnimationFrame(count);
    else counted(Array.from(seconds.slice(0, -1), (frames) => frames ?? 0));
  };
  requestAnimationFrame(count);
})
"""
IS_SHOWN = "play.shownEnd > 0 && play.shownEnd === kcsim.run.length - 1"


def main(size: str | None = None) -> None:
    """Print time to open, frames per second, and memory of the page, for both runs."""
    try:
        program = find_chromium()
    except NoBrowserError as error:
        print(f"not measured: {error}")
        return
    most = int(size or EVENTS)
    print("\nThe page of a played cluster of 100 brokers and 10,000 partitions")
    with Chromium(program) as browser:
        with _cluster(lambda cluster: cluster.now_ms >= IDLE_MS + 3 * STEP_MS) as cluster:
            _watch(browser, cluster)
        with _cluster(lambda cluster: _count(cluster) >= most) as cluster:
            _watch(browser, cluster)


@contextmanager
def _cluster(is_far_enough: Callable[[PlayedCluster], bool]) -> Iterator[PlayedCluster]:
    """Yield a cluster whose run has gone on until a condition holds, and waits there."""
    processes = RunProcesses()
    try:
        cluster = PlayedCluster(_scenario(), 1, _acts(), processes)
        while not is_far_enough(cluster):
            cluster.go_on_to(max(cluster.now_ms, IDLE_MS) + STEP_MS)
            cluster.finish_passing()
            cluster.take()
        yield cluster
    finally:
        processes.close()


def _scenario() -> Scenario:
    topics = {f"topic-{number}": {"partitions": PARTITIONS, "replication-factor": 3} for number in range(TOPICS)}
    cluster = {"brokers": BROKERS, "topics": topics}
    return Scenario.model_validate(
        {"name": "large", "description": "A large cluster.", "cluster": cluster, "timetable": [{"start": "all"}]}
    )


def _acts() -> Sequence[Act]:
    """Return the start of the cluster and, from then on, a broker after the other that is stopped and started again."""
    acts = [Act(0, "start: all"), *(Act(2_000 + 20 * number, f"create-topic: topic-{number}") for number in range(TOPICS))]
    for turn, at_ms in enumerate(range(IDLE_MS, PLANNED_MS, RESTART_EVERY_MS)):
        broker = f"broker-{turn % BROKERS + 1}"
        acts += [Act(at_ms, f"stop: {broker}"), Act(at_ms + DOWN_MS, f"start: {broker}")]
    return sorted(acts, key=lambda act: act.at_ms)


def _watch(browser: Chromium, cluster: PlayedCluster) -> None:
    before = _count(cluster)
    with served(cluster) as server:
        began_s = time.perf_counter()
        with browser.open(server.address) as tab:
            tab.wait_for(IS_SHOWN)
            opened_s = time.perf_counter() - began_s
            tab.evaluate("play.send({paused: false})")
            first, began_s = _count(cluster), time.perf_counter()
            frames = tab.evaluate(COUNT_FRAMES % WATCHED_S)
            per_second = (_count(cluster) - first) / (time.perf_counter() - began_s)
            heap_mb, whole_mb = _heap_mb(tab), _memory_mb(browser)
            complaints = tab.complaints
    print(f"  after {before:,} events, followed for {WATCHED_S} s at {per_second:,.0f} events per second:")
    print(f"    opened in {opened_s:.1f} s (target: less than {MOST_TO_OPEN_S:.0f} s)")
    mean = sum(frames) / len(frames)
    print(f"    {mean:.0f} frames per second, {min(frames)} in the worst second (target: more than {FEWEST_FRAMES})")
    print(f"    {whole_mb:.0f} MB of memory, {heap_mb:.0f} MB of it objects (target: less than {MOST_MEMORY_MB} MB)")
    for complaint in complaints:
        print(f"    the page complains: {complaint}")


def _count(cluster: PlayedCluster) -> int:
    return sum(part.count for part in list(cluster.fork.run.parts))


def _heap_mb(tab: Tab) -> float:
    used: int = tab.call("Runtime.getHeapUsage")["usedSize"]
    return used / 1e6


def _memory_mb(browser: Chromium) -> float:
    """Return the memory of the largest process of a page; memory that processes share is divided among them."""
    processes = browser.call("SystemInfo.getProcessInfo")["processInfo"]
    return max(_share_mb(one["id"]) for one in processes if one["type"] == "renderer")


def _share_mb(process: int) -> float:
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("the kernel names the share of memory")
