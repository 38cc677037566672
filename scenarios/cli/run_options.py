"""The options of a run of a scenario: what they stand for, and the checks before anything starts."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.controller.protections import PROTECTION_NAMES, PROTECTIONS
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import (
    BrokersKind,
    check_for_processes,
    check_for_real_brokers,
    check_protocol_version,
    chosen_kafka,
)
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.run_setup import RunInfo
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.brokers.config import Value
    from kcsim.eventlog.event_log import EventLog
    from kcsim.scenarios.cli.client_program import ClientProgram
    from kcsim.scenarios.language.scenario_file import LoadedScenario
    from kcsim.scenarios.language.schema import ClusterModel

MAX_SEED = 2**63 - 1
"""The largest value that a column of the event log holds."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run of a scenario. `settings` override those of the scenario."""

    zookeeper: str
    seed: int
    brokers: BrokersKind = BrokersKind.SIMULATED
    kafka_home: Path | None = None
    settings: "Mapping[str, Value]" = field(default_factory=dict)
    without: Sequence[str] = ()
    trace: Path | None = None
    zk_log: Path | None = None
    output: OutputFormat = OutputFormat.TABLE
    execute: bool = False
    client: "ClientProgram | None" = None
    hardening: bool = False

    def command(self, scenario: str) -> str:
        """Return the command line without the options that only say where results are kept."""
        words = ["kcsim", "run", scenario, "--zookeeper", self.zookeeper, "--seed", str(self.seed)]
        words += [] if self.brokers is BrokersKind.SIMULATED else ["--brokers", self.brokers.value]
        for name, value in sorted(self.settings.items()):
            words += ["--setting", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        for protection in self.without:
            words += ["--without", protection]
        words += ["--hardening"] if self.hardening else []
        words += [] if self.client is None else ["--client", shlex.join(self.client.words)]
        return shlex.join(words)


def prepare(
    loaded: "LoadedScenario", options: RunOptions
) -> "tuple[LoadedScenario, ClusterSpec, ZooKeeperChoice, KafkaInstallation | None]":
    """Check the options of a run; return the scenario with its settings, the cluster, the ZooKeeper and the real Kafka."""
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.scenarios.engine.run_source import with_hardening
    from kcsim.scenarios.engine.runner import cluster_spec

    check_protections(options.without)
    choice = chosen_zookeeper(options.zookeeper, loaded)
    check_trace(options.trace)
    check_zk_log(options.zk_log, choice)
    kafka = None
    if options.brokers is BrokersKind.KAFKA:
        if options.without:
            fail("--without: what Kafka protects itself with cannot be taken from a real one", ExitStatus.USAGE)
        if options.hardening:
            from kcsim.scenarios.engine.real_brokers import NOT_OF_KAFKA

            fail(f"--hardening: {NOT_OF_KAFKA}", ExitStatus.USAGE)
        check_for_real_brokers(loaded, choice)
        kafka = chosen_kafka(options.kafka_home)
    elif options.brokers is BrokersKind.PROCESSES:
        check_for_processes(loaded, choice)
    if options.kafka_home is not None and kafka is None:
        fail("--kafka-home: only with --brokers kafka", ExitStatus.USAGE)
    loaded = with_setting_options(loaded, options.settings)
    if options.hardening:
        loaded = with_hardening(loaded)
    if kafka is not None:
        check_protocol_version(loaded, kafka)
    check_capabilities(options.without, loaded.scenario.cluster)
    spec = cluster_spec(loaded.scenario, options.without)
    if options.client is not None:
        if choice.kind is ZooKeeperKind.SIMULATED:
            why = "a program cannot be run in virtual time"
            fail(f"--client: {why}; run it with --zookeeper embedded, or model, which needs no Java", ExitStatus.USAGE)
        spec = spec.with_free_client_ports() if options.brokers is BrokersKind.SIMULATED else spec
    return loaded, spec, choice, kafka


def runner_of(options: RunOptions, kafka: "KafkaInstallation | None") -> "Callable[..., EventLog]":
    """Return what runs a script on brokers of the chosen kind; it is called as run_in_environment is."""
    from kcsim.brokers.cluster.run_in_environment import run_in_environment, run_with_kafka, run_with_processes

    if kafka is not None:
        return partial(run_with_kafka, kafka)
    return run_with_processes if options.brokers is BrokersKind.PROCESSES else run_in_environment


def run_info(
    loaded: "LoadedScenario", choice: "ZooKeeperChoice", options: RunOptions, kafka: "KafkaInstallation | None"
) -> "RunInfo":
    """Return the description of the run for its first event."""
    from kcsim.brokers.cluster.run_setup import IN_PROCESSES
    from kcsim.eventlog.run_record import RunSource
    from kcsim.scenarios.engine.run_source import scenario_run_info, source_name

    where = options.zookeeper if choice.members == 1 else f"{options.zookeeper}, {choice.members} members"
    name = source_name(loaded)
    source = RunSource(
        name,
        loaded.text or "",
        options.zookeeper,
        options.brokers.value,
        dict(sorted(options.settings.items())),
        tuple(options.without),
        options.command(name),
        options.hardening,
    )
    brokers = f"Apache Kafka {kafka.version}" if kafka else None
    if options.brokers is BrokersKind.PROCESSES:
        brokers = IN_PROCESSES
    return scenario_run_info(loaded, options.seed, where, brokers=brokers, source=source)


def load(name: str) -> "LoadedScenario":
    """Load a scenario by file or name. Problems are reported line by line and end the command."""
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario

    try:
        return load_scenario(find_scenario(name))
    except ScenarioFileError as error:
        fail(str(error), ExitStatus.USAGE)


def chosen_zookeeper(text: str, loaded: "LoadedScenario") -> "ZooKeeperChoice":
    """Read --zookeeper, and check that the scenario can be run there."""
    choice = zookeeper_choice(text, loaded.scenario.zookeeper.members)
    if choice.connect is not None:
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True):
            if hasattr(step, "zookeeper"):
                why = f"this step is done to servers of ZooKeeper, and those at {text} are not ours"
                hint = "run it with --zookeeper embedded, docker or simulated"
                fail(f"{loaded.file}:{line}: {why}; {hint}", ExitStatus.USAGE)
    return choice


def with_setting_options(loaded: "LoadedScenario", settings: "Mapping[str, Value]") -> "LoadedScenario":
    """Return the scenario with the settings of --setting, which its release must know."""
    from kcsim.brokers.config import SettingError
    from kcsim.scenarios.engine.run_source import with_settings

    changed = with_settings(loaded, settings)
    try:
        changed.scenario.cluster.check_release()
    except SettingError as error:
        fail(f"--setting: {error}", ExitStatus.USAGE)
    return changed


def check_protections(names: Sequence[str]) -> None:
    """Reject unknown protection names."""
    from kcsim.text import comma_separated, did_you_mean

    for name in names:
        if name not in PROTECTION_NAMES:
            hint = did_you_mean(name, PROTECTION_NAMES) or f"; there are {comma_separated(PROTECTION_NAMES)}"
            fail(f"--without: unknown protection {name!r}{hint}", ExitStatus.USAGE)


def check_capabilities(names: Sequence[str], cluster: "ClusterModel | ClusterSpec") -> None:
    """Reject protections that came with a later version, of the protocol or of Kafka, than that of the cluster."""
    from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig
    from kcsim.controller.capabilities import PROTOCOL_VERSIONS

    config = BrokerConfig.of(cluster.settings, release=cluster.release).controller
    protocol_version = config.inter_broker_protocol_version
    for protection in PROTECTIONS:
        since = protection.since
        version = config.effective_release if protection.is_of_release else protocol_version
        if protection.name in names and since and PROTOCOL_VERSIONS.index(since) > PROTOCOL_VERSIONS.index(version):
            came_with = "Kafka" if protection.is_of_release else PROTOCOL_VERSION
            why = f"{protection.name} came with {came_with} {since}, and this cluster has {version}"
            fail(f"--without: {why}; raise it with --setting {PROTOCOL_VERSION}={since}", ExitStatus.USAGE)


def check_trace(trace: Path | None) -> None:
    """Check before the run, not after it, that its trace can be written."""
    if trace is None:
        return
    if trace.is_dir():
        fail(f"--trace: {trace} is a directory; name a file", ExitStatus.USAGE)
    if not trace.parent.is_dir():
        fail(f"--trace: there is no directory {trace.parent}", ExitStatus.USAGE)
    if not os.access(trace if trace.exists() else trace.parent, os.W_OK):
        fail(f"--trace: {trace} cannot be written", ExitStatus.USAGE)


def check_zk_log(directory: Path | None, choice: "ZooKeeperChoice") -> None:
    """Check that ZooKeeper's log can be kept: there is one server, and the directory has no log yet."""
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.zk.files.log_writer import LogExistsError, check_no_log

    if directory is None:
        return
    if choice.kind not in (ZooKeeperKind.SIMULATED, ZooKeeperKind.MODEL, ZooKeeperKind.EMBEDDED) or choice.members > 1:
        fail("--zk-log: only with --zookeeper simulated, model or embedded, and one server of it", ExitStatus.USAGE)
    if directory.exists() and not directory.is_dir():
        fail(f"--zk-log: {directory} is no directory", ExitStatus.USAGE)
    try:
        check_no_log(directory)
    except LogExistsError as error:
        fail(f"--zk-log: {error}", ExitStatus.USAGE)
