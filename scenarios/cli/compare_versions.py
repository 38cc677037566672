"""kcsim compare --protocol-version: one scenario at several versions, side by side, on real brokers too where possible."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.run_options import with_setting_options

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.engine.differential_run import DifferentialRun
    from kcsim.scenarios.engine.expectations.verdict import Verdict
    from kcsim.scenarios.language.scenario_file import LoadedScenario

CLAIM_WIDTH = 60


@dataclass(frozen=True)
class VersionRun:
    """The runs of a scenario at one protocol version.

    Attributes:
        kafka: the real Kafka; None: no real one was run at this version.
        both: both runs compared; None without a real one.
    """

    version: str
    ours: "Verdict"
    kafka: "KafkaInstallation | None" = None
    both: "DifferentialRun | None" = None

    @property
    def columns(self) -> "Iterator[tuple[str, Verdict]]":
        """Yield each run's heading and verdict, the real one first."""
        if self.kafka is not None and self.both is not None:
            yield f"{self.version} on Kafka {self.kafka.version}", self.both.kafka.verdict
        yield f"{self.version} on ours", self.ours

    @property
    def status(self) -> ExitStatus:
        if self.both is not None and not self.both.agrees:
            return ExitStatus.NEGATIVE
        is_whole = self.ours.failure is None and (self.both is None or self.both.is_whole)
        return ExitStatus.HELD if is_whole else ExitStatus.UNDECIDED


def kafka_for(version: str, kafkas: "Sequence[KafkaInstallation]") -> "KafkaInstallation | None":
    """Return the oldest Kafka that knows a protocol version; None if none does."""
    from kcsim.brokers.apache_kafka.installation import release_of

    able = [kafka for kafka in kafkas if kafka.release >= release_of(version)]
    return min(able, key=lambda kafka: kafka.release, default=None)


def run_at(
    loaded: "LoadedScenario",
    version: str,
    kafka: "KafkaInstallation | None",
    choices: "tuple[ZooKeeperChoice, ZooKeeperChoice]",
    seed: int,
) -> VersionRun:
    """Run a scenario at one protocol version: on real brokers, if there is a Kafka, and on ours.

    Args:
        choices: the ZooKeeper of Kafka's run, and of ours.

    Raises: as run_differential.
    """
    from kcsim.brokers.config import PROTOCOL_VERSION
    from kcsim.scenarios.engine.differential_run import run_differential, run_ours_alone

    at_version = with_setting_options(loaded, {PROTOCOL_VERSION: version})
    theirs, ours = choices
    if kafka is None:
        return VersionRun(version, run_ours_alone(at_version, ours, seed))
    both = run_differential(at_version, kafka, theirs, ours, seed)
    return VersionRun(version, both.ours.verdict, kafka, both)


def status_of(runs: Sequence[VersionRun]) -> ExitStatus:
    """Return NEGATIVE if a real Kafka wrote anything else than ours; UNDECIDED if a run could not do every step."""
    found = {run.status for run in runs}
    return next((status for status in (ExitStatus.NEGATIVE, ExitStatus.UNDECIDED) if status in found), ExitStatus.HELD)


def outcomes(runs: Sequence[VersionRun]) -> dict[str, list[str]]:
    """Return the outcome of each claim in each column; a dash where the run did not come to it."""
    columns = [_by_claim(verdict) for run in runs for _, verdict in run.columns]
    claims = dict.fromkeys(claim for column in columns for claim in column)
    return {claim: [column.get(claim, "-") for column in columns] for claim in claims}


def _by_claim(verdict: "Verdict") -> Mapping[str, str]:
    found = {result.claim: result.outcome.value for result in verdict.results if result.invariant is None}
    broken = {f"invariant {result.invariant}": result.outcome.value for result in verdict.results if result.invariant}
    return {**found, **broken}


def print_versions(name: str, runs: Sequence[VersionRun], output: OutputFormat) -> None:
    """Print what became of each claim at each version, and where a real Kafka and ours differ."""
    if output is OutputFormat.JSON:
        print(json.dumps(_as_json(name, runs), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_lines=True)
    table.add_column("Expected", max_width=CLAIM_WIDTH)
    for run in runs:
        table.add_column(run.version if run.kafka is None else f"{run.version}, Kafka {run.kafka.version}")
    for claim, cells in outcomes(runs).items():
        table.add_row(claim, *_cells(runs, cells))
    Console().print(table)
    for run in runs:
        for heading, verdict in run.columns:
            if verdict.failure is not None:
                print(f"{heading}: undecided: {verdict.failure}")
        if run.both is not None:
            print(f"{run.version}: {_differing(run.both)}")


def _cells(runs: Sequence[VersionRun], found: Sequence[str]) -> Iterator[str]:
    """Yield one cell for each version: the outcome on ours or, beside a real Kafka, both, a line each."""
    left = iter(found)
    for run in runs:
        first = next(left)
        yield first if run.kafka is None else f"Kafka {first}\nours  {next(left)}"


def _differing(both: "DifferentialRun") -> str:
    if both.agrees:
        return "Kafka and ours wrote the same to ZooKeeper"
    steps = len({difference.step for difference in both.differences})
    return f"Kafka and ours wrote something else in {steps} step{'s' * (steps > 1)}; kcsim compare --setting shows it"


def _as_json(name: str, runs: Sequence[VersionRun]) -> dict[str, Any]:
    return {
        "scenario": name,
        "columns": [heading for run in runs for heading, _ in run.columns],
        "expectations": outcomes(runs),
        "versions": [
            {
                "version": run.version,
                "kafka": None if run.kafka is None else run.kafka.version,
                "agrees": None if run.both is None else run.both.agrees,
            }
            for run in runs
        ],
        "exit_status": int(status_of(runs)),
    }


def check_versions(versions: Sequence[str]) -> None:
    """Reject what is no protocol version."""
    from kcsim.brokers.config import PROTOCOL_VERSION, SettingError, parse_setting

    for version in versions:
        try:
            parse_setting(PROTOCOL_VERSION, version)
        except SettingError as error:
            fail(f"--protocol-version: {error}", ExitStatus.USAGE)
