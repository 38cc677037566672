"""kcsim incident: what happened to a real cluster, from its logs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.setting_option import parse_settings
from kcsim.scenarios.cli.zk_files import check_output, checked_chroot, exit_on_file_errors

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.log_import.zone import ToUtc
    from kcsim.scenarios.incidents.incident_logs import IncidentLogs


def incident(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOGS",
            help="Log files of brokers, the dataDir of a ZooKeeper, or directories with both: rolled and gzipped files too.",
        ),
    ],
    scenario: Annotated[
        Path | None, typer.Option("--scenario", "-o", metavar="FILE", help="Write the scenario that reproduces it.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="Simulate it with this setting as well: would it have helped? May be repeated.",
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="+HH:MM|UTC|Area/City",
            help="The zone of the log files' times; else as a server.log gives it away, and UTC if none does.",
        ),
    ] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are in ZooKeeper, if not at the root.")] = "/",
    everything: Annotated[bool, typer.Option("--all", help="Print every line of the story, however many.")] = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Find out what happened to a real cluster: the story, the likely first fault with its evidence, and a reproduction.

    Reads controller.log, state-change.log and server.log of the brokers, ZooKeeper's transaction log, or both, which tells
    most. Faults that the logs cannot tell apart are named, with what would tell them. The scenario that reproduces the
    incident is run in virtual time, and its outcome compared with the logs.

    \b
    kcsim incident broker-1/logs broker-2/logs broker-3/logs
    kcsim incident broker-*/logs /var/lib/zookeeper --scenario last-night.yaml
    kcsim incident logs/ --setting zookeeper.session.timeout.ms=18000

    Exit status: 0 the reproduction agrees with the logs, or there was nothing to reproduce, 3 it differs, 2 ZooKeeper's
    files are damaged or the scenario cannot be written, 64 wrong input: no logs, or not those of a cluster with ZooKeeper.
    """
    settings = parse_settings(setting)
    if scenario is not None:
        check_output("--scenario", scenario)
    read = _read(logs, _zone(zone), checked_chroot(chroot))
    from kcsim.scenarios.incidents.incident_text import incident_json, incident_lines
    from kcsim.scenarios.incidents.investigation import investigate

    found = investigate(read, settings)
    for remark in read.remarks:
        print(remark, file=sys.stderr)
    if output is OutputFormat.JSON:
        print(json.dumps(incident_json(found), indent=2, ensure_ascii=False))
    else:
        for line in incident_lines(found, everything):
            print(line)
    if scenario is not None:
        _write(scenario, None if found.reproduction is None else found.reproduction.text, found.why_not)
    if found.run is not None and (found.run.differences or found.run.failure is not None):
        raise CommandExit(ExitStatus.NEGATIVE)


def _read(paths: list[Path], to_utc: "ToUtc | None", chroot: str) -> "IncidentLogs":
    from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError
    from kcsim.scenarios.incidents.incident_logs import IncidentLogsError, read_incident_logs

    with exit_on_file_errors():
        try:
            return read_incident_logs(paths, to_utc, chroot)
        except (LogFilesError, IncidentLogsError) as error:
            fail(str(error), ExitStatus.USAGE)


def _zone(text: str | None) -> "ToUtc | None":
    from kcsim.brokers.apache_kafka.log_import.zone import BadZoneError, zone_named

    if text is None:
        return None
    try:
        return zone_named(text)
    except BadZoneError as error:
        fail(f"--zone: {error}", ExitStatus.USAGE)


def _write(file: Path, text: str | None, why_not: str | None) -> None:
    if text is None:
        fail(f"--scenario: {why_not}", ExitStatus.UNDECIDED)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"--scenario: {file}: {error.strerror}", ExitStatus.UNDECIDED)
    print(f"{file}: run it with kcsim run {file} --zookeeper simulated", file=sys.stderr)
