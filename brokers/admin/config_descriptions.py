"""The settings of topics and brokers with their values, and where each value comes from.

Source: Kafka 2.8, ConfigHelper.createTopicConfigEntry, createBrokerConfigEntry, configSynonyms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import dropwhile

from kcsim.brokers.admin.config_definitions import (
    BROKER_SETTINGS,
    BROKER_TYPES,
    SYNONYMS,
    TOPIC_SETTINGS,
    UNIT_MS,
    UNUSED_DEFAULTS,
    UPDATABLE,
    ConfigType,
)
from kcsim.brokers.admin.requests import ConfigEntry, ConfigSource, ConfigSynonym
from kcsim.brokers.config import BrokerConfig, Value

Settings = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The settings of one broker as text, by where they come from.

    Attributes:
        own: those that were changed while the broker runs.
        shared: those that were changed for all brokers.
        static: those that the broker was started with.
        defaults: Kafka's, without the settings that have none.
    """

    own: Settings
    shared: Settings
    static: Settings
    defaults: Settings

    @property
    def by_source(self) -> tuple[tuple[ConfigSource, Settings], ...]:
        """All of them; the first that has a setting applies."""
        return (
            (ConfigSource.DYNAMIC_BROKER, self.own),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER, self.shared),
            (ConfigSource.STATIC_BROKER, self.static),
            (ConfigSource.DEFAULT, self.defaults),
        )

    def current(self, name: str) -> str | None:
        """Return the value that applies; None if the setting has none.

        A change while the broker runs hides the values, under any synonym, that the broker was started with.
        """
        changed = (self.own, self.shared)
        is_changed = any(synonym in settings for settings in changed for synonym in SYNONYMS.get(name, (name,)))
        static = () if is_changed else (self.static,)
        return next((settings[name] for settings in (*changed, *static, self.defaults) if name in settings), None)


def broker_settings(config: BrokerConfig, own: Settings, shared: Settings) -> BrokerSettings:
    """Return the settings of a broker. Args: own, shared: those that were changed since its start."""
    unused = {name: value for name, value in UNUSED_DEFAULTS.items() if value is not None}
    static = {name: _text(value) for name, value in config.named_values().items() if name in config.given}
    defaults = {name: _text(value) for name, value in BrokerConfig().named_values().items()}
    return BrokerSettings(own, shared, static, {**unused, **defaults})


def topic_entries(topic: Settings, broker: BrokerSettings) -> tuple[ConfigEntry, ...]:
    """Return all settings of a topic. Args: topic: its own settings."""
    entries = []
    for name, setting in TOPIC_SETTINGS.items():
        inherited = _broker_synonyms(setting.broker_setting, broker) if setting.broker_setting else ()
        if name in topic:
            value: str | None = _normal(topic[name], setting.type)
            synonyms = (ConfigSynonym(name, value, ConfigSource.TOPIC), *inherited)
        else:
            value = _inherited_value(setting.broker_setting, broker) if setting.broker_setting else ""
            synonyms = inherited
        entries.append(ConfigEntry(name, value, setting.type, is_read_only=False, synonyms=synonyms))
    return tuple(entries)


def broker_entries(broker: BrokerSettings) -> tuple[ConfigEntry, ...]:
    """Return all settings of a broker: those that every broker describes, and others that were changed."""
    names = BROKER_SETTINGS | broker.own.keys() | broker.shared.keys()
    return tuple(_broker_entry(name, broker.current(name), _broker_synonyms(name, broker)) for name in sorted(names))


def shared_entries(broker: BrokerSettings) -> tuple[ConfigEntry, ...]:
    """Return the settings that were changed for all brokers."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    return tuple(
        _broker_entry(name, value, tuple(s for s in _broker_synonyms(name, broker) if s.source is source))
        for name, value in broker.shared.items()
    )


def _broker_entry(name: str, value: str | None, synonyms: tuple[ConfigSynonym, ...]) -> ConfigEntry:
    kind = BROKER_TYPES.get(name, ConfigType.UNKNOWN)
    shown = None if kind is ConfigType.UNKNOWN else value
    return ConfigEntry(name, shown, kind, is_read_only=name not in UPDATABLE, synonyms=synonyms)


def _broker_synonyms(name: str, broker: BrokerSettings) -> tuple[ConfigSynonym, ...]:
    """Return all values that a broker has for a setting, from the first on that has the setting's own name."""
    is_known = name in BROKER_TYPES
    found = (
        ConfigSynonym(synonym, settings[synonym] if is_known else None, source)
        for source, settings in broker.by_source
        for synonym in SYNONYMS.get(name, (name,))
        if synonym in settings
    )
    return tuple(dropwhile(lambda synonym: synonym.name != name, found))


def _inherited_value(name: str, broker: BrokerSettings) -> str | None:
    """Return the value that a topic without a setting has from its broker, in the topic's unit."""
    for synonym in SYNONYMS.get(name, (name,)):
        value = broker.current(synonym)
        if value is not None:
            return str(max(int(value) * UNIT_MS[synonym], -1)) if synonym in UNIT_MS else value
    return None


def _normal(value: str, kind: ConfigType) -> str:
    """Return a value as Kafka shows it after it has parsed it."""
    if kind is ConfigType.LIST:
        return ",".join(part.strip() for part in value.split(","))
    return value.strip().lower() if kind is ConfigType.BOOLEAN else value.strip()


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
