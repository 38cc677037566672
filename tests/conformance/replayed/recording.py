"""A recording: the steps done to a cluster, and what was written to ZooKeeper after each.

Kafka's runs and our cluster's runs share this form, so that either can be read, written and compared. The form is described
in tests/conformance/traces/README.md.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kcsim.controller.capabilities import RELEASES, Release
from kcsim.zk.capture.write_comparison.writes import WITH_DATA, StepWrites, Writes, ZnodeWrite
from tests.conformance.replayed.shapes import BadShapeError, check_recording


class BadRecordingError(Exception):
    """A file is not a recording; the message says which file, and what is wrong with it."""


@dataclass(frozen=True)
class Step:
    """One step, and what followed from it. None: not recorded, so there is nothing to compare with.

    Attributes:
        do: the action and its circumstances, as in the file.
        controller: the broker that holds /controller, or held it last, when the step has ended.
        unsteady: znode -> what other runs of the same steps wrote to it; any of these is right.
        other_winners: the brokers that held /controller in those runs.
        more_writes: number of further writes of a step that never became quiet and was cut; 0 for any other step.
        outcome: exit status and output of a command; a broker's exit.
        problem: what kept our cluster from playing this step to its end; None in a step that it completed.
        not_supported: why our cluster cannot play this step, and so none after it.
    """

    do: Mapping[str, Any]
    controller: int | None = None
    writes: Writes | None = None
    sessions_closed: tuple[str, ...] = ()
    unsteady: Mapping[str, tuple[Writes, ...]] = field(default_factory=dict)
    other_winners: tuple[int, ...] = ()
    more_writes: int = 0
    outcome: Mapping[str, Any] | None = None
    problem: str | None = None
    not_supported: str | None = None

    @property
    def followed(self) -> StepWrites:
        """Return the part that is compared by the rules for any two runs."""
        return StepWrites(self.controller, self.writes, self.sessions_closed)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Step":
        return cls(
            do=given["do"],
            controller=given.get("controller"),
            writes=_writes(given["writes"]) if "writes" in given else None,
            sessions_closed=tuple(given.get("sessions_closed", ())),
            unsteady={path: tuple(map(_writes, others)) for path, others in given.get("unsteady", {}).items()},
            other_winners=tuple(given.get("other_winners", ())),
            more_writes=given.get("more_writes", 0),
            outcome=given.get("outcome"),
        )

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"do": self.do, "controller": self.controller}
        found["writes"] = [*map(_write_as_json, self.writes or ())]
        if self.sessions_closed:
            found["sessions_closed"] = list(self.sessions_closed)
        if self.unsteady:
            found["unsteady"] = {path: [[*map(_write_as_json, w)] for w in others] for path, others in self.unsteady.items()}
        if self.other_winners:
            found["other_winners"] = list(self.other_winners)
        for key in ("outcome", "problem", "not_supported"):
            if getattr(self, key) is not None:
                found[key] = getattr(self, key)
        return found


@dataclass(frozen=True)
class Recording:
    """One scenario as it was played.

    Attributes:
        source: origin of the recording, for readers.
        brokers: ids of those that run before the first step; the first is started first, and elected.
        racks: broker id, as text -> rack.
        settings: Kafka's dotted names, for every broker.
        alive: broker processes that still run at the end; None if not recorded.
        final: znodes at the end, path -> data; None if not recorded.
        directory: of the file, and of the files that its commands read; None if there is no file.
    """

    name: str
    source: str
    brokers: tuple[int, ...]
    racks: Mapping[str, str]
    settings: Mapping[str, str | int | bool]
    steps: tuple[Step, ...]
    alive: tuple[int, ...] | None
    final: Mapping[str, str | None] | None
    directory: Path | None = field(default=None, compare=False)

    @classmethod
    def of(cls, given: Mapping[str, Any], directory: Path | None = None) -> "Recording":
        return cls(
            name=given["name"],
            source=given.get("source", ""),
            brokers=tuple(given["brokers"]),
            racks=given.get("racks", {}),
            settings=given.get("settings", {}),
            steps=tuple(map(Step.of, given["steps"])),
            alive=tuple(given["alive"]) if "alive" in given else None,
            final=given.get("final"),
            directory=directory,
        )

    @property
    def release(self) -> Release | None:
        """The release of Kafka from which it was recorded; None if the source does not say."""
        found = re.search(r"Apache Kafka (\d+\.\d+)", self.source)
        return Release(found[1]) if found is not None and found[1] in RELEASES else None

    @property
    def not_supported(self) -> str | None:
        """Return why the play ended before its last step was done; None if our cluster can do all of it."""
        return self.steps[-1].not_supported if self.steps else None

    def unplayed(self, source: str, reason: str) -> "Recording":
        """Return a run that ended before its first step, because it is not supported."""
        first = Step(self.steps[0].do, not_supported=reason)
        return replace(self, source=source, steps=(first,), alive=None, final=None, directory=None)

    def text(self) -> str:
        """Return the file's text: one step a line."""
        keys = ("name", "source", "brokers", "racks", "settings", "alive")
        head = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        steps = ",\n".join("  " + json.dumps(step.as_json(), separators=(",", ":")) for step in self.steps)
        end = "" if self.final is None else f',\n "final": {json.dumps(self.final)}'
        return f'{json.dumps(head)[:-1]},\n "steps": [\n{steps}\n ]{end}}}\n'


def _writes(given: Sequence[Mapping[str, Any]]) -> Writes:
    return tuple(ZnodeWrite(w["by"], w["op"], w["path"], w.get("data"), w.get("fenced", False)) for w in given)


def _write_as_json(write: ZnodeWrite) -> dict[str, Any]:
    found: dict[str, Any] = {"by": write.by, "op": write.op, "path": write.path}
    if write.op in WITH_DATA:
        found["data"] = write.data
    return {**found, "fenced": True} if write.fenced else found


def read_recording(path: Path) -> Recording:
    """Read a recording. Raises: BadRecordingError for a file that is unreadable, not JSON, or not in a recording's form."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRecordingError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecordingError(f"{path} is no JSON: {error}") from error
    try:
        check_recording(value)
    except BadShapeError as error:
        raise BadRecordingError(f"{path} is no recording: {error}") from error
    return Recording.of(value, path.parent)
