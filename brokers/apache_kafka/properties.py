"""The server.properties of a real broker: who it is, what was asked for, and few threads, so that four fit on a laptop."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kcsim.brokers.apache_kafka.errors import OwnSettingError, UnusableDirectoryError
from kcsim.brokers.apache_kafka.installation import Release, release_of

HOST = "127.0.0.1"

PROTOCOL_VERSION = "2.6"
"""Of all this project compares itself with: from 2.7 on, ISR changes would go through the controller."""
PROTOCOL_SINCE: Release = (2, 6)

# Nothing here makes a difference to what the controller decides.
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
"""Settings that each broker is given here, in other words or in the same."""

Value = str | int | bool

IN_NAMES, IN_VALUES = re.compile(r"[\\:=#! ]"), re.compile(r"^ |\\")
"""What has a meaning there; of a value's spaces only the first one would be lost."""


def server_properties(
    broker_id: int,
    rack: str | None,
    settings: Mapping[str, Value],
    port: int,
    log_dirs: Sequence[Path],
    zookeeper_connect: str,
    version: str,
) -> dict[str, str]:
    """Return the settings of one broker, by Kafka's dotted names.

    Args:
        settings: these win over the choices of ours; none of OWN.
        port: of 127.0.0.1, for a plain-text listener.
        zookeeper_connect: host:port,…/chroot.
        version: of the Kafka that is to read them, as 2.8.2.

    Raises: OwnSettingError, UnusableDirectoryError.
    """
    if given := sorted(OWN & settings.keys()):
        raise OwnSettingError(given)
    for directory in log_dirs:
        if "," in str(directory):
            raise UnusableDirectoryError(directory)
    return {
        **SMALL,
        "inter.broker.protocol.version": protocol_version(version),
        **{name: written(value) for name, value in settings.items()},
        "broker.id": str(broker_id),
        **({} if rack is None else {"broker.rack": rack}),
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.dirs": ",".join(map(str, log_dirs)),
        "zookeeper.connect": zookeeper_connect,
    }


def protocol_version(version: str) -> str:
    """The inter.broker.protocol.version for this Kafka: 2.6, or its own if it is older."""
    release = release_of(version)
    return PROTOCOL_VERSION if release >= PROTOCOL_SINCE else ".".join(map(str, release))


def written(value: Value) -> str:
    """A value as Kafka spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the text of a .properties file that Java reads back as exactly these, sorted by name. ASCII only.

    Source: java.util.Properties, load(InputStream).
    """
    entries = sorted(properties.items())
    return "".join(f"{escaped(name, IN_NAMES)}={escaped(value, IN_VALUES)}\n" for name, value in entries)


def escaped(text: str, special: re.Pattern[str]) -> str:
    """Put a backslash before what the pattern matches, and spell control characters and what is not ASCII as \\uXXXX."""
    marked = special.sub(lambda found: "\\" + found[0], text)
    return re.sub(r"[^ -~]", lambda found: "".join(f"\\u{unit:04x}" for unit in utf16(found[0])), marked)


def utf16(character: str) -> list[int]:
    """The code units that Java has for a character."""
    code = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(code[i : i + 2], "big") for i in range(0, len(code), 2)]
