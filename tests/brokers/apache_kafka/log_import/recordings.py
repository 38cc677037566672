"""The recordings of a real Kafka's log files, and their history in the form of expected.json."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.log_import.entries import (
    AssignmentWrite,
    ControllerRoleChange,
    HistoryEntry,
    LogHistory,
    RegistrationChange,
    StateGone,
    StateWrite,
    TopicGone,
)
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import LogSurvey, survey
from kcsim.brokers.apache_kafka.log_import.log_files import log_files
from kcsim.vocabulary import ReplicaAssignment
from kcsim.znodes import paths

RECORDINGS = Path(__file__).parents[3] / "vectors" / "kafka-logs"
NAMES = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())

Fact = Mapping[str, Any]


def recorded(name: str, directory: Path | None = None) -> LogSurvey:
    """Return what the log files of a recording show; `directory` names a copy of the files to read instead."""
    return survey(log_files([directory or RECORDINGS / name]))


def expected(name: str) -> list[Fact]:
    """Return the true history, which was taken from ZooKeeper's own log."""
    history: list[Fact] = json.loads((RECORDINGS / name / "expected.json").read_text())["history"]
    return history


def copied(name: str, to: Path, is_kept: Callable[[Path, str], bool]) -> Path:
    """Copy a recording, keeping only some records; lines that continue a record are kept or dropped with the record."""
    return copied_from(RECORDINGS / name, to, is_kept)


def copied_from(recording: Path, to: Path, is_kept: Callable[[Path, str], bool]) -> Path:
    for path in sorted(recording.glob("broker-*/*.log")):
        kept, keeps = [], False
        for line in path.read_text().splitlines(keepends=True):
            keeps = is_kept(path, line) if line.startswith("[20") else keeps
            kept += [line] if keeps else []
        if kept:
            copy = to / path.parent.name / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_text("".join(kept))
    return to


def facts(history: LogHistory) -> dict[str, list[tuple[HistoryEntry, Fact]]]:
    """Return each znode's entries in order, in the form of expected.json, without roles and failures: they are no writes."""
    found: dict[str, list[tuple[HistoryEntry, Fact]]] = defaultdict(list)
    for entry in history.entries:
        fact = _fact(entry)
        if fact is not None:
            found[fact["path"]].append((entry, fact))
    return found


def truth(name: str) -> dict[str, list[Fact]]:
    """Return the true history in the same form: the facts about each znode, without times, zxids and places."""
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in expected(name):
        left_out = ("t_ms", "zxid", "shown_by", "broker")
        found[fact["path"]].append({key: value for key, value in fact.items() if key not in left_out})
    return found


def true_places(name: str) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in expected(name):
        found[fact["path"]].append(fact)
    return found


def facts_only(entries: Iterable[tuple[HistoryEntry, Fact]]) -> list[Fact]:
    return [fact for _, fact in entries]


def _fact(entry: HistoryEntry) -> Fact | None:
    match entry:
        case StateWrite():
            return {
                "path": paths.topic_partition_state(entry.tp),
                "by": f"broker-{entry.by}",
                "as": entry.role,
                "leader": entry.leader,
                "isr": list(entry.isr or ()),
                "leader_epoch": entry.leader_epoch,
                "controller_epoch": entry.controller_epoch,
                "zk_version": entry.zk_version,
                **({"recovering": True} if entry.is_recovering else {}),
            }
        case StateGone():
            return {"path": paths.topic_partition_state(entry.tp), "by": f"broker-{entry.by}", "deleted": True}
        case AssignmentWrite():
            by = "admin" if entry.by is None else f"broker-{entry.by}"
            assignment = {str(number): _lists(one) for number, one in entry.assignment.items()}
            return {"path": paths.topic(entry.topic), "by": by, "assignment": assignment}
        case TopicGone():
            return {"path": paths.topic(entry.topic), "by": f"broker-{entry.by}", "deleted": True}
        case ControllerRoleChange(controller=None):
            return {"path": paths.CONTROLLER, "controller": None, "because": entry.because}
        case ControllerRoleChange():
            return {
                "path": paths.CONTROLLER,
                "controller": entry.controller,
                "controller_epoch": entry.controller_epoch,
            }
        case RegistrationChange(is_registered=True):
            return {"path": paths.broker_id(entry.broker), "registered": True, "broker_epoch": entry.epoch}
        case RegistrationChange():
            return {"path": paths.broker_id(entry.broker), "registered": False}
        case _:
            return None


def _lists(assignment: ReplicaAssignment) -> Mapping[str, list[int]]:
    return {
        "replicas": list(assignment.replicas),
        "adding": list(assignment.adding_replicas),
        "removing": list(assignment.removing_replicas),
    }
