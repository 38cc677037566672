"""Kafka's own commands, run on a cluster of real brokers as a recording has them."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.scenarios.on_kafka.cluster import KafkaCluster
from tests.conformance.replayed.tools.command_line import Command
from tests.conformance.replayed.tools.files import Files
from tests.conformance.replayed.tools.placements import Placed
from tests.conformance.replayed.tools.tools import alteration

WITHIN_S = 60.0
PACKAGE = "kafka.admin"
Outcome = Mapping[str, Any]


class KafkaCommands:
    """Runs commands of an installation.

    Args:
        directory: where files lie that a command names; None if nowhere.
    """

    def __init__(self, installation: KafkaInstallation, cluster: KafkaCluster, directory: Path | None) -> None:
        self._installation = installation
        self._cluster = cluster
        self._directory = directory

    async def run(
        self, words: Sequence[str], files: Mapping[str, Any] | None = None, placed: Mapping[str, Placed] | None = None
    ) -> Outcome:
        """Run a command, class name first.

        Args:
            placed: of no use here: Kafka places where it likes.

        Returns: exit status, and what it printed.
        Raises: ClusterError if it is to ask a broker and none runs; TimedOutError.
        """
        tool = words[0] if words[0].startswith(f"{PACKAGE}.") else f"{PACKAGE}.{Command.of(words).tool}"
        with tempfile.TemporaryDirectory(prefix="kcsim-") as directory:
            args = [self._word(word, Files(files or {}, self._directory), Path(directory)) for word in words[1:]]
            outcome = await run_kafka_command(self._installation, tool, args, None, WITHIN_S)
        return {"rc": outcome.rc, "out": _lines(outcome.out), "err": _lines(outcome.err)}

    async def alter(self, targets: Mapping[str, Sequence[int] | None]) -> Outcome:
        """AlterPartitionReassignments: moves, or (None) cancellations. Raises: NotSupportedError for both at once."""
        words, files = alteration(targets)
        return await self.run(words, files)

    def _word(self, word: str, files: Files, directory: Path) -> str:
        """A word as the command gets it: addresses for ZK and BS, a file that can be opened for the name of one."""
        if word == "ZK":
            return self._cluster.connect_string
        if word == "BS":
            return self._cluster.bootstrap()
        if not files.has(word):
            return word
        (directory / word).write_text(files.text(word), encoding="utf-8")
        return str(directory / word)


def _lines(printed: str) -> list[str]:
    return printed.strip().splitlines()
