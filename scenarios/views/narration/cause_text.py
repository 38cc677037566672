"""A tree of causes as text: number, time and node in columns, and the sentences as a tree."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.causes import Branch, LeftOut, Story
from kcsim.scenarios.views.narration.event_description import what_happened
from kcsim.scenarios.views.narration.narrator import Narrator

EXPLAINED_MARK = "→"
SECONDS_WIDTH = 9


class Sentences:
    """The sentence of each event of a log: its narration, or else a plain description.

    Args:
        events: all events, in order: the narration of an event depends on the events before it.
        needed: the seqs whose sentences will be read.
    """

    def __init__(self, events: Sequence[Event], needed: set[int]) -> None:
        narrator = Narrator()
        narrated = ((event.seq, narrator.narrate(event)) for event in events)
        self._sentences = {seq: sentence for seq, sentence in narrated if sentence is not None and seq in needed}

    def of(self, event: Event) -> str:
        return self._sentences.get(event.seq) or what_happened(event)


def seqs_of(story: Story) -> set[int]:
    """Return the seqs of the events in a story."""
    return {event.seq for event in story.chain} | {item.event.seq for item in story.followed_by if isinstance(item, Branch)}


def story_lines(story: Story, sentences: Sentences) -> Iterator[str]:
    """Yield the lines of the tree: the chain from the root down to the event (marked), then what followed from it."""
    drawn = list(_drawn(story, sentences))
    number_width = max(len(str(event.seq)) for event, _ in drawn if event) + 1
    node_width = max(len(event.node) for event, _ in drawn if event)
    blank = " " * (2 + number_width + 2 + SECONDS_WIDTH + 2 + 2 + node_width + 2)
    if not story.has_known_root:
        yield f"{blank}{_missing(story)}"
    for event, sentence in drawn:
        if event is None:
            yield f"{blank}{sentence}"
            continue
        mark = EXPLAINED_MARK if event is story.event else " "
        number = f"#{event.seq}"
        time = f"{event.t_ms / 1000:{SECONDS_WIDTH}.3f} s"
        yield f"{mark} {number:>{number_width}}  {time}  {event.node:<{node_width}}  {sentence}"


def _missing(story: Story) -> str:
    root = story.chain[0]
    if story.missing_cause is not None:
        return f"(#{root.seq} follows from #{story.missing_cause}, which the trace does not have before it)"
    return f"(what #{root.seq} follows from is not recorded)"


def _drawn(story: Story, sentences: Sentences) -> Iterator[tuple[Event | None, str]]:
    """Yield every event with its sentence after the tree's lines; None for a line that is about no event."""
    for level, event in enumerate(story.chain):
        yield event, "  " * (level - 1) + "└ " * (level > 0) + sentences.of(event)
    indent = "  " * (len(story.chain) - 1)
    for item in story.followed_by:
        lines = indent + _guides(item.continues)
        match item:
            case Branch(event):
                yield event, lines + sentences.of(event)
            case LeftOut(count=count):
                yield None, f"{lines}… {count} more {'follows' if count == 1 else 'follow'}"


def _guides(continues: Sequence[bool]) -> str:
    above = "".join("│ " if goes_on else "  " for goes_on in continues[:-1])
    return above + ("├ " if continues[-1] else "└ ")


def story_json(story: Story, sentences: Sentences) -> dict[str, Any]:
    """Return the same as JSON: each event has its cause, so that the tree can be rebuilt."""

    def event_entry(event: Event) -> dict[str, Any]:
        return {
            "seq": event.seq,
            "t_ms": event.t_ms,
            "node": event.node,
            "kind": event.kind.value,
            "cause": event.cause,
            "says": sentences.of(event),
        }

    return {
        "seq": story.event.seq,
        "has_known_root": story.has_known_root,
        "missing_cause": story.missing_cause,
        "chain": [event_entry(event) for event in story.chain],
        "followed_by": [event_entry(item.event) for item in story.followed_by if isinstance(item, Branch)],
        "left_out": {item.cause: item.count for item in story.followed_by if isinstance(item, LeftOut)},
    }
