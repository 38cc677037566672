"""kcsim up --page, and kcsim play --zookeeper, as a user sees them: the page of a cluster in real time."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.chromium import Chromium, Tab
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, on, topic
from tests.scenarios.cli.test_up import up
from tests.scenarios.play.test_acts_in_browser import LAST, at, process
from tests.scenarios.play.test_futures_in_browser import IS_LOST
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture

PATIENCE_S = 600
LEADERS = f"[...kcsim.histories.allAt({LAST}, 'partition').values()].map((value) => value[1])"


def address_in(output: str) -> str:
    """Return the address of the page that a command has printed."""
    found = re.search(r"[Pp]age: (\S+)", output)
    assert found is not None, output
    return found[1]


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--processes",)])
def test_a_cluster_of_kcsim_up_has_a_page_until_it_is_stopped(
    chromium: Chromium,  # noqa: F811
    how: tuple[str, ...],
    tmp_path: Path,
) -> None:
    with up(tmp_path, "--topic", "orders:2:3", "--page", "--no-browser", *how) as terminal:
        with chromium.open(address_in(terminal.output())) as tab:
            tab.wait_for(f"kcsim.run !== undefined && {LEADERS}.length === 2 && {LEADERS}.every((leader) => leader > 0)")
            victim = tab.evaluate(f"'broker-' + {at('controller')}")
            tab.evaluate("play.bar.act('kill: controller')")
            tab.wait_for(process(victim, "dead"))
            terminal.wait_for("controller epoch 2 ")
            tab.wait_for(f"{at('epoch')} === 2")
            assert kcsim("fault", "start", victim).exit_code == 0
            tab.wait_for(process(victim, "running"))
            terminal.signal(signal.SIGINT)
            tab.wait_for(IS_LOST)
            assert [text for text in tab.complaints if "ws://" not in text] == []
        assert terminal.end() == 0
    assert "nothing is left of it" in terminal.output()


@contextmanager
def played(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield the process of `kcsim play`, and the address of its page."""
    command = [sys.executable, "-m", "kcsim.scenarios", "play", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running, address_in(running.stdout.readline())
        finally:
            running.kill()


def end(running: "subprocess.Popen[str]") -> int:
    running.send_signal(signal.SIGINT)
    return running.wait(PATIENCE_S)


@pytest.mark.live
@pytest.mark.slow
def test_a_scenario_is_played_in_real_time_and_controlled_from_another_terminal(chromium: Chromium) -> None:  # noqa: F811
    with played("leader-crash-acks-all", "--zookeeper", "model") as (command, address), chromium.open(address) as tab:
        tab.wait_for("kcsim.run !== undefined && play.bar.acts.length >= 2")
        assert tab.text("#name") == "leader-crash-acks-all"
        port = address.split(":")[2].split("/")[0]
        killed = kcsim("fault", "pause", "controller", "--cluster", f"play-{port}")
        assert killed.exit_code == 0, killed.output
        tab.wait_for(process(f"broker-{tab.evaluate(at('controller'))}", "paused"))
        assert end(command) == 0


@pytest.mark.live
@pytest.mark.slow
def test_a_lesson_is_played_on_a_zookeeper_in_real_time() -> None:
    with played("1", "--zookeeper", "model") as (command, address):
        with urlopen(address, timeout=PATIENCE_S) as page:
            assert "<title>Who is the controller" in page.read().decode()
        assert end(command) == 0


@pytest.fixture
def cluster(server: EmbeddedZooKeeper) -> LiveCluster:
    """Two brokers, registered for ever, and a partition led by one of them."""
    partitions = {"/brokers/topics/orders/partitions": None, "/brokers/topics/orders/partitions/0": None}
    orders = {**topic("orders", {0: on(1, 2)}), **partitions, **led("orders", 0, 1, (1, 2))}
    return live_cluster(server.connect_string, {**brokers(1, 2), **orders})


def act_is_refused(tab: Tab, step: str) -> None:
    tab.evaluate(f"play.bar.act({step!r})")
    tab.wait_for(f"byId('act-refused').innerText.includes({step!r})")
    assert "kcsim has not started this cluster" in tab.text("#act-refused")


@pytest.mark.live
@pytest.mark.slow
def test_the_cluster_of_a_zookeeper_that_others_run_is_watched_only(cluster: LiveCluster, chromium: Chromium) -> None:  # noqa: F811
    """Its acts are refused with the reason, and nothing is written. What goes on from it in virtual time can be acted on."""
    before = cluster.znodes()
    with played("--zookeeper", cluster.connect) as (command, address), chromium.open(address) as tab:
        tab.wait_for(f"kcsim.run !== undefined && {at('partition', 'orders-0')}?.[1] === 1")
        assert tab.text("#live-watched").startswith("Watched only: ")
        assert "seed" not in tab.text("header")
        for step in ("zk-delete: /brokers/ids/1", "kill: broker-1", "delete-topic: orders"):
            act_is_refused(tab, step)
        tab.click("#live-simulate")
        tab.wait_for("document.querySelector('#live-simulated a') !== null")
        assert cluster.znodes() == before
        with chromium.open(tab.evaluate("document.querySelector('#live-simulated a').href")) as simulated:
            simulated.wait_for(f"kcsim.run !== undefined && {at('partition', 'orders-0')}?.[1] === 1")
            simulated.evaluate("play.send({speed: 10.0}); play.send({paused: false}); play.bar.act('kill: broker-1')")
            simulated.wait_for(f"{at('partition', 'orders-0')}[1] === 2")
            assert simulated.complaints == []
        assert cluster.znodes() == before
        assert tab.complaints == []
        assert end(command) == 0


def test_options_that_contradict_each_other_end_the_command() -> None:
    chosen = kcsim("play", "controller-failover", "--zookeeper", "localhost:1/kafka", "--no-browser")
    assert (chosen.exit_code, chosen.stdout) == (64, "")
    assert chosen.stderr == "--zookeeper: a cluster that runs is shown as it is; leave the scenario out\n"
    lesson = kcsim("play", "1", "--zookeeper", "localhost:1/kafka", "--no-browser")
    assert (lesson.exit_code, lesson.stderr) == (64, "--zookeeper: a lesson runs on a ZooKeeper that is started for it\n")
    port = kcsim("up", "--page-port", "8000")
    assert (port.exit_code, port.stderr) == (64, "--page-port: the port of a page; give --page, too\n")
