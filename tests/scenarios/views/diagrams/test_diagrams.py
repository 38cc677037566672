"""State diagrams: they show exactly the transitions of the tables, in a picture that is always the same."""

import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest
from typer.testing import CliRunner, Result

from kcsim.brokers.cluster.processes.broker_process_states import BROKER_PROCESS_TRANSITIONS
from kcsim.brokers.groups.group_metadata import ENTERED_FROM
from kcsim.brokers.network.process_states import PROCESS_TRANSITIONS
from kcsim.controller.decisions.partition_states import PARTITION_PREVIOUS_STATES
from kcsim.controller.decisions.replica_states import REPLICA_PREVIOUS_STATES
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.views.diagrams import MACHINES, UnknownMachineError, machine, mermaid, svg
from kcsim.scenarios.views.diagrams.layout import BOX_HEIGHT, BOX_WIDTH, layout
from kcsim.scenarios.views.diagrams.mermaid import fragment
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.operations import Notice, SessionStateChanged
from kcsim.zk.session_states import SESSION_TRANSITIONS
from tests.scenarios.lessons.lesson_fixtures import played

ROOT = Path(__file__).parents[4]
SVG = "{http://www.w3.org/2000/svg}"
S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)


def moves_of(previous: Mapping[S, frozenset[S]]) -> set[tuple[str, str]]:
    """Return the transitions of a table that lists for each state the states from which it may be entered."""
    return {(str(source.value), str(target.value)) for target, sources in previous.items() for source in sources}


def moves_by_inputs(table: Mapping[tuple[S, T], S]) -> set[tuple[str, str]]:
    """Return the transitions of a table of inputs that lead to another state."""
    return {(str(source.value), str(target.value)) for (source, _), target in table.items() if source is not target}


TABLES = {
    "partition-states": moves_of(PARTITION_PREVIOUS_STATES),
    "replica-states": moves_of(REPLICA_PREVIOUS_STATES),
    "session-states": moves_by_inputs(SESSION_TRANSITIONS),
    "group-states": moves_of(ENTERED_FROM),
    "process-states": moves_by_inputs(PROCESS_TRANSITIONS),
    "broker-process-states": moves_by_inputs(BROKER_PROCESS_TRANSITIONS),
}


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def drawn(name: str, **how: object) -> ElementTree.Element:
    return ElementTree.fromstring(svg(name, **how))  # type: ignore[arg-type]


def texts(element: ElementTree.Element, tag: str) -> list[str]:
    return [found.text or "" for found in element.iter(f"{SVG}{tag}")]


def test_every_machine_is_held_against_its_table() -> None:
    assert TABLES.keys() == MACHINES.keys()


def test_a_move_names_every_input_that_causes_it() -> None:
    moves = machine("process-states").transitions
    assert moves["running", "dead"] == moves["paused", "dead"] == "killed or retired"


@pytest.mark.parametrize("name", TABLES)
def test_the_moves_are_those_of_the_table_by_which_the_code_decides(name: str) -> None:
    assert set(machine(name).transitions) == TABLES[name]


@pytest.mark.parametrize("name", MACHINES)
def test_mermaid_has_a_line_for_each_move(name: str) -> None:
    lines = mermaid(name).splitlines()
    assert lines[:2] == ["stateDiagram-v2", f"    [*] --> {machine(name).initial}"]
    listed = [line.strip().partition(": ")[0].split(" --> ") for line in lines[2:]]
    assert [tuple(move) for move in listed] == list(machine(name).transitions)


@pytest.mark.parametrize("name", MACHINES)
def test_the_picture_has_every_state_and_every_move(name: str) -> None:
    picture = drawn(name)
    shown = [g for g in picture.iter(f"{SVG}g") if (g.get("class") or "").startswith("state")]
    assert [text for group in shown for text in texts(group, "text")] == list(machine(name).states)
    moves = [g for g in picture.iter(f"{SVG}g") if g.get("class") == "move"]
    listed = [tuple(texts(move, "title")[0].partition(": ")[0].split(" to ")) for move in moves]
    assert listed == list(machine(name).transitions)


@pytest.mark.parametrize("name", MACHINES)
def test_the_picture_is_described_to_those_who_do_not_see_it(name: str) -> None:
    picture = drawn(name)
    title, description = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert picture.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert (picture.get("role"), title.text) == ("img", machine(name).title)
    assert all(state in (description.text or "") for state in machine(name).states)


@pytest.mark.parametrize("name", MACHINES)
def test_it_has_no_colour_of_its_own_and_nothing_that_a_strict_page_forbids(name: str) -> None:
    text = svg(name, highlight=[machine(name).initial])
    assert not [word for word in ("#0", "rgb(", "<style", "style=", "<script", "href", "onload") if word in text]
    assert {found.get("stroke") for found in drawn(name).iter() if found.get("stroke")} == {"currentColor"}
    assert "CanvasText" in svg(name, standalone=True)


@pytest.mark.parametrize("name", MACHINES)
def test_states_neither_overlap_nor_leave_the_picture(name: str) -> None:
    placed = layout(machine(name))
    boxes = list(placed.centres.values())
    for x, y in boxes:
        assert BOX_WIDTH / 2 < x < placed.width - BOX_WIDTH / 2
        assert BOX_HEIGHT / 2 < y < placed.height - BOX_HEIGHT / 2
    for place, (x1, y1) in enumerate(boxes):
        assert all(abs(x1 - x2) > BOX_WIDTH or abs(y1 - y2) > BOX_HEIGHT for x2, y2 in boxes[place + 1 :])


def test_what_is_highlighted_is_marked_by_form_and_not_by_colour() -> None:
    picture = drawn("replica-states", highlight=["OfflineReplica"])
    marked = [g for g in picture.iter(f"{SVG}g") if g.get("class") == "state highlighted"]
    assert [texts(group, "text") for group in marked] == [["OfflineReplica"]]
    assert len(list(marked[0].iter(f"{SVG}rect"))) == 2
    assert "class OfflineReplica highlighted" in mermaid("replica-states", ["OfflineReplica"])


def test_a_page_may_have_a_diagram_twice() -> None:
    ids = [[e.get("id") for e in drawn("group-states", id_prefix=prefix).iter() if e.get("id")] for prefix in ("", "b-")]
    assert set(ids[0]).isdisjoint(ids[1])
    assert "url(#b-kcsim-group-states-arrow)" in svg("group-states", id_prefix="b-")


@pytest.mark.parametrize("name", MACHINES)
def test_the_same_table_gives_the_same_picture(name: str) -> None:
    assert svg(name) == svg(name)


def test_a_diagram_that_is_not_there_is_reported_with_the_nearest() -> None:
    with pytest.raises(UnknownMachineError, match="no diagram 'partition-state'; did you mean partition-states"):
        svg("partition-state")
    with pytest.raises(UnknownMachineError, match="partition-states has no state 'Online'; did you mean OnlinePartition"):
        mermaid("partition-states", ["Online"])


# --- sessions: their table is compared with runs ---------------------------------------------------------------------------


def moves_seen(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Yield the state transitions of every session in a run, as reported by its client."""
    states: dict[str, list[str]] = {}
    for event in events:
        if event.kind is EventKind.SESSION_STATE:
            states.setdefault(event.session_id or "", ["connecting"]).append(event.state or "")
    for path in states.values():
        yield from pairwise(path)


def moves_of_one_closed_while_cut_off() -> Iterator[tuple[str, str]]:
    """Yield the state transitions of a client that closes its session while it is disconnected."""
    runtime = SimulatedRuntime()
    zookeeper = MemoryZooKeeper(runtime, EventLog(runtime.now_ms).sink("zookeeper"), random.Random(1))
    notices: list[Notice] = []

    async def main() -> None:
        session = await zookeeper.open_session(6_000, notices.append, 6_000)
        session.refuse_connections()
        await session.cut()
        await session.close()

    runtime.run(main())
    yield from pairwise(["connected", *(n.state.value for n in notices if isinstance(n, SessionStateChanged))])


def test_sessions_move_as_the_table_says_and_each_of_its_moves_happens() -> None:
    runs = [played(name).run.events for name in ("session-states", "zombie-controller", "controlled-shutdown")]
    seen = {move for events in runs for move in moves_seen(events)} | set(moves_of_one_closed_while_cut_off())
    assert seen == {(s.value, target.value) for (s, _), target in SESSION_TRANSITIONS.items() if target is not s}


# --- the page, and the command ---------------------------------------------------------------------------------------------


def test_the_reference_page_has_the_same_diagrams() -> None:
    page = (ROOT / "docs" / "reference" / "state-machines.md").read_text(encoding="utf-8")
    assert [name for name in MACHINES if mermaid(name).strip() not in page] == []


def test_the_command_lists_draws_and_writes(tmp_path: Path) -> None:
    assert [line.split()[0] for line in kcsim("diagram").stdout.splitlines()] == list(MACHINES)
    assert kcsim("diagram", "group-states").stdout == mermaid("group-states")
    assert kcsim("diagram", "--all").stdout == fragment()
    file = tmp_path / "states.svg"
    result = kcsim("diagram", "group-states", "--format", "svg", "--highlight", "Stable", "-o", str(file))
    assert (result.exit_code, result.output) == (0, "")
    assert file.read_text(encoding="utf-8") == svg("group-states", ["Stable"], standalone=True)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["group-state"], 64, "no diagram 'group-state'; did you mean group-states?\n"),
        (["group-states", "--highlight", "Stabel"], 64, "group-states has no state 'Stabel'; did you mean Stable?\n"),
        (["group-states", "-o", "/nowhere/x.svg"], 2, "kcsim: /nowhere/x.svg: No such file or directory\n"),
    ],
)
def test_what_cannot_be_drawn_is_reported(arguments: list[str], status: int, message: str) -> None:
    result = kcsim("diagram", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", message)
