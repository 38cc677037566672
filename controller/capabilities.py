"""What inter.broker.protocol.version decides: each difference between versions is one capability, with a name.

A cluster has a capability if its protocol version is that of the capability or a later one, and if no scenario switches the
capability off (protections.py has the switches: those of capabilities have `since`).

Source: Kafka 2.8 and 3.9, ApiVersion and MetadataVersion.
"""

from functools import cache
from typing import NamedTuple

from kcsim.controller.protections import PROTECTIONS, Protections

PROTOCOL_VERSIONS = ("2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
"""The values of inter.broker.protocol.version that are known, the oldest first."""
DEFAULT_PROTOCOL_VERSION = "2.6"


class Capabilities(NamedTuple):
    """The capabilities of one broker. Each field is a capability's name with underscores."""

    alter_isr: bool


@cache
def capabilities_of(protocol_version: str, protections: Protections) -> Capabilities:
    """Return what a broker with this inter.broker.protocol.version can do.

    Raises: ValueError for an unknown version.
    """
    reached = PROTOCOL_VERSIONS.index(protocol_version)
    return Capabilities(
        **{name: getattr(protections, name) and PROTOCOL_VERSIONS.index(since) <= reached for name, since in _SINCE.items()}
    )


_SINCE = {p.name.replace("-", "_"): p.since for p in PROTECTIONS if p.since is not None}
