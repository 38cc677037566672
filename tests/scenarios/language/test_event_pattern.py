"""What a pattern of events requires of a column: a value, any broker, or that there is none."""

from typing import Any

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.language.event_pattern import EventPattern


def is_matched(wanted: dict[str, Any], **columns: Any) -> bool:
    event = Event(0, 0, "broker-1", EventKind.FAULT, **columns)
    return EventPattern((EventKind.FAULT,), wanted).matches(event, {})


def test_a_column_that_is_null_must_be_absent() -> None:
    """An election without a leader has no other sign of it."""
    assert is_matched({"leader": None})
    assert not is_matched({"leader": None}, leader=2)


@pytest.mark.parametrize(("target", "matches"), [("broker-2", True), ("consumer-c1", False), (None, False)])
def test_any_broker_is_meant_by_a_star(target: str | None, matches: bool) -> None:
    assert is_matched({"target": "broker-*"}, target=target) is matches


def test_a_list_must_be_the_whole_list() -> None:
    assert is_matched({"stopped": [4]}, stopped=(4,))
    assert not is_matched({"stopped": [4]}, stopped=(3, 4))


def test_a_pattern_reads_as_a_condition() -> None:
    pattern = EventPattern((EventKind.FAULT,), {"stopped": [4], "deleted": True, "both_ways": False, "leader": None})
    assert str(pattern) == "Fault (stopped [4], deleted, no both ways, no leader)"
