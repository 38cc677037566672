"""Differences between what Kafka's releases write at the same inter.broker.protocol.version.

The simulator has no release: it writes what the protocol version decides.

A comparison with a later Kafka names them, and keeps them apart from all other differences. In one with a Kafka that does
not have them, they are differences like any other.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kcsim.zk.capture.write_comparison.content import json_of
from kcsim.zk.capture.write_comparison.writes import ZnodeWrite
from kcsim.znodes import paths

Release = tuple[int, int]
"""The first two numbers of a version of Kafka."""

CONTROLLER_VERSION_2 = "controller-version-2"


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """One difference.

    Attributes:
        since: the first release that writes the znode in the later form.
        path: the znode.
        earlier: returns the JSON object of the znode as earlier releases write it; None if it is not in the later form.
        words: the difference, for people.
    """

    since: Release
    path: str
    earlier: Callable[[Mapping[str, object]], Mapping[str, object] | None]
    words: str


def _controller_version_1(value: Mapping[str, object]) -> Mapping[str, object] | None:
    if value.get("version") != 2 or "kraftControllerEpoch" not in value:
        return None
    return {**{key: item for key, item in value.items() if key != "kraftControllerEpoch"}, "version": 1}


VERSION_DIFFERENCES: Mapping[str, VersionDifference] = {
    CONTROLLER_VERSION_2: VersionDifference(
        (3, 4),
        paths.CONTROLLER,
        _controller_version_1,
        "/controller has version 2, with kraftControllerEpoch, whatever inter.broker.protocol.version is (KIP-866)",
    ),
}
"""Name of the difference -> its description."""


def of_release(release: Release | None) -> Mapping[str, VersionDifference]:
    """Return the differences that a comparison with a Kafka of this release meets; none if the release is unknown."""
    return {name: each for name, each in VERSION_DIFFERENCES.items() if release is not None and release >= each.since}


def earlier_data(difference: VersionDifference, data: str | None) -> str | None:
    """Return a znode's data as earlier releases write it; the same data if it is not in the later form."""
    value = json_of(data)
    earlier = difference.earlier(value) if isinstance(value, dict) else None
    return data if earlier is None else json.dumps(earlier)


def earlier_write(difference: VersionDifference, write: ZnodeWrite) -> ZnodeWrite:
    """Return a write with its data as earlier releases write it."""
    return replace(write, data=earlier_data(difference, write.data))
