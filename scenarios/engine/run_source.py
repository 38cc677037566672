"""The description of a run that is made from a scenario, for the first event of the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.eventlog.run_record import RunSource, SettingValue
from kcsim.scenarios.language.library import LIBRARY
from kcsim.scenarios.language.scenario_file import SUFFIXES, LoadedScenario


def with_settings(loaded: LoadedScenario, settings: Mapping[str, SettingValue]) -> LoadedScenario:
    """Return the scenario with brokers' settings that override its own; they have been parsed by `parse_setting`."""
    cluster = loaded.scenario.cluster
    changed = cluster.model_copy(update={"settings": {**cluster.settings, **settings}})
    return loaded._replace(scenario=loaded.scenario.model_copy(update={"cluster": changed}))


def with_hardening(loaded: LoadedScenario) -> LoadedScenario:
    """Return the scenario with hardening switched on."""
    return loaded._replace(scenario=loaded.scenario.with_hardening())


def scenario_run_info(
    loaded: LoadedScenario,
    seed: int,
    zookeeper: str,
    without: Sequence[str] = (),
    brokers: str | None = None,
    source: RunSource | None = None,
    hardening: bool = False,
) -> RunInfo:
    """Return the description of a run of a scenario.

    Args:
        zookeeper: the ZooKeeper, in words.
        without: names of protections that are switched off in addition to those that the scenario switches off.
        brokers: as in RunInfo.
        source: what the run is made from; None: the scenario, if it has a text, and the other arguments.
        hardening: whether hardening is switched on although the scenario does not.
    """
    if source is None and loaded.text is not None:
        source = RunSource(
            source_name(loaded),
            loaded.text,
            zookeeper,
            "simulated" if brokers is None else "kafka",
            without=tuple(without),
            hardening=hardening,
        )
    return RunInfo(loaded.scenario.name, seed, zookeeper, brokers, source)


def source_name(loaded: LoadedScenario) -> str:
    """Return the name of a scenario's file, without its directory; for a scenario of the library, its name there."""
    path = Path(loaded.file)
    if path.parent == LIBRARY:
        return path.stem
    if path.suffix in SUFFIXES or path.name == loaded.scenario.name:
        return path.name
    return f"{loaded.scenario.name}.yaml"  # read from a pipe
