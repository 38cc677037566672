"""Logs of version 2 of the schema, which had facts in texts only, are read as if the present version had written them.

The folder schema_2 holds what version 2 wrote. `events.jsonl` has one event of each form that is upgraded, out of runs of
the library; `upgraded.jsonl` has the events that the present version wrote at the same places of the same runs.
`run.jsonl.gz` and `run.parquet` are the log of one whole run, `upgraded_run.jsonl.gz` is the same run as the present version
wrote it.
"""

from pathlib import Path

import msgspec
import pytest

from kcsim.eventlog.event_log import JsonlTraceWriter, read_trace
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind
from kcsim.eventlog.schema_upgrade import FILLED_COLUMNS, TEXT_COLUMNS, UPGRADED_KINDS, upgraded
from tests.eventlog.schema_samples import SAMPLES, current_run, older_run, unpacked

DECODER = msgspec.json.Decoder(Event)


def decoded(name: str) -> list[Event]:
    return [DECODER.decode(line) for line in (SAMPLES / name).read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("event", "wanted"),
    list(zip(decoded("events.jsonl"), decoded("upgraded.jsonl"), strict=True)),
    ids=[f"{event.kind.value}-{place}" for place, event in enumerate(decoded("events.jsonl"))],
)
def test_an_event_is_upgraded_to_what_is_written_today(event: Event, wanted: Event) -> None:
    assert upgraded(event) == wanted
    assert upgraded(wanted) == wanted


def test_every_kind_and_every_column_that_is_upgraded_has_a_sample() -> None:
    pairs = list(zip(decoded("events.jsonl"), decoded("upgraded.jsonl"), strict=True))
    changed = {name for old, new in pairs for name in FILLED_COLUMNS if getattr(old, name) != getattr(new, name)}
    assert {old.kind for old, new in pairs if old != new} == UPGRADED_KINDS
    assert changed == FILLED_COLUMNS - {"broker_software"}  # the samples are of simulated brokers


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_log_of_version_2_reads_like_one_of_today(name: str, tmp_path: Path) -> None:
    assert list(read_trace(unpacked(name, tmp_path))) == current_run()


def test_a_log_that_does_not_name_its_version_is_upgraded(tmp_path: Path) -> None:
    trace = tmp_path / "tail.jsonl"
    trace.write_bytes(b"".join(older_run()[1:]))
    assert list(read_trace(trace)) == current_run()[1:]


def test_the_texts_of_a_present_log_are_not_parsed(tmp_path: Path) -> None:
    """A present log has its facts in columns: a text that looks like a fact is a text."""
    misleading = Event(1, 0, "broker-1", EventKind.BROKER_CHANGE, detail="started [1], stopped [2], bounced [3]")
    started = Event(0, 0, "scenario", EventKind.RUN_STARTED, schema_version=EVENT_SCHEMA_VERSION)
    trace = tmp_path / "today.jsonl"
    writer = JsonlTraceWriter(trace.open("wb"))
    for event in (started, misleading):
        writer.write(event)
    writer.close()
    assert list(read_trace(trace)) == [started, misleading]


def test_an_upgraded_log_can_do_without_its_texts() -> None:
    """All that the upgrade finds is in the columns: the upgrade of an upgraded event without texts changes nothing."""
    for event in decoded("upgraded.jsonl"):
        blank = msgspec.structs.replace(event, **dict.fromkeys(TEXT_COLUMNS))
        assert upgraded(blank) == blank


def test_wording_of_imports_is_upgraded_too() -> None:
    """The import of ZooKeeper's transactions words the replicas of a reassignment differently."""
    inputs = "adding 4 and 5, removing none"
    imported = Event(0, 0, "broker-1", EventKind.PARTITION_REASSIGNMENT, replicas=[4, 5, 1], inputs=inputs)
    found = upgraded(imported)
    assert (found.adding_replicas, found.removing_replicas, found.target_replicas) == ([4, 5], [], [4, 5, 1])


def test_a_run_on_real_brokers_names_them() -> None:
    found = upgraded(
        Event(0, 0, "scenario", EventKind.RUN_STARTED, detail="on ZooKeeper: embedded; brokers: Apache Kafka 2.8.2")
    )
    assert (found.zookeeper, found.broker_software) == ("embedded", "Apache Kafka 2.8.2")


@pytest.mark.parametrize("kind", sorted(UPGRADED_KINDS))
def test_a_text_of_another_form_is_left_alone(kind: EventKind) -> None:
    event = Event(0, 0, "broker-1", kind, topic="orders", detail="something else: [1, 2]; and 3 more", inputs="nobody knows")
    assert upgraded(event) == event
