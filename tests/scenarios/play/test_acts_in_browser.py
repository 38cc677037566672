"""What can be done to a cluster by clicks and keys, in a browser: the page shows what the event log has."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.play.played_cluster import PlayedCluster
from tests.chromium import Chromium, Tab
from tests.scenarios.play.conftest import served
from tests.scenarios.play.watched_runs import Watched, played_cluster
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture
from tests.scenarios.views.trace.test_entity_feed import as_received, as_shown

LAST = "kcsim.run.length - 1"
ISRS = f"[...kcsim.histories.allAt({LAST}, 'partition').values()].map((one) => one[3].length).join()"
CARD_SHOWN = "document.querySelector('#cluster [data-broker=\"3\"] .act-on') !== null"
READY = f"kcsim.run && {ISRS} === '3,3' && {CARD_SHOWN}"


def at(family: str, name: str = "") -> str:
    """Return an expression for a value at the end of the run."""
    return f"kcsim.histories.at({LAST}, '{family}', '{name}')"


def process(name: str, state: str) -> str:
    return f"{at('process', name)} === '{state}'"


def happened(kind: str) -> str:
    return f"kcsim.run.kinds.includes('{kind}')"


def in_sync(partition: str, replicas: int = 3) -> str:
    return f"{at('partition', partition)}?.[3].length === {replicas}"


def link(state: str) -> str:
    return f"document.querySelector('.link-cell').dataset.state === '{state}'"


EPOCH_OF_EACH = f"kcsim.histories.at({LAST}, 'registered', `broker-${{i + 1}}`)?.[0]"
CLUSTER, LINK, BROKER, CONSUMER = "cluster", "broker-1 and broker-2", "broker-2", "consumer-readers-1"
LAST_ACT_ON_CLUSTER = "Change a setting of all brokers"
EXPIRED = f"{process(BROKER, 'dead')} && {at('registered', BROKER)} === null"
UP = f"{process(BROKER, 'running')} && {at('registered', BROKER)} !== null && {in_sync('orders-0')} && {in_sync('orders-1')}"
REGISTERED_ANEW = f"{at('registered', BROKER)}?.[0] > play.before.epochs[1] && {UP}"
REPLACED = f"{at('epoch')} > play.before.epoch"
ACTS: list[tuple[str, str, Mapping[str, str], str]] = [
    (CLUSTER, "Create a topic", {"topic": "payments", "partitions": "2", "replicas": "3"}, in_sync("payments-1")),
    (CLUSTER, "Start a producer", {"topic": "payments", "acks": "1"}, happened("RecordsAcknowledged")),
    (
        *(CLUSTER, "Start a consumer group", {"topic": "payments", "assignor": "cooperative-sticky"}),
        f"{at('group', 'readers')}?.[0] === 'Stable'",
    ),
    (LINK, "Delay", {"delay": "300ms"}, link("slow")),
    (LINK, "Cut", {}, link("slow cut")),
    (LINK, "Heal", {}, link("")),
    (BROKER, "Pause", {}, process(BROKER, "paused")),
    (BROKER, "Resume", {}, UP),
    (BROKER, "Kill", {}, EXPIRED),
    (BROKER, "Start", {}, UP),
    (BROKER, "Stop", {}, process(BROKER, "stopped")),
    (BROKER, "Start", {}, UP),
    (BROKER, "Expire session", {}, REGISTERED_ANEW),
    (BROKER, "Disconnect", {}, f"['suspended', 'expired'].includes({at('link', BROKER)}[1])"),
    (BROKER, "Reconnect", {}, f"{at('link', BROKER)}[1] === 'connected' && {UP}"),
    (BROKER, "Change a setting", {"key": "replica.lag.time.max.ms", "value": "9000"}, REGISTERED_ANEW),
    (BROKER, "Break a disk", {"partitions": "all"}, EXPIRED),
    (BROKER, "Start", {}, UP),
    ("/admin", "Create below", {"child": "note", "data": "one"}, f"{at('znode', '/admin/note')}?.[0] === 'one'"),
    ("/admin/note", "Write", {"data": 'it\'s "two": [3]'}, f"{at('znode', '/admin/note')}[1] === 1"),
    ("/admin/note", "Delete", {}, f"{at('znode', '/admin/note')} === null"),
    ("/controller", "Delete", {}, REPLACED),
    ("orders-0", "Reassign", {"replicas": "3, 1"}, f"{at('partition', 'orders-0')}[0].join() === '3,1'"),
    ("orders-0", "Elect the preferred replica", {}, f"{at('partition', 'orders-0')}[1] === 3"),
    ("orders-0", "Elect an unclean leader", {}, "play.bar.consequences.found.length === play.bar.acts.length"),
    (
        *("orders-1", "Change a setting of the topic", {"key": "min.insync.replicas", "value": "2"}),
        f"{at('znode', '/config/topics/orders')}[0].includes('min.insync.replicas')",
    ),
    (CONSUMER, "Pause", {}, process(CONSUMER, "paused")),
    (CONSUMER, "Resume", {}, process(CONSUMER, "running")),
    (CONSUMER, "Crash", {}, process(CONSUMER, "dead")),
    ("consumer-readers-2", "Close", {}, process("consumer-readers-2", "stopped")),
    (CLUSTER, "Stop the producers", {}, happened("WorkloadStopped")),
    (CLUSTER, "Elect all preferred replicas", {}, "play.bar.consequences.found.length === play.bar.acts.length"),
    (
        *(CLUSTER, "Change a setting of all brokers", {}),
        f"{at('znode', '/config/brokers/<default>')}?.[0].includes('unclean')",
    ),
    (
        CLUSTER,
        "Restart all brokers, one by one",
        {},
        f"play.before.epochs.every((epoch, i) => {EPOCH_OF_EACH} > epoch)",
    ),
    ("payments-0", "Delete the topic", {}, f"{at('partition', 'payments-0')} === null"),
]


@dataclass
class OpenPage:
    """A page in the browser, and the cluster that it shows."""

    tab: Tab
    cluster: PlayedCluster


@pytest.fixture
def page(chromium: Chromium) -> Iterator[OpenPage]:  # noqa: F811
    cluster = played_cluster()
    with served(cluster) as server, chromium.open(server.address) as tab:
        tab.evaluate("play.send({speed: 10.0})")
        tab.wait_for(READY)
        yield OpenPage(tab, cluster)


def panel_of(thing: str) -> str:
    return "znodes" if thing.startswith("/") else "cluster"


def open_menu(tab: Tab, thing: str) -> None:
    """Open the menu of a thing by a click on its button. Znodes that it is below are opened before."""
    tab.evaluate(f"kcsim.page.panel('{panel_of(thing)}'); byId('links').open = true")
    if thing.startswith("/"):
        tab.evaluate(f"byId('path').value = '{thing}'; byId('path').dispatchEvent(new Event('input'))")
    button = f"[...document.querySelectorAll('.act-on')].find((one) => one.dataset.name === {json.dumps(thing)})"
    tab.wait_for(f"{button} !== undefined && ({button}.click(), !byId('act-menu').hidden)")


def choose(tab: Tab, act: str, values: Mapping[str, str]) -> None:
    """Choose an act in the open menu, answer its question, and wait until the page has received the act."""
    epochs = ", ".join(f"{at('registered', f'broker-{broker}')}?.[0]" for broker in (1, 2, 3))
    tab.evaluate(f"play.before = {{acts: play.bar.acts.length, epoch: {at('epoch')}, epochs: [{epochs}]}}")
    item = f"document.querySelector('#act-menu [data-act={json.dumps(act)}]')"
    assert tab.evaluate(f"{item}.getAttribute('aria-disabled')") is None, tab.evaluate(f"{item}.innerText")
    tab.evaluate(f"{item}.click()")
    if not tab.evaluate("byId('act-menu').hidden"):
        for name, value in values.items():
            tab.evaluate(f"document.querySelector('#act-menu [name={name}]').value = {json.dumps(value)}")
        tab.evaluate("document.querySelector('#act-menu form').requestSubmit()")
    tab.wait_for("play.bar.acts.length === play.before.acts + 1 && byId('act-menu').hidden")


@pytest.mark.slow
def test_after_each_act_the_page_shows_the_state_of_the_event_log(page: OpenPage) -> None:
    """The log is that of a rerun: the acts that the page has received make the same run, without a page."""
    shown = []
    for thing, act, values, expected in ACTS:
        open_menu(page.tab, thing)
        choose(page.tab, act, values)
        page.tab.wait_for(expected)
        refused = page.tab.evaluate("play.bar.acts.at(-1)[2]")
        assert refused is None, f"{act} of {thing}: {refused}"
        shown.append(json.loads(page.tab.evaluate(f"JSON.stringify([kcsim.run.length, kcsim.stateAt({LAST})])")))
    assert page.tab.evaluate("play.bar.acts.filter(([, , refused]) => refused !== null)") == []
    assert page.tab.complaints == []
    rerun = Watched(page.cluster.now_ms, planned=page.cluster.acts)
    state, applied = ClusterState(), 0
    for (thing, act, *_), (length, at_page) in zip(ACTS, shown, strict=True):
        for event in rerun.events[applied:length]:
            state.apply(event)
        applied = length
        assert as_received(at_page) == as_shown(state), f"{act} of {thing}"


def test_a_menu_is_used_by_keys_alone(page: OpenPage) -> None:
    tab = page.tab
    focused = "document.activeElement.dataset"
    tab.press("a")
    tab.wait_for("document.activeElement.getAttribute('role') === 'menuitem'")
    first = tab.evaluate(f"{focused}.act")
    tab.press("ArrowDown")
    tab.press("ArrowUp")
    assert tab.evaluate(f"{focused}.act") == first
    tab.press("End")
    assert tab.evaluate(f"{focused}.act") == LAST_ACT_ON_CLUSTER
    tab.press("Escape")
    assert tab.evaluate("byId('act-menu').hidden && document.activeElement.id") == "act-on-cluster"
    tab.evaluate("document.querySelector('#cluster [data-broker=\"2\"] .act-on').focus()")
    tab.press("Enter")
    tab.wait_for(f"{focused}.act === 'Kill'")
    tab.press("Enter")
    tab.wait_for(process(BROKER, "dead"))
    tab.wait_for("byId('act-list').innerText.includes('session expired')")
    tab.reload()
    tab.wait_for("byId('act-list').innerText.includes('session expired')")
    assert [text for text in tab.complaints if "ws://" not in text] == []


def test_a_prediction_is_asked_for_before_a_fault_and_answered_by_the_run(page: OpenPage) -> None:
    tab = page.tab
    tab.click("#predict")
    controller = tab.evaluate(f"'broker-' + {at('controller')}")
    tab.click(f"#act-buttons [data-name={controller}]")
    tab.click("#act-menu [data-act=Kill]")
    assert tab.evaluate("play.bar.acts.length") == 2, "nothing is done before the answer"
    tab.click("#act-menu [data-choice=broker-1]")
    tab.wait_for("play.bar.predictions.made[0]?.answer")
    elected = tab.evaluate(f"'broker-' + {at('controller')}")
    assert tab.evaluate("play.bar.predictions.made[0].answer") == elected
    tab.wait_for(f"{ISRS} === '2,2'")
    right = int(elected == "broker-1")
    assert tab.text("#predict-score") == f"{right} of 1 right"
    assert f"Your answer was broker-1; {'✓ right' if right else '✗ not right'}: {elected}." in tab.text("#predicted")
    tab.click("#predict")
    tab.click("#act-buttons [data-name=broker-3]")
    tab.click("#act-menu [data-act=Pause]")
    tab.wait_for("play.bar.acts.length === 4")
    assert tab.complaints == []
