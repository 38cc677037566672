"""Traces to read: small ones, and what can be wrong with them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from kcsim.scenarios.history import trace_to
from kcsim.zk.events import Event, EventKind

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
"""Lines that are no events, and why."""


def event(seq: int, **fields: object) -> Event:
    """An event of no further meaning."""
    return msgspec.convert({"seq": seq, "t_ms": seq * 10, "node": "broker-1", "kind": "Fault", **fields}, Event)


def started(seq: int = 0) -> Event:
    """The first one of a run."""
    return Event(seq, 0, "scenario", EventKind.RUN_STARTED, scenario="made-up", seed=1, schema_version=2)


def line(of: Event) -> bytes:
    """As a trace has it."""
    return msgspec.json.encode(of) + b"\n"


def written(path: Path, events: Sequence[Event]) -> Path:
    """A trace, in the format that its name asks for."""
    writer = trace_to(path)
    for one in events:
        writer.write(one)
    writer.close()
    return path
