"""What the plugin was told to do: its options, read."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kcsim.scenarios.testing.errors import BadOptionError
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind

OURS = tuple(kind.value for kind in ZooKeeperKind if kind is not ZooKeeperKind.EXTERNAL)
ADDRESS = re.compile(r"[^/\s]+:\d+(,[^/\s]+)*(/\S*)?")
MAX_SEED = 2**63 - 1
"""A column of the event log holds it."""


@dataclass(frozen=True)
class Options:
    """The options of a test run.

    Attributes:
        zookeeper: as given; None: each fixture takes what suits it (a real server; virtual time for scenarios).
        seed: of every random choice.
        keep: artefacts of tests that pass, and data directories, too.
        artefacts: below it each test that fails has a directory of its own.
        execute: whether a ZooKeeper that is not ours may be written to.
    """

    zookeeper: str | None
    seed: int
    keep: bool
    artefacts: Path
    execute: bool

    def choice(self, default: ZooKeeperKind) -> ZooKeeperChoice:
        """The ZooKeeper for a fixture that would take this one if nobody said anything."""
        return ZooKeeperChoice.parse(self.zookeeper or default.value)

    @property
    def again(self) -> str:
        """The options, as a command has them."""
        chosen = f"--kcsim-zookeeper={self.zookeeper} " if self.zookeeper else ""
        return f"{chosen}--kcsim-seed={self.seed}" + (" --kcsim-execute" if self.execute else "")


def read_options(zookeeper: str, seed: str, keep: bool, artefacts: Path, execute: bool) -> Options:
    """Check what was given. Raises: BadOptionError."""
    return Options(checked_zookeeper(zookeeper, execute) if zookeeper else None, _seed(seed), keep, artefacts, execute)


def checked_zookeeper(text: str, execute: bool) -> str:
    """One of our own, or somebody's that may be written to. Raises: BadOptionError."""
    if text in OURS:
        return text
    if ADDRESS.fullmatch(text) is None:
        near = get_close_matches(text, OURS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(OURS)}, and HOST:PORT"
        raise BadOptionError(f"--kcsim-zookeeper: {text!r} is no ZooKeeper; {hint}")
    if not execute:
        raise BadOptionError(
            f"--kcsim-zookeeper: {text} is not ours; with --kcsim-execute, each test writes there, below a chroot that is "
            "made for it and removed again"
        )
    return text


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        raise BadOptionError(f"--kcsim-seed: {text!r} is no whole number") from None
    if abs(seed) > MAX_SEED:
        raise BadOptionError(f"--kcsim-seed: {seed} is not between {-MAX_SEED} and {MAX_SEED}")
    return seed
