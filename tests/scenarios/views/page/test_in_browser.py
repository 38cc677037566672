"""A report as users see it: in a browser, from a file, without a network."""

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcsim.eventlog.cluster_state import READY_STEP, ClusterState
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.views.narration.story import story_of
from kcsim.scenarios.views.page.report import report
from tests.chromium import Chromium, Tab
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.page.conftest import run_of, written
from tests.scenarios.views.page.long_run import long_run
from tests.scenarios.views.trace.test_entity_feed import as_received, as_shown

PageOf = Callable[[str], str]
FAILOVER = "controller-failover"


@pytest.fixture(scope="module")
def failover(chromium: Chromium, page_of: PageOf) -> Iterator[Tab]:
    """Yield the report of the demo; each test moves it to the event at which the test begins."""
    with chromium.open(page_of(FAILOVER)) as tab:
        yield tab


def now(tab: Tab) -> int:
    """Return the seq of the page's current event."""
    return int(tab.evaluate("kcsim.run.seqs[kcsim.page.place]"))


def seq_of(kind: EventKind, **fields: object) -> int:
    """Return the seq of the first event of the demo with these columns."""
    return next(
        e.seq
        for e in run_of(FAILOVER)
        if e.kind is kind and all(getattr(e, name) == value for name, value in fields.items())
    )


def stand_at(tab: Tab, seq: int) -> None:
    tab.evaluate(f"kcsim.page.pause(); document.activeElement.blur(); kcsim.go(kcsim.run.placeOf({seq}))")


# --- correctness -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [FAILOVER, "consumer-crash-cooperative-sticky", "rack-loss"])
def test_the_state_of_each_moment_is_that_of_the_log(chromium: Chromium, page_of: PageOf, name: str) -> None:
    """The page is moved forwards, backwards and in jumps: it keeps no state that could become wrong."""
    with chromium.open(page_of(name)) as tab:
        shown = json.loads(tab.evaluate("JSON.stringify(kcsim.run.seqs.map((_, i) => i % 5 ? null : kcsim.stateAt(i)))"))
        state = ClusterState()
        for place, event in enumerate(run_of(name)):
            state.apply(event)
            if place % 5 == 0:
                assert as_received(shown[place]) == as_shown(state), f"after event #{event.seq}"
        assert tab.complaints == []


def test_the_panels_say_who_rules_and_who_thinks_so(failover: Tab) -> None:
    """The former controller is a zombie: its successor is elected, and it is still frozen."""
    stand_at(failover, seq_of(EventKind.ELECTION_WON, controller_epoch=2))
    zombie, successor = failover.text("[data-broker='3']"), failover.text("[data-broker='5']")
    assert "frozen" in zombie
    assert "still thinks that it is controller, epoch 1" in zombie
    assert "its session is gone, and it does not know" in zombie
    assert "☆ named in /controller, epoch 2: not yet ready" in successor
    stand_at(failover, seq_of(EventKind.CONTROLLER_FAILOVER, controller_epoch=2, step=READY_STEP))
    assert "★ controller, epoch 2" in failover.text("[data-broker='5']")


@pytest.mark.parametrize(("state", "epoch", "word"), [("paused", 1, "frozen"), ("dead", 2, "dead")])
def test_a_controller_that_does_not_run_does_not_look_like_a_working_one(
    failover: Tab, state: str, epoch: int, word: str
) -> None:
    """ZooKeeper names it until its session ends, but no broker decides anything."""
    broker = {1: 3, 2: 5}[epoch]
    stand_at(failover, next(e.seq for e in run_of(FAILOVER) if (e.node, e.state) == (f"broker-{broker}", state)))
    card = f"[data-broker='{broker}']"
    assert f"named in /controller, epoch {epoch}: {word}, decides nothing" in failover.text(card)
    assert failover.evaluate(f'document.querySelector("{card}").classList.contains("controller")') is False
    assert "✖ none since" in failover.text("#cluster")


def drawn(tab: Tab) -> list[str]:
    """Return the texts of the lanes."""
    return list(
        tab.evaluate("""(() => {
            const texts = [], pen = CanvasRenderingContext2D.prototype, own = pen.fillText;
            pen.fillText = function (text, ...rest) { texts.push(text); own.call(this, text, ...rest); };
            kcsim.page.picture.draw();
            pen.fillText = own;
            return texts;
        })()""")
    )


def test_durations_stand_on_the_timeline(failover: Tab) -> None:
    texts = drawn(failover)
    assert {"no working controller 2.1 s", "no working controller 2.2 s"} <= set(texts)
    assert "☆ named in /controller, frozen 2.1 s" in texts
    assert "☆ named in /controller, dead 2.1 s" in texts


def test_a_partition_whose_leader_is_dead_does_not_look_led(chromium: Chromium, page_of: PageOf) -> None:
    with chromium.open(page_of("rack-loss")) as tab:
        assert "leader 1 is dead 2.2 s" in drawn(tab)


def test_the_lane_of_many_partitions_counts_those_whose_leader_is_dead(chromium: Chromium, page_of: PageOf) -> None:
    """In ZooKeeper they have a leader until its session has ended."""
    with chromium.open(page_of("leader_of_many")) as tab:
        counted = [text for text in drawn(tab) if "without leader" in text]
        assert any(text.startswith("20 without leader") for text in counted), counted


def test_without_steps_of_failovers_the_znode_says_who_is_the_controller(chromium: Chromium, tmp_path: Path) -> None:
    """An import of ZooKeeper's log does not know when a failover was complete: its controllers are not called idle."""
    events = [e for e in run_of(FAILOVER) if e.kind not in (EventKind.CONTROLLER_FAILOVER, EventKind.PROCESS_STATE)]
    page = tmp_path / "import.html"
    page.write_text(report(written(tmp_path / "import.jsonl", events), "kcsim").html, encoding="utf-8")
    with chromium.open(page.as_uri()) as tab:
        texts = drawn(tab)
        assert "★ broker-3, epoch 1" in texts
        assert not [text for text in texts if "working" in text or "/controller" in text]
        assert tab.complaints == []


def test_distances_on_the_axis_are_times(failover: Tab) -> None:
    """The scale can be another one; that is for who chooses it."""
    events = run_of(FAILOVER)
    places = [seq_of(EventKind.ELECTION_WON, controller_epoch=epoch) for epoch in (1, 2, 3)]
    first, second, third = failover.evaluate(f"{places}.map((place) => kcsim.page.picture.x(place))")
    ratio = (events[places[1]].t_ms - events[places[0]].t_ms) / (events[places[2]].t_ms - events[places[0]].t_ms)
    assert (second - first) / (third - first) == pytest.approx(ratio)


def test_the_page_opens_at_the_first_fault_with_the_story_of_the_run(chromium: Chromium, page_of: PageOf) -> None:
    story = story_of(run_of(FAILOVER))
    with chromium.open(page_of(FAILOVER)) as tab:
        assert now(tab) == story.opens_at == next(e.seq for e in run_of(FAILOVER) if e.state == "paused")
        assert tab.text("#summary").splitlines() == [*story.sentences]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_texts_of_events_are_shown_in_full(chromium: Chromium, page_of: PageOf, width: int) -> None:
    """A row is as high as its text: its height was computed before the row existed."""
    with chromium.open(page_of("rack-loss"), width, 800) as tab:
        tab.evaluate("byId('of-note').checked = false; kcsim.page.list.filter()")
        for place in range(0, len(run_of("rack-loss")), 25):
            tab.evaluate(f"kcsim.go({place})")
            cut = tab.evaluate("""[...document.querySelectorAll('#rows .row')]
                .filter((row) => row.scrollHeight > row.clientHeight + 1 || row.scrollWidth > row.clientWidth)
                .map((row) => `${row.scrollHeight} of ${row.clientHeight}: ${row.innerText}`)""")
            assert cut == []


def test_partitions_are_listed_and_lead_to_their_events(chromium: Chromium, page_of: PageOf) -> None:
    with chromium.open(page_of("rack-loss")) as tab:
        tab.click("nav [data-panel='partitions']")
        assert "leader is dead" in tab.text("#partition-list")
        tab.evaluate(
            "byId('partition-search').value = 'unaware'; byId('partition-search').dispatchEvent(new Event('input'))"
        )
        assert "6 of 12 partitions" in tab.text("#partition-list")
        tab.click("#partition-list .link")
        assert tab.evaluate("byId('by-partition').value").startswith("unaware-")
        assert tab.complaints == []


def test_messages_between_nodes_are_drawn(failover: Tab) -> None:
    """As arrows between the lanes, and as a space-time diagram around the current event."""
    assert failover.evaluate("kcsim.page.picture.arrows") is None
    failover.press("m")
    arrows = failover.evaluate("kcsim.page.picture.arrows")
    events = run_of(FAILOVER)
    assert arrows
    assert all(events[effect].cause == cause and events[effect].node != events[cause].node for cause, effect in arrows)
    failover.press("m")
    stand_at(failover, seq_of(EventKind.ELECTION_WON, controller_epoch=2))
    failover.click("nav [data-panel='messages']")
    assert "ElectionWon" in failover.evaluate("document.querySelector('#messages .now').textContent")
    assert failover.evaluate("document.querySelectorAll('#messages .arrow').length") > 5
    failover.click("nav [data-panel='cluster']")


def test_state_machines_that_the_run_never_uses_are_not_shown(chromium: Chromium, page_of: PageOf) -> None:
    def shown(tab: Tab) -> list[str]:
        tab.click("nav [data-panel='states']")
        return list(
            tab.evaluate("[...document.querySelectorAll('#states figure:not([hidden])')].map((f) => f.dataset.machine)")
        )

    with chromium.open(page_of(FAILOVER)) as tab:
        assert shown(tab) == ["session-states", "process-states"]
    with chromium.open(page_of("consumer-crash-cooperative-sticky")) as tab:
        assert shown(tab) == ["partition-states", "replica-states", "session-states", "group-states", "process-states"]


def test_partitions_without_a_consumer_after_a_crash_are_shown_until_they_have_one(
    chromium: Chromium, page_of: PageOf
) -> None:
    name = "consumer-crash-cooperative-sticky"
    crashed, last = next(e.seq for e in run_of(name) if e.kind is EventKind.FAULT_CONFIRMED), run_of(name)[-1].seq
    with chromium.open(f"{page_of(name)}#e={crashed}") as tab:
        assert "Group billing: Stable, generation 1; ✖ not consumed: t0-1, t2-0, t3-1" in tab.text("#cluster")
        stand_at(tab, last)
        assert "Group billing: Stable, generation 2\n" in tab.text("#cluster")


def test_a_step_says_what_it_changed_field_by_field(chromium: Chromium, page_of: PageOf) -> None:
    event = next(
        e
        for e in run_of("rack-loss")
        if e.kind is EventKind.ZNODE_CHANGED and (e.path or "").endswith("aware/partitions/0/state")
    )
    with chromium.open(f"{page_of('rack-loss')}#e={event.seq}") as tab:
        text = tab.text(".changes")
    assert "leader: 1 → 3" in text
    assert "isr: [1, 3] → [3]" in text
    assert "version 0 → 1" in text


def test_the_chain_of_causes_leads_back_to_the_fault_and_each_step_is_a_link(failover: Tab) -> None:
    stand_at(failover, seq_of(EventKind.ELECTION_WON, controller_epoch=2))
    chain = failover.evaluate("[...document.querySelectorAll('ol.why a')].map((link) => link.hash)")
    fault = seq_of(EventKind.FAULT, fault="pause")
    assert chain[0] == f"#e={fault}"
    failover.click("ol.why a")
    failover.wait_for(f"kcsim.run.seqs[kcsim.page.place] === {fault}")
    assert "sees to it that broker-3 freezes" in failover.text("#story h2")


def test_a_verdict_links_to_the_moment_that_decided_it(failover: Tab) -> None:
    assert failover.text("#verdict") == "✓ all 5 expectations held"
    decided = [e for e in run_of(FAILOVER) if e.kind is EventKind.EXPECTATION]
    links = failover.evaluate("[...document.querySelectorAll('#expectations a')].map((link) => link.hash)")
    assert links == [f"#e={event.cause}" for event in decided]


def test_the_znode_tree_is_as_of_the_moment_and_keeps_what_was_opened(failover: Tab) -> None:
    stand_at(failover, seq_of(EventKind.ELECTION_WON, controller_epoch=1))
    failover.click("nav [data-panel='znodes']")
    controller = "#tree [data-path='/controller']"
    assert '"brokerid": 3' in failover.text(controller)
    failover.click("#tree [data-path='/brokers/seqid'] summary")
    stand_at(failover, seq_of(EventKind.ELECTION_WON, controller_epoch=3))
    assert '"brokerid": 4' in failover.text(controller)
    failover.wait_for("document.querySelector(\"#tree [data-path='/brokers/seqid']\").open")
    stand_at(failover, seq_of(EventKind.ZNODE_DELETED, path="/controller"))
    assert failover.evaluate(f'document.querySelector("{controller}")') is None
    failover.click("nav [data-panel='cluster']")


# --- navigation ------------------------------------------------------------------------------------------------------------


def test_the_slider_moves_the_state(failover: Tab) -> None:
    stand_at(failover, 0)
    assert "none yet" in failover.text("#cluster")
    failover.evaluate("byId('slider').value = 10000; byId('slider').dispatchEvent(new Event('input'))")
    assert now(failover) == run_of(FAILOVER)[-1].seq
    assert "★ broker-4" in failover.text("#cluster")


def test_keys_step_jump_play_and_help(failover: Tab) -> None:
    fault, last = seq_of(EventKind.FAULT, fault="pause"), run_of(FAILOVER)[-1].seq
    stand_at(failover, fault)
    where = []
    for key, shift in [("ArrowRight", False), ("ArrowLeft", False), ("ArrowRight", True), ("End", False), ("Home", False)]:
        failover.press(key, shift)
        where.append(now(failover))
    assert where == [fault + 1, fault, seq_of(EventKind.ADMIN_ACT, op="create"), last, 0]
    failover.press(" ")
    failover.wait_for("kcsim.page.isPlaying && kcsim.page.place > 0")
    failover.press(" ")
    assert not failover.evaluate("kcsim.page.isPlaying")
    failover.press("?", shift=True)
    assert failover.evaluate("byId('help').open")
    failover.click("#help-close")


def test_playing_goes_through_what_is_listed_and_ends_at_its_end(failover: Tab) -> None:
    stand_at(failover, 0)
    failover.evaluate("byId('by-kind').value = 'ElectionWon'; byId('by-kind').dispatchEvent(new Event('input'))")
    failover.evaluate("byId('speed').value = '16'; kcsim.page.play()")
    failover.wait_for("!kcsim.page.isPlaying")
    assert now(failover) == seq_of(EventKind.ELECTION_WON, controller_epoch=3)
    failover.evaluate("byId('by-kind').value = ''; byId('by-kind').dispatchEvent(new Event('input'))")


def test_the_address_names_the_moment_and_brings_it_back(chromium: Chromium, failover: Tab, page_of: PageOf) -> None:
    won = seq_of(EventKind.ELECTION_WON, controller_epoch=2)
    stand_at(failover, won)
    failover.wait_for(f"location.hash === '#e={won}'")
    with chromium.open(f"{page_of(FAILOVER)}#e={won}") as tab:
        assert now(tab) == won
        tab.evaluate("location.hash = '#e=3'")
        tab.wait_for("kcsim.page.place === 3")
        tab.evaluate("location.hash = '#e=99999'")
        tab.wait_for("byId('notices').innerText.includes('does not have event #99999')")


def test_the_list_is_filtered_by_words_node_kind_and_partition(chromium: Chromium, page_of: PageOf) -> None:
    def listed(tab: Tab, **wanted: str) -> set[int]:
        for name, value in ({"search": "", "by-node": "", "by-kind": "", "by-partition": ""} | wanted).items():
            tab.evaluate(f"byId('{name}').value = {json.dumps(value)}")
        tab.evaluate("byId('of-note').checked = false; byId('search').dispatchEvent(new Event('input'))")
        return set(tab.evaluate("kcsim.page.list.places.map((place) => kcsim.run.seqs[place])"))

    events = run_of("rack-loss")
    with chromium.open(page_of("rack-loss")) as tab:
        assert listed(tab) == {e.seq for e in events}
        assert listed(tab, **{"by-node": "broker-4"}) == {e.seq for e in events if e.node == "broker-4"}
        of_4 = {e.seq for e in events if e.node == "broker-4" and e.kind is EventKind.BECAME_LEADER}
        assert listed(tab, **{"by-node": "broker-4", "by-kind": "BecameLeader"}) == of_4 != set()
        of_0 = {e.seq for e in events if (e.topic, e.partition) == ("unaware", 0)}
        assert of_0 <= listed(tab, **{"by-partition": "unaware-0"}) < {e.seq for e in events}
        killed = {e.seq for e in events if e.kind is EventKind.FAULT and e.target == "broker-2"}
        assert listed(tab, search="kills BROKER-2") == killed != set()
        rows = tab.evaluate("document.querySelectorAll('#rows .row').length")
        assert rows < 60, "only what can be seen is in the page"


def test_a_click_on_a_mark_goes_to_its_event(failover: Tab) -> None:
    killed = seq_of(EventKind.FAULT, fault="kill")
    stand_at(failover, 0)
    failover.evaluate(f"""(() => {{
        const {{picture}} = kcsim.page, lane = picture.lanes.find((lane) => lane.name === "scenario");
        const box = byId("lanes").getBoundingClientRect();
        const [x, y] = [picture.x(kcsim.run.placeOf({killed})) + 3, lane.y + lane.height / 2];
        byId("lanes").dispatchEvent(new MouseEvent("click", {{clientX: box.x + x, clientY: box.y + y}}));
    }})()""")
    assert now(failover) == killed


# --- readability -----------------------------------------------------------------------------------------------------------


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_window_and_a_phone_in_light_and_dark(
    chromium: Chromium, page_of: PageOf, tmp_path: Path, width: int, height: int, dark: bool
) -> None:
    with chromium.open(page_of("rack-loss"), width, height, dark=dark) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") == width, "nothing to scroll sideways to"
        assert size_of(tab.screenshot(tmp_path / "page.png")) == (width, height)
        ink, ground = tab.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
        )
        assert luminance(ink) > luminance(ground) if dark else luminance(ink) < luminance(ground)
        assert contrast(ink, ground) > 7
        assert tab.complaints == []


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour rgb(…), as WCAG 2.1 defines it."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_theme_can_be_chosen(failover: Tab) -> None:
    grounds = []
    for _ in range(3):
        failover.click("#theme")
        ground = failover.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        grounds.append((failover.text("#theme"), ground))
    assert [theme for theme, _ in grounds] == ["Theme: light", "Theme: dark", "Theme: auto"]
    assert luminance(grounds[0][1]) > 0.5 > luminance(grounds[1][1])


def test_everything_that_can_be_used_has_a_name_and_shows_where_the_focus_is(failover: Tab) -> None:
    nameless = failover.evaluate("""[...document.querySelectorAll("button, select, input, canvas[role], [role=listbox]")]
        .filter((each) => !(each.getAttribute("aria-label") || each.labels?.length || each.innerText.trim()))
        .map((each) => each.outerHTML)""")
    assert nameless == []
    failover.evaluate("byId('theme').focus()")
    failover.press("Tab")
    assert failover.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


# --- hostile and long content ----------------------------------------------------------------------------------------------


def test_hostile_content_is_shown_and_not_run(chromium: Chromium, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
    story = EvaluatedLog()
    story.append("scenario", EventKind.RUN_STARTED, scenario=f"{evil}@@PAYLOAD@@", seed=1)
    story.znode(f"/{evil}", data=f'{{"{evil}": "{evil}"}}')
    story.znode("/controller", data=evil, ephemeral=True)
    story.append(evil, EventKind.LEADER_ELECTION, topic=evil, partition=0, leader=1, rule=evil, detail=evil)
    story.append("broker-1", EventKind.PROCESS_STATE, state=evil)
    story.append("scenario", EventKind.EXPECTATION, cause=1, outcome="violated", rule=evil, detail=evil)
    page = tmp_path / "evil.html"
    page.write_text(report(written(tmp_path / "evil.jsonl", story.events), "kcsim").html, encoding="utf-8")
    with chromium.open(page.as_uri()) as tab:
        for panel in ("znodes", "states", "cluster"):
            tab.click(f"nav [data-panel='{panel}']")
            tab.evaluate("for (let i = 0; i < kcsim.run.length; i++) kcsim.go(i)")
        tab.click("nav [data-panel='znodes']")
        assert tab.text("#name") == f"{evil}@@PAYLOAD@@"
        assert evil in tab.text("#tree")
        assert tab.evaluate("[window.hit, document.images.length]") == [None, 0]
        assert tab.complaints == []


@pytest.mark.parametrize("events", [10_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_a_page_holds_every_event_of_a_long_run(chromium: Chromium, tmp_path: Path, events: int) -> None:
    """`make bench` measures how quickly such a page opens."""
    made = report(written(tmp_path / "long.jsonl", tuple(long_run(events))), "kcsim")
    page = tmp_path / "long.html"
    page.write_text(made.html, encoding="utf-8")
    assert (made.events, made.kept) == (events, events)
    assert page.stat().st_size < 10_000_000
    with chromium.open(page.as_uri()) as tab:
        assert int(tab.evaluate("kcsim.run.seqs.length")) == events
        assert tab.complaints == []


def test_of_a_longer_run_the_page_says_what_it_leaves_out_and_knows_what_it_does_not_know(
    chromium: Chromium, tmp_path: Path
) -> None:
    events = tuple(long_run(6_000))
    made = report(written(tmp_path / "long.jsonl", events), "kcsim", most_events=1000)
    page = tmp_path / "long.html"
    page.write_text(made.html, encoding="utf-8")
    assert made.kept <= 1000
    with chromium.open(page.as_uri()) as tab:
        assert f"has 6,000 events, this page {made.kept:,} of them" in tab.text("#notices")
        places: list[int] = tab.evaluate("kcsim.run.inTrace")
        known: list[bool] = tab.evaluate("places = kcsim.run.seqs.map((_, i) => kcsim.run.isKnown(i))")
        state = ClusterState()
        shown: list[Any] = json.loads(
            tab.evaluate("JSON.stringify(kcsim.run.seqs.map((_, i) => i % 20 ? null : kcsim.stateAt(i)))")
        )
        at = {place: i for i, place in enumerate(places)}
        for place, event in enumerate(events):
            state.apply(event)
            i = at.get(place)
            if i is not None and known[i] and i % 20 == 0:
                assert as_received(shown[i]) == as_shown(state), f"after event #{event.seq}"
        unknown = known.index(False)
        tab.evaluate(f"kcsim.go({unknown})")
        assert "is not in it" in tab.text("#cluster")
        assert "--from" in tab.text("#cluster")
