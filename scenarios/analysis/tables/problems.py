"""The reasons why something is no event: as strict as event_log.read_trace, and in the same words."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event
from kcsim.scenarios.analysis.tables.rejects_table import Reason

LARGEST = 2**63 - 1
_INTEGERS = tuple(field.name for field in msgspec.structs.fields(Event) if field.type in (int, int | None))
_INTEGER_LISTS = tuple(field.name for field in msgspec.structs.fields(Event) if field.type == Sequence[int] | None)


class Problem(NamedTuple):
    """Why something is rejected: in few words, and in a sentence."""

    reason: Reason
    detail: str


def of_version(version: int | None) -> Problem | None:
    """Return the problem with a run of this version of the format, if there is one."""
    if version is None or version <= EVENT_SCHEMA_VERSION:
        return None
    ours = f"this one reads versions up to {EVENT_SCHEMA_VERSION}"
    return Problem(Reason.NEWER_VERSION, f"a newer kcsim wrote it, in version {version} of the format; {ours}")


def of_event(event: Event) -> Problem | None:
    """Return the problem with a well-formed event, if there is one."""
    if event.seq < 0:
        return Problem(Reason.OUT_OF_RANGE, f"seq {event.seq}: a place in the log counts from 0")
    return of_version(event.schema_version)


def of_size(event: Event) -> Problem | None:
    """Return the problem with numbers that JSON can hold and no column can, if there is one."""
    for name in _INTEGERS:
        value = getattr(event, name)
        if value is not None and abs(value) > LARGEST:
            return Problem(Reason.OUT_OF_RANGE, f"{name} {value}: more than 64 bits")
    lists = (getattr(event, name) for name in _INTEGER_LISTS)
    if any(abs(value) > LARGEST for values in lists for value in values or ()):
        return Problem(Reason.OUT_OF_RANGE, "a broker id of more than 64 bits")
    return None


def of_error(error: Exception) -> Problem:
    """Return the problem that msgspec found."""
    detail = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return Problem(Reason.NOT_JSON, detail)
    if "missing required field" in detail:
        return Problem(Reason.MISSING_COLUMN, detail)
    return Problem(Reason.UNKNOWN_KIND if "enum value" in detail else Reason.WRONG_TYPE, detail)
