"""Kafka's own commands, run on a cluster of real brokers as a recording has them."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from tests.conformance.replayed.tools.command_line import Command
from tests.conformance.replayed.tools.files import Files
from tests.conformance.replayed.tools.placements import Placed
from tests.conformance.replayed.tools.tools import alteration

WITHIN_S = 60.0
PACKAGE = "kafka.admin"
PACKAGES = (f"{PACKAGE}.", "kafka.tools.")
Outcome = Mapping[str, Any]


class KafkaCommands:
    """Runner of the commands of a Kafka installation.

    Args:
        directory: where the files are that a command names; None if there are none.
    """

    def __init__(self, installation: KafkaInstallation, cluster: ProcessCluster, directory: Path | None) -> None:
        self._installation = installation
        self._cluster = cluster
        self._directory = directory

    async def run(
        self, words: Sequence[str], files: Mapping[str, Any] | None = None, placed: Mapping[str, Placed] | None = None
    ) -> Outcome:
        """Run a command, given its class name first.

        Args:
            placed: not used here: Kafka chooses the placement.

        Returns: exit status, and the printed output.
        Raises: ClusterError if the command needs a broker and none runs; TimedOutError.
        """
        tool = words[0] if words[0].startswith(PACKAGES) else f"{PACKAGE}.{Command.of(words).tool}"
        with tempfile.TemporaryDirectory(prefix="kcsim-") as directory:
            args = [self._word(word, Files(files or {}, self._directory), Path(directory)) for word in words[1:]]
            outcome = await run_kafka_command(self._installation, tool, args, None, WITHIN_S)
        return {"rc": outcome.rc, "out": _lines(outcome.out), "err": _lines(outcome.err)}

    async def alter(self, targets: Mapping[str, Sequence[int] | None]) -> Outcome:
        """Request AlterPartitionReassignments: moves, or (None) cancellations.

        Raises: NotSupportedError for both at once.
        """
        words, files = alteration(targets)
        return await self.run(words, files)

    def _word(self, word: str, files: Files, directory: Path) -> str:
        """Return a word for the command line: addresses for ZK and BS, and a readable path for the name of a file."""
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
