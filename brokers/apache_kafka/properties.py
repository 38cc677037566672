"""The server.properties of a real broker: identity, the given settings, and few threads, so that four fit on a laptop."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kcsim.brokers.apache_kafka.errors import OwnSettingError, UnusableDirectoryError
from kcsim.brokers.apache_kafka.installation import release_of
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION

HOST = "127.0.0.1"

# None of these settings affects what the controller decides.
SMALL: Mapping[str, str] = {
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "1",
    "log.cleaner.enable": "false",  # its buffer alone takes 128 MB
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}

OWN = frozenset(
    {
        "broker.id",
        "broker.rack",
        "listeners",
        "advertised.listeners",
        "host.name",
        "port",
        "advertised.host.name",
        "advertised.port",
        "log.dir",
        "log.dirs",
        "zookeeper.connect",
    }
)
"""Settings whose values are determined here, under the same or another name."""

Value = str | int | bool
NO_SETTINGS: Mapping[str, Value] = MappingProxyType({})

IN_NAMES, IN_VALUES = re.compile(r"[\\:=#! ]"), re.compile(r"^ |\\")
"""Characters with a special meaning in names and in values; of a value's spaces, only a leading one would be lost."""


@dataclass(frozen=True, slots=True)
class KafkaBrokerSpec:
    """What one real broker is to be.

    Attributes:
        zookeeper_connect: host:port,…/chroot.
        settings: by Kafka's dotted names; take precedence over SMALL and the protocol version; must not contain any of OWN.
        log_dirs: the number of its log directories.
        advertised_port: of 127.0.0.1, that clients and other brokers connect to; None: that of the listener.
    """

    broker_id: int
    zookeeper_connect: str
    settings: Mapping[str, Value]
    rack: str | None = None
    log_dirs: int = 1
    advertised_port: int | None = None


def server_properties(spec: KafkaBrokerSpec, port: int, log_dirs: Sequence[Path], version: str) -> dict[str, str]:
    """Return the settings of one broker, by Kafka's dotted names.

    Args:
        port: of 127.0.0.1, for a plain-text listener.
        version: of the Kafka that reads the file, such as 2.8.2.

    Raises: OwnSettingError, UnusableDirectoryError.
    """
    if given := sorted(OWN & spec.settings.keys()):
        raise OwnSettingError(given)
    for directory in log_dirs:
        if "," in str(directory):
            raise UnusableDirectoryError(directory)
    return {
        **SMALL,
        **{name: written(value) for name, value in spec.settings.items()},
        PROTOCOL_VERSION: protocol_version(version, written(spec.settings.get(PROTOCOL_VERSION, DEFAULT_PROTOCOL_VERSION))),
        "broker.id": str(spec.broker_id),
        **({} if spec.rack is None else {"broker.rack": spec.rack}),
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        **_advertised(spec.advertised_port),
        "log.dirs": ",".join(map(str, log_dirs)),
        "zookeeper.connect": spec.zookeeper_connect,
    }


def _advertised(port: int | None) -> dict[str, str]:
    return {} if port is None else {"advertised.listeners": f"PLAINTEXT://{HOST}:{port}"}


def protocol_version(version: str, wanted: str) -> str:
    """Return the inter.broker.protocol.version for this Kafka: the wanted one, or its own release if that is older."""
    release = release_of(version)
    return wanted if release >= release_of(wanted) else ".".join(map(str, release))


def written(value: Value) -> str:
    """Return a value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the text of a .properties file that Java reads back as exactly these, sorted by name. ASCII only.

    Source: java.util.Properties, load(InputStream).
    """
    entries = sorted(properties.items())
    return "".join(f"{escaped(name, IN_NAMES)}={escaped(value, IN_VALUES)}\n" for name, value in entries)


def escaped(text: str, special: re.Pattern[str]) -> str:
    """Put a backslash before what the pattern matches, and write control and non-ASCII characters as \\uXXXX."""
    marked = special.sub(lambda found: "\\" + found[0], text)
    return re.sub(r"[^ -~]", lambda found: "".join(f"\\u{unit:04x}" for unit in utf16(found[0])), marked)


def utf16(character: str) -> list[int]:
    """Return the UTF-16 code units of a character, as Java stores it."""
    code = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(code[i : i + 2], "big") for i in range(0, len(code), 2)]
