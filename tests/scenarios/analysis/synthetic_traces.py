"""Small traces to read, and the defects that a trace can have."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from kcsim.eventlog.event_log import open_trace_writer
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind

NEWER = b'{"seq":0,"t_ms":0,"node":"scenario","kind":"RunStarted","schema_version":99}\n'

BROKEN = {
    b"garbage\n": "not JSON",
    b"\n": "not JSON",
    b'{"seq":3,"t_ms":1,"node":"x","kind":"Fault"} and more\n': "not JSON",
    b'{"seq":3,"t_ms":1,"node":"\xff","kind":"Fault"}\n': "not JSON",
    b"[1, 2]\n": "wrong type",
    b'{"seq":3.0,"t_ms":1,"node":"x","kind":"Fault"}\n': "wrong type",
    b'{"seq":3,"t_ms":1,"node":"x","kind":"Fault","isr":[1,null]}\n': "wrong type",
    b'{"seq":null,"t_ms":1,"node":"x","kind":"Fault"}\n': "wrong type",
    b'{"t_ms":1,"node":"x","kind":"Fault"}\n': "missing column",
    b'{"seq":3,"t_ms":1,"node":"x","kind":"Foult"}\n': "unknown kind",
    b'{"seq":-3,"t_ms":1,"node":"x","kind":"Fault"}\n': "out of range",
    b'{"seq":3,"t_ms":1,"node":"x","kind":"Fault","count":99999999999999999999}\n': "out of range",
    b'{"seq":3,"t_ms":1,"node":"x","kind":"Fault","isr":[9223372036854775808]}\n': "out of range",
}
"""Lines that are no events -> why they are none."""


def event(seq: int, **fields: object) -> Event:
    """Return an event of no further meaning."""
    return msgspec.convert({"seq": seq, "t_ms": seq * 10, "node": "broker-1", "kind": "Fault", **fields}, Event)


def started(seq: int = 0) -> Event:
    """Return the first event of a run."""
    return Event(seq, 0, "scenario", EventKind.RUN_STARTED, scenario="made-up", seed=1, schema_version=EVENT_SCHEMA_VERSION)


def line(of: Event) -> bytes:
    """Return the line of the event in a JSONL trace."""
    return msgspec.json.encode(of) + b"\n"


def written(path: Path, events: Sequence[Event]) -> Path:
    """Write a trace in the format that the suffix of its name selects, and return its path."""
    writer = open_trace_writer(path)
    for one in events:
        writer.write(one)
    writer.close()
    return path
