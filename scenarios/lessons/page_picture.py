"""The picture of a lesson's page: who is where at that point of the run, as tables that fit the width of a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kcsim.eventlog.cluster_state import ENDED, NOT_RUNNING
from kcsim.eventlog.events import Event
from kcsim.scenarios.lessons.lesson import PictureModel
from kcsim.scenarios.lessons.lookup_terms import LookupTerm
from kcsim.scenarios.views.terminal.cluster_snapshot import (
    BrokerSnapshot,
    ClusterSnapshot,
    ConsumerSnapshot,
    PartitionSnapshot,
    cluster_snapshot,
)
from kcsim.scenarios.views.terminal.table import table
from kcsim.scenarios.views.trace.time_point import TimePoint
from kcsim.znodes import paths

INDENT = "  "
ASKED = "?"
"""Stands in a cell that would answer the question of the page."""
NOTHING = "-"
EMPTY = ("", NOTHING)
GONE = "(gone)"
"""Follows the state of a session that ZooKeeper has expired, unknown to the broker."""
EXPLANATION = f"{GONE}: ZooKeeper has expired the session; the broker does not know that yet."


@dataclass(frozen=True, slots=True)
class PagePicture:
    """What a page shows of the cluster.

    Attributes:
        selection: what of the cluster belongs to the page.
        asked: what the page asks about the same point of the run, and the picture therefore leaves open.
    """

    snapshot: ClusterSnapshot
    selection: PictureModel
    asked: LookupTerm | None

    @property
    def at(self) -> Event:
        return self.snapshot.event

    def leaves_open(self, word: str, subject: str = "") -> bool:
        """Return whether the value of this term is what the page asks for."""
        return self.asked == LookupTerm(word, subject)


def page_picture(events: Sequence[Event], at: int, selection: PictureModel, asked: LookupTerm | None) -> PagePicture:
    """Return the picture of the cluster after the event with the seq `at`."""
    return PagePicture(cluster_snapshot(events[: at + 1], TimePoint(f"#{at}", seq=at)), selection, asked)


def picture_lines(picture: PagePicture, width: int) -> Iterator[str]:
    """Yield the tables of a picture. A table that is too wide for the width becomes a list of its rows."""
    yield from _znodes(picture, width)
    if picture.selection.brokers:
        rows = list(_brokers(picture))
        yield from _fitted("Brokers", ("Broker", "Process", "Session", "Registered", "Role"), rows, width)
        if any(cell.endswith(GONE) for row in rows for cell in row):
            yield from textwrap.wrap(EXPLANATION, width, initial_indent=INDENT, subsequent_indent=INDENT)
    header = ("Partition", "Leader", "Epoch", "ISR", "Replicas", "Remark")
    yield from _fitted("Partitions", header, _partitions(picture), width)
    yield from _fitted("Groups", ("Group", "State", "Generation"), _groups(picture), width)
    yield from _fitted("Consumers", ("Consumer", "Process", "Consumes"), _consumers(picture), width)


def _fitted(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    cells = list(rows)
    if not cells:
        return
    lines = [INDENT + line for line in table(header, cells)]
    if max(map(len, lines)) <= width:
        yield from lines
        return
    yield f"{INDENT}{title}"
    for first, *others in cells:
        described = "; ".join(_described(*pair) for pair in zip(header[1:], others, strict=True) if pair[1] not in EMPTY)
        yield from textwrap.wrap(
            f"{first}: {described}",
            max(width, 20),
            initial_indent=INDENT * 2,
            subsequent_indent=INDENT * 3,
            break_on_hyphens=False,
        )


def _described(column: str, cell: str) -> str:
    """Return a cell as it stands in a list: with its column, unless the cell alone is clear."""
    match column, cell:
        case "Registered", "yes" | "no":
            return "registered" if cell == "yes" else "not registered"
        case (("Process" | "Session" | "Role" | "Remark"), _) if cell != ASKED:
            return cell
        case "ISR", _:
            return f"ISR {cell}"
        case _:
            return f"{column.lower()} {cell}"


# --- ZooKeeper and brokers -------------------------------------------------------------------------------------------------


def _znodes(picture: PagePicture, width: int) -> Iterator[str]:
    widest = max(map(len, picture.selection.znodes), default=0)
    for path in picture.selection.znodes:
        line = f"{path:<{widest}}  {_content(picture, path)}"
        yield from textwrap.wrap(
            line, max(width, 20), initial_indent=INDENT, subsequent_indent=INDENT * 3, break_on_hyphens=False
        )


def _content(picture: PagePicture, path: str) -> str:
    state = picture.snapshot.state
    asked_for = {paths.CONTROLLER: "controller", paths.CONTROLLER_EPOCH: "controller-epoch"}.get(path)
    open_terms = [(asked_for, "")] if asked_for else []
    if any(picture.leaves_open(*term) for term in (*open_terms, ("existence", path), ("data", path))):
        return ASKED
    znode = state.znodes.get(path)
    if znode is None:
        return "does not exist"
    if path == paths.CONTROLLER and state.controller_id is not None:
        name = f"broker-{state.controller_id}"
        condition = NOT_RUNNING.get(state.processes.get(name, ""))
        return f"{name}, which is {condition}" if condition else name
    return znode.data or "exists, without data"


def _brokers(picture: PagePicture) -> Iterator[tuple[str, ...]]:
    for broker in picture.snapshot.brokers:
        cells = (_process, _session, _registered, _role)
        yield broker.name, *(cell(picture, broker) for cell in cells)


def _process(picture: PagePicture, broker: BrokerSnapshot) -> str:
    if picture.leaves_open("process", broker.name):
        return ASKED
    return NOT_RUNNING.get(broker.process or "", broker.process or NOTHING)


def _session(picture: PagePicture, broker: BrokerSnapshot) -> str:
    """Return the session's state as the broker sees it; of a broker whose process has ended, as ZooKeeper sees it."""
    if picture.leaves_open("session", broker.name):
        return ASKED
    if broker.session_id is None:
        return NOTHING
    if broker.process in ENDED:
        return "ended" if broker.session == "closed" else "still open"
    is_unknown = broker.session == "closed" and broker.session_seen not in ("expired", "closed")
    return f"{broker.session_seen} {GONE}" if is_unknown else str(broker.session_seen)


def _registered(picture: PagePicture, broker: BrokerSnapshot) -> str:
    asked = (("existence", f"{paths.BROKER_IDS}/{broker.id}"), ("registered", ""), ("broker-epoch", broker.name))
    if any(picture.leaves_open(*term) for term in asked):
        return ASKED
    return "no" if broker.broker_epoch is None else "yes"


def _role(picture: PagePicture, broker: BrokerSnapshot) -> str:
    if picture.leaves_open("controller"):
        return ASKED
    if broker.controller_epoch is None or broker.process in ENDED:
        return NOTHING
    epoch = ASKED if picture.leaves_open("controller-epoch") else broker.controller_epoch
    believes = "" if broker.id == picture.snapshot.controller else "believes: "
    return f"{believes}controller, epoch {epoch}"


# --- partitions and consumers ----------------------------------------------------------------------------------------------


def _partitions(picture: PagePicture) -> Iterator[tuple[str, ...]]:
    wanted = picture.selection.partitions
    for partition in picture.snapshot.partitions:
        name = f"{partition.topic}-{partition.partition}"
        if wanted is not None and name not in wanted:
            continue
        cells = {
            "leader": NOTHING if partition.leader is None else str(partition.leader),
            "leader-epoch": NOTHING if partition.leader_epoch is None else str(partition.leader_epoch),
            "isr": _ids(partition.isr),
            "replicas": _ids(partition.replicas),
        }
        shown = [ASKED if picture.leaves_open(word, name) else cell for word, cell in cells.items()]
        # A remark follows from the other cells: it would answer the same question.
        yield name, *shown, "" if ASKED in shown else ", ".join(_remarks(picture, partition))


def _remarks(picture: PagePicture, partition: PartitionSnapshot) -> Iterator[str]:
    leader = f"broker-{partition.leader}"
    condition = NOT_RUNNING.get(picture.snapshot.state.processes.get(leader, ""))
    if partition.is_marked_for_deletion:
        yield "to be deleted"
    if picture.leaves_open("offline-partitions"):
        return
    if partition.leader is None:
        yield "no leader"
    elif condition:
        yield f"leader is {condition}"
    if partition.adding_replicas or partition.removing_replicas:
        yield f"adds {_ids(partition.adding_replicas)}, removes {_ids(partition.removing_replicas)}"


def _ids(ids: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, ids)) + "]"


def _groups(picture: PagePicture) -> Iterator[tuple[str, str, str]]:
    for group in picture.snapshot.groups:
        generation = ASKED if picture.leaves_open("generation", group.group) else str(group.generation)
        yield group.group, ASKED if picture.leaves_open("group-state", group.group) else group.state, generation


def _consumers(picture: PagePicture) -> Iterator[tuple[str, str, str]]:
    for consumer in picture.snapshot.consumers:
        yield consumer.name, consumer.process or NOTHING, _consumed(picture, consumer)


def _consumed(picture: PagePicture, consumer: ConsumerSnapshot) -> str:
    is_asked = picture.asked is not None and picture.asked.word in ("owner", "owned")
    return ASKED if is_asked else ", ".join(consumer.partitions) or "nothing"
