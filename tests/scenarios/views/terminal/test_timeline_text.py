"""Lines of a timeline, on wide terminals, narrow ones, and without a terminal."""

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.terminal.timeline_text import TimelineText
from kcsim.scenarios.views.trace.event_importance import NOTABLE, RankedEvent

LONG = "a sentence that goes on for rather longer than a terminal of eighty columns is wide"
LONG_EVENT = RankedEvent(Event(12, 1500, "broker-1", EventKind.LEDGER), LONG, NOTABLE)


def test_without_a_terminal_a_line_is_as_long_as_it_is() -> None:
    assert list(TimelineText().lines(LONG_EVENT)) == [f"   #12      1.500 s  broker-1   {LONG}"]


def test_on_a_terminal_a_sentence_is_wrapped_below_its_beginning() -> None:
    lines = list(TimelineText(width=80).lines(LONG_EVENT))
    assert lines[0].startswith("   #12      1.500 s  broker-1   a sentence")
    assert max(map(len, lines)) <= 80
    assert " ".join(line[32:] for line in lines) == LONG


def test_on_a_narrow_one_it_stands_below_time_and_node() -> None:
    lines = list(TimelineText(width=40).lines(LONG_EVENT))
    assert lines[0] == "   #12      1.500 s  broker-1"
    assert max(map(len, lines)) <= 40
    assert " ".join(line.strip() for line in lines[1:]) == LONG


def test_a_longer_name_widens_its_column_from_there_on() -> None:
    text = TimelineText()
    longer = RankedEvent(Event(13, 1600, "consumer-billing", EventKind.LEDGER), "is", NOTABLE)
    assert [line.index(word) for event, word in ((longer, "is"), (LONG_EVENT, LONG)) for line in text.lines(event)] == [
        39,
        39,
    ]
