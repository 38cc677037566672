"""Requests for metadata: every version, known and unknown topics."""

from typing import Any

from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.frames import API_VERSIONS
from tests.brokers.differential.operations import Recorder
from tests.brokers.differential.record_operations import SMALL, STRICT, TOPIC

FIRST_VERSION_WITHOUT_CREATION = 4
"""Before it, a request for an unknown topic may create it."""


def metadata(names: list[str] | None) -> dict[str, Any]:
    topics = None if names is None else [{"name": name, "topic_id": None} for name in names]
    return {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }


async def metadata_operations(recorder: Recorder) -> None:
    ask = recorder.ask
    for version in range(12):
        for broker in (1, 2):
            name = f"metadata of broker {broker}, version {version}"
            await ask(f"{name}: two topics", broker, METADATA, version, **metadata([TOPIC, STRICT]))
        if version > 0:
            await ask(f"metadata, version {version}: no topics", 1, METADATA, version, **metadata([]))
            await ask(f"metadata, version {version}: all topics", 1, METADATA, version, **metadata(None))
        if version >= FIRST_VERSION_WITHOUT_CREATION:
            await ask(f"metadata, version {version}: an unknown topic", 1, METADATA, version, **metadata([SMALL, "nowhere"]))
    await ask("metadata: a bad name", 1, METADATA, 11, **metadata(["a/b"]))
    await ask("metadata: the same twice", 1, METADATA, 11, **metadata([TOPIC, TOPIC]))


async def version_operations(recorder: Recorder) -> None:
    """Which APIs are listed differs, and is no part of this comparison: see test_apis.py."""
    client = {"client_software_name": "raw", "client_software_version": "1"}
    for version in range(4):
        message = await recorder.client.call(1, API_VERSIONS, version, **client)
        recorder.answers[f"versions, version {version}"] = message.error_code.name
