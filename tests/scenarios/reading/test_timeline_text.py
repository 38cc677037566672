"""Lines of a timeline, on wide terminals, narrow ones, and none."""

from kcsim.scenarios.reading.timeline_text import TimelineText
from kcsim.scenarios.reporting.of_note import OF_NOTE, Told
from kcsim.zk.events import Event, EventKind

LONG = "a sentence that goes on for rather longer than a terminal of eighty columns is wide"
TOLD = Told(Event(12, 1500, "broker-1", EventKind.LEDGER), LONG, OF_NOTE)


def test_without_a_terminal_a_line_is_as_long_as_it_is() -> None:
    assert list(TimelineText().lines(TOLD)) == [f"   #12      1.500 s  broker-1   {LONG}"]


def test_on_a_terminal_a_sentence_is_wrapped_below_its_beginning() -> None:
    lines = list(TimelineText(width=80).lines(TOLD))
    assert lines[0].startswith("   #12      1.500 s  broker-1   a sentence")
    assert max(map(len, lines)) <= 80
    assert " ".join(line[32:] for line in lines) == LONG


def test_on_a_narrow_one_it_stands_below_time_and_node() -> None:
    lines = list(TimelineText(width=40).lines(TOLD))
    assert lines[0] == "   #12      1.500 s  broker-1"
    assert max(map(len, lines)) <= 40
    assert " ".join(line.strip() for line in lines[1:]) == LONG


def test_a_longer_name_widens_its_column_from_there_on() -> None:
    text = TimelineText()
    longer = Told(Event(13, 1600, "consumer-billing", EventKind.LEDGER), "is", OF_NOTE)
    assert [line.index(word) for told, word in ((longer, "is"), (TOLD, LONG)) for line in text.lines(told)] == [39, 39]
