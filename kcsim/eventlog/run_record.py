"""The description of a run in the `data` of its first event, RunStarted: what the run needs to be run again.

The description is one JSON document. It has no directory and no user name, and no time unless the run is one process of a
cluster: the same run has the same document on every machine with the same versions.
"""

from collections.abc import Mapping

import msgspec

from kcsim.eventlog.events import Event, EventKind

SettingValue = str | int | bool


class RunSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run was made from.

    Attributes:
        file: the name of the scenario's file, without its directory.
        text: the text of the scenario, as in its file.
        zookeeper: as for `kcsim run --zookeeper`.
        brokers: as for `kcsim run --brokers`.
        settings: brokers' settings that override those of the scenario, by Kafka's dotted names.
        without: names of protections that are switched off in addition to those that the scenario switches off.
        command: the command that runs it, without the options that only say where results are kept; None if the run was
            started from Python.
        hardening: whether hardening is switched on although the scenario does not.
    """

    file: str
    text: str
    zookeeper: str
    brokers: str = "simulated"
    settings: dict[str, SettingValue] = {}
    without: tuple[str, ...] = ()
    command: str | None = None
    hardening: bool = False


class RunRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The description of a run.

    Attributes:
        versions: of kcsim and Python.
        settings: all settings of the brokers with their values, by Kafka's dotted names; those without a value are left out.
            Of processes of Apache Kafka only those that the run gives them: the others have the defaults of their version.
        tick_time_ms: ZooKeeper's tickTime.
        session_timeout_ms: how long a broker's session lives without a heartbeat, as ZooKeeper grants it.
        protections_off: names of the protections of Kafka that are switched off.
        hardening: whether controller and brokers were hardened.
        source: what the run was made from; None if that is no scenario, or the scenario has no text.
        began_ms: when the run began, in ms since 1970; only if it is one process of a cluster, whose traces are merged.
    """

    versions: Mapping[str, str]
    settings: Mapping[str, SettingValue]
    tick_time_ms: int
    session_timeout_ms: int
    protections_off: tuple[str, ...] = ()
    source: RunSource | None = None
    began_ms: int | None = None
    hardening: bool = False


def encode_run_record(record: RunRecord) -> str:
    """Return the document for the `data` of RunStarted."""
    return msgspec.json.encode(record).decode()


def run_record(event: Event) -> RunRecord | None:
    """Return the description in a RunStarted event; None if it has none, as in imports and in traces of older versions."""
    if event.kind is not EventKind.RUN_STARTED or event.data is None:
        return None
    try:
        return msgspec.json.decode(event.data, type=RunRecord)
    except msgspec.DecodeError:  # the data of an import
        return None
