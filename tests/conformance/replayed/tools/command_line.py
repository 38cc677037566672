"""A command line as a recording has it, and a command's output."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcsim.vocabulary import BrokerId
from tests.conformance.replayed.errors import NotSupportedError

BEFORE_ALL = ""
"""Key in place of a flag, for words before the first flag."""
SCRIPTS: Mapping[str, str] = {
    "kafka-topics": "TopicCommand",
    "kafka-configs": "ConfigCommand",
    "kafka-preferred-replica-election": "PreferredReplicaLeaderElectionCommand",
    "kafka-leader-election": "LeaderElectionCommand",
    "kafka-reassign-partitions": "ReassignPartitionsCommand",
}
"""Kafka's scripts, by the class that each runs."""
ADDRESSES = ("zookeeper", "bootstrap-server")


class ToolFailedError(Exception):
    """The command ends with status 1; its output is complete."""


@dataclass
class CommandOutput:
    """The output of a command so far."""

    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    def outcome(self, status: int) -> Mapping[str, Any]:
        """Return the outcome in the form of a recording."""
        return {"rc": status, "out": self.out, "err": self.err}


@dataclass(frozen=True)
class Command:
    """A command line: the tool's name, the values of each flag in order, and all words after the name."""

    tool: str
    flags: Mapping[str, Sequence[str]]
    words: Sequence[str]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Command":
        flags: dict[str, list[str]] = {}
        flag = BEFORE_ALL
        for word in words[1:]:
            if word.startswith("--"):
                flag, has_value, value = word.removeprefix("--").partition("=")
                flags.setdefault(flag, []).extend([value] if has_value else [])
            else:
                flags.setdefault(flag, []).append(word)
        script = words[0].rpartition("/")[2].removesuffix(".sh")
        return cls(SCRIPTS.get(script) or words[0].rpartition(".")[2], flags, tuple(words[1:]))

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def require_known(self, known: Collection[str]) -> None:
        """Check the flags. Raises: NotSupportedError for a flag that is neither one of these nor an address."""
        if BEFORE_ALL in self:
            raise NotSupportedError(f"{self.tool} with {' '.join(self.flags[BEFORE_ALL])} before any option")
        for flag in self.flags:
            if flag not in known and flag not in ADDRESSES:
                raise NotSupportedError(f"{self.tool} --{flag}")

    def action(self, actions: Collection[str]) -> str:
        """Return the action that is given. Raises: NotSupportedError."""
        given = [action for action in actions if action in self]
        if len(given) != 1:
            raise NotSupportedError(f"{self.tool} without one of {', '.join(f'--{action}' for action in actions)}")
        return given[0]

    def one(self, flag: str) -> str:
        """Return the value of a flag. Raises: NotSupportedError without it."""
        found = self.get(flag)
        if found is None:
            raise NotSupportedError(f"{self.tool} without --{flag}")
        return found

    def get(self, flag: str) -> str | None:
        """Return the last value of a flag; None without one."""
        values = self.flags.get(flag)
        return values[-1] if values else None

    def number(self, flag: str) -> int:
        """Return the number given with a flag.

        Raises: NotSupportedError without the flag, or if its value is not a number.
        """
        text = self.one(flag)
        if not text.lstrip("-").isdecimal():
            raise NotSupportedError(f"{self.tool} --{flag} {text}")
        return int(text)

    def settings(self, flag: str) -> dict[str, str]:
        """Return name=value, … of a flag that may be given several times. A list in brackets is one value."""
        pairs = [pair for value in self.flags.get(flag, ()) for pair in _outside_brackets(value)]
        return {name.strip(): value.strip("[]") for name, _, value in (pair.partition("=") for pair in pairs)}

    def broker(self, flag: str) -> BrokerId:
        return BrokerId(self.number(flag))


def _outside_brackets(text: str) -> list[str]:
    """Return the parts between commas outside brackets: a=[1,2],b=3 is a=[1,2] and b=3."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
