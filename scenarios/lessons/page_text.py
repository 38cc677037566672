"""Lays a lesson out in lines of a given width: events in columns, wrapped prose, choices with letters, chains of reasons."""

import textwrap
from collections.abc import Iterator, Sequence

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.lessons.answers import LETTERS
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question
from kcsim.scenarios.lessons.run_narration import RunNarration

WIDEST = 100
"""Maximum width of prose, however wide the terminal is."""
NARROW = 72
"""In narrower terminals, the sentence of an event stands below its time and node."""
MOST_EVENTS, FIRST_EVENTS = 14, 5
"""Of more events than this, only the first and the last ones are shown, with the number of those left out."""
MOST_REASONS = 9
INDENT = "  "
STEPS_OF_A_REASON = frozenset(
    {
        EventKind.WATCH_FIRED,
        EventKind.ZNODE_CREATED,
        EventKind.ZNODE_CHANGED,
        EventKind.ZNODE_DELETED,
        EventKind.ELECTION_STARTED,
    }
)
"""Shown in a chain of reasons although they have no narration: they carry the cause from ZooKeeper to a broker."""

WRITTEN_DOWN = frozenset(
    {
        EventKind.ZNODE_CREATED,
        EventKind.ZNODE_CHANGED,
        EventKind.ZNODE_DELETED,
        EventKind.ZK_WRITE,
        EventKind.ZK_WRITE_APPLIED,
        EventKind.ZK_WRITE_REFUSED,
    }
)
"""The events by which a decision reaches ZooKeeper: the rule belongs to the event before these."""


def paragraphs(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Yield wrapped prose with a blank line between paragraphs. A line that begins with `- ` stays an item of its own."""
    width = min(width, WIDEST)
    for place, paragraph in enumerate(text.strip().split("\n\n")):
        if place:
            yield ""
        for block in _blocks(paragraph):
            hanging = indent + INDENT if block.startswith("- ") else indent
            yield from textwrap.wrap(
                block, width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False, drop_whitespace=True
            )


def _blocks(paragraph: str) -> Iterator[str]:
    """Yield a paragraph's lines joined to one, but each item of a list separately."""
    joined: list[str] = []
    for line in paragraph.splitlines():
        if line.startswith("- ") and joined:
            yield " ".join(joined)
            joined = []
        joined.append(line.strip())
    yield " ".join(joined)


def page_heading(page: LessonPage) -> str:
    """Return the line above a page's picture: the number and time of the event at which the page stands."""
    return f"The cluster at #{page.at.seq}, {page.at.t_ms / 1000:.3f} s"


def where_events_are(name: str) -> str:
    """Return how a reader opens the run of a lesson at an event that a page names."""
    return (
        f"Numbers such as #12 are events of the run. kcsim learn {name} --page DIR writes the page of the run, "
        f"and {name}.html#e=12 shows event #12 there."
    )


def event_lines(events: Sequence[Event], narration: RunNarration, width: int) -> Iterator[str]:
    """Yield events with time and node; if there are many, only the first and the last ones."""
    left_out = len(events) - MOST_EVENTS
    shown = list(events) if left_out <= 1 else [*events[:FIRST_EVENTS], *events[FIRST_EVENTS - MOST_EVENTS :]]
    node_width = max((len(event.node) for event in shown), default=0)
    for place, event in enumerate(shown):
        if left_out > 1 and place == FIRST_EVENTS:
            yield f"{INDENT}… {left_out} more …"
        yield from event_line(event, narration.sentence(event), node_width, width)


def event_line(event: Event, sentence: str, node_width: int, width: int) -> Iterator[str]:
    """Yield the lines of one event; on a narrow terminal its sentence stands below its time and node."""
    head = f"{INDENT}{event.t_ms / 1000:7.3f} s  {event.node:<{node_width}}"
    if width < NARROW:
        yield head.rstrip()
        yield from textwrap.wrap(
            sentence, width - 4, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
        return
    indent = " " * (len(head) + 2)
    lines = textwrap.wrap(sentence, max(width - len(indent), 20), break_on_hyphens=False) or [""]
    yield f"{head}  {lines[0]}"
    yield from (indent + line for line in lines[1:])


def choice_lines(question: Question, width: int) -> Iterator[str]:
    """Yield the choices, each with its letter."""
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        head = f"{INDENT}{letter}) "
        yield from textwrap.wrap(
            choice, min(width, WIDEST), initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        )


def reason_lines(question: Question, narration: RunNarration, width: int) -> Iterator[str]:
    """Yield the reason of an answer: the chain from its root to the deciding event, then the rule and its inputs.

    Steps that explain nothing are left out. If the decision was made before the question was asked, only that event is
    shown;
    nothing is shown if no event decided.
    """
    chain = [event for event in question.chain if _explains(event, question, narration)]
    if not chain:
        return
    if chain[-1].seq <= question.asked:
        yield "It has been so since:"
        chain = chain[-1:]
    else:
        yield "From cause to effect:"
    left_out = len(chain) - MOST_REASONS
    kept = chain if left_out <= 1 else [chain[0], *chain[left_out + 1 :]]
    for place, event in enumerate(kept):
        mark = "→ " if place else ""
        yield from _reason(f"{mark}#{event.seq} {event.node} {narration.sentence(event)}", width)
        if left_out > 1 and place == 0:
            yield f"{INDENT}… {left_out} steps …"
    if (rule := rule_of(question)) is not None:
        yield from _reason(rule, width)


def _reason(line: str, width: int) -> list[str]:
    below = INDENT * 3
    return textwrap.wrap(line, min(width, WIDEST), initial_indent=INDENT, subsequent_indent=below, break_on_hyphens=False)


def _explains(event: Event, question: Question, narration: RunNarration) -> bool:
    is_an_end = event is question.chain[0] or event is question.chain[-1]
    return is_an_end or narration.is_notable(event) or event.kind in STEPS_OF_A_REASON


def rule_of(question: Question) -> str | None:
    """Return the rule and inputs of the deciding event, not of the events that only write the decision; None if unknown."""
    deciding = next((event for event in reversed(question.chain) if event.kind not in WRITTEN_DOWN), None)
    if deciding is None or deciding.rule is None:
        return None
    inputs = f"; it looked at: {deciding.inputs}" if deciding.inputs else ""
    return f"Rule: {deciding.rule}{inputs}"
