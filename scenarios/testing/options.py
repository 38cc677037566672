"""The plugin's options, parsed and checked."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.testing.errors import BadOptionError

OURS = tuple(kind.value for kind in ZooKeeperKind if kind is not ZooKeeperKind.EXTERNAL)
ADDRESS = re.compile(r"[^/\s]+:\d+(,[^/\s]+)*(/\S*)?")
MAX_SEED = 2**63 - 1
"""The largest value that a column of the event log holds."""


@dataclass(frozen=True)
class PluginOptions:
    """The options of a test run.

    Attributes:
        zookeeper: as given; None: each fixture uses its default (a real server; virtual time for scenarios).
        seed: seed of every random choice.
        keep: whether artefacts of tests that pass, and data directories, are kept as well.
        artefacts: directory below which each failed test has a directory of its own.
        execute: whether writing to a ZooKeeper that is not ours is allowed.
    """

    zookeeper: str | None
    seed: int
    keep: bool
    artefacts: Path
    execute: bool

    def choice(self, default: ZooKeeperKind) -> ZooKeeperChoice:
        """Return the ZooKeeper for a fixture, `default` if the options name none."""
        return ZooKeeperChoice.parse(self.zookeeper or default.value)

    @property
    def as_arguments(self) -> str:
        """The options as command-line arguments."""
        chosen = f"--kcsim-zookeeper={self.zookeeper} " if self.zookeeper else ""
        return f"{chosen}--kcsim-seed={self.seed}" + (" --kcsim-execute" if self.execute else "")


def read_options(zookeeper: str, seed: str, keep: bool, artefacts: Path, execute: bool) -> PluginOptions:
    """Check the given options. Raises: BadOptionError."""
    return PluginOptions(checked_zookeeper(zookeeper, execute) if zookeeper else None, _seed(seed), keep, artefacts, execute)


def checked_zookeeper(text: str, execute: bool) -> str:
    """Return the name of one of our servers, or the address of a foreign one that may be written to.

    Raises: BadOptionError.
    """
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
