"""The differences that are accepted in runs on divided clusters, and the recordings that are not played there.

Both are data: divided_differences.toml, which gives each a reason.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from kcsim.zk.capture.write_comparison.differences import WriteDifference
from tests.conformance.replayed.divided_cluster import Software
from tests.conformance.replayed.recording import Recording

TRACES = Path(__file__).parents[1] / "traces"
FILE = Path(__file__).with_name("divided_differences.toml")
END = "end"


@dataclass(frozen=True, slots=True)
class AcceptedDifference:
    """A difference that a run may have.

    Attributes:
        recording: its path below tests/conformance/traces, without the suffix.
        step: its number; or `end`.
        what: the znode's path, or a pattern of paths; sessions_closed, controller, alive, printed, …
        controller: whose controller the run has; None: either.
    """

    recording: str
    step: str
    what: str
    controller: Software | None
    reason: str

    def covers(self, recording: str, found: WriteDifference, controller: Software) -> bool:
        return (
            self.recording == recording
            and self.step == (END if found.step is None else str(found.step))
            and fnmatchcase(found.what, self.what)
            and self.controller in (None, controller)
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A recording that is not played on divided clusters. Attributes: controller: as AcceptedDifference has it."""

    recording: str
    controller: Software | None
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The content of divided_differences.toml."""

    differences: Sequence[AcceptedDifference]
    left_out: Sequence[LeftOut]

    def reason_of(self, recording: str, found: WriteDifference, controller: Software) -> str | None:
        """Return why a difference is accepted; None if it is not."""
        return next((a.reason for a in self.differences if a.covers(recording, found, controller)), None)

    def reason_left_out(self, recording: str, controller: Software) -> str | None:
        """Return why a recording is not played; None if it is."""
        found = (left for left in self.left_out if left.recording == recording and left.controller in (None, controller))
        return next((left.reason for left in found), None)


@cache
def accepted() -> Accepted:
    """Read divided_differences.toml."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    differences = []
    for group in content.get("accepted", ()):
        for where in group["differences"]:
            recording, step, what = where.split(" ", 2)
            differences.append(AcceptedDifference(recording, step, what, _controller(group), group["reason"]))
    left_out = [
        LeftOut(recording, _controller(group), group["reason"])
        for group in content.get("left-out", ())
        for recording in group["recordings"]
    ]
    return Accepted(differences, left_out)


def _controller(group: Mapping[str, Any]) -> Software | None:
    return Software(group["controller"]) if "controller" in group else None


def name_of(recording: Recording) -> str:
    """Return a recording's name in divided_differences.toml."""
    if recording.directory is None or not recording.directory.resolve().is_relative_to(TRACES):
        return recording.name
    return str(recording.directory.resolve().relative_to(TRACES) / recording.name)


def not_accepted(recording: Recording, found: Iterable[WriteDifference], controller: Software) -> list[WriteDifference]:
    """Return the differences of a recording's run that are not accepted."""
    name = name_of(recording)
    return [each for each in found if accepted().reason_of(name, each, controller) is None]
