"""The finalized features of a cluster of protocol version 2.7 and later: who writes /feature, and who reads it.

Source: recordings of Kafka 2.8.2 and 3.9.1, tests/conformance/traces/protocol-2.8 and protocol-3.9, feature-*.json.
"""

import json
from collections.abc import Mapping

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.requests import ApiVersionsRequest, ApiVersionsResponse
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.znodes import paths
from tests.brokers.cluster.environments import (
    SETTINGS,
    WITHIN_MS,
    Settings,
    controller_of,
    find,
    play,
    start_and_elect,
    until_found,
    until_ready,
)

PROTOCOL_VERSION = "inter.broker.protocol.version"
AT_2_8: Settings = {**SETTINGS, PROTOCOL_VERSION: "2.8"}
DISABLED = '{"version":1,"status":0,"features":{"orders.format":{"min_version_level":1,"max_version_level":2}}}'
EMPTY = '{"version":1,"status":1,"features":{}}'
UNSUPPORTED = DISABLED.replace('"status":0', '"status":1')


def content(cluster: Cluster) -> object:
    znode = cluster.state.znodes.get(paths.FEATURE)
    return None if znode is None else json.loads(znode.data or "null")


async def epoch_for_clients(cluster: Cluster, name: str) -> int:
    response = await cluster.broker(name).features.api_versions(ApiVersionsRequest(), 0)
    assert isinstance(response, ApiVersionsResponse)
    return response.finalized_features_epoch


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.6", {"version": 1, "status": 0, "features": {}}),
        ("2.7", {"version": 1, "status": 1, "features": {}}),
        ("3.2", {"version": 1, "status": 1, "features": {}}),
        ("3.3", {"version": 2, "status": 1, "features": {}}),
    ],
)
def test_the_first_controller_creates_the_znode_in_the_format_of_its_version(
    version: str, expected: Mapping[str, object]
) -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        assert content(cluster) == expected
        epochs = {await epoch_for_clients(cluster, name) for name in cluster.broker_names}
        assert epochs == {0 if expected["status"] else -1}

    play(script, settings={**SETTINGS, PROTOCOL_VERSION: version})


def test_a_failover_leaves_an_enabled_znode_as_it_is_and_enables_a_disabled_one_without_its_features() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.znodes.delete(paths.CONTROLLER)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        assert not find(cluster.log, EventKind.ZNODE_CHANGED, path=paths.FEATURE)
        await cluster.znodes.set(paths.FEATURE, DISABLED)
        await cluster.znodes.delete(paths.CONTROLLER)
        await cluster.wait_until(until_ready(cluster, 3), WITHIN_MS)
        assert content(cluster) == json.loads(EMPTY)
        assert await epoch_for_clients(cluster, controller_of(cluster)) == 2

    play(script, settings=AT_2_8)


@pytest.mark.parametrize("version", ["2.8", "3.9"])
def test_only_from_3_3_on_a_failover_changes_the_format(version: str) -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.znodes.set(paths.FEATURE, EMPTY if version == "3.9" else EMPTY.replace('"version":1', '"version":2'))
        await cluster.znodes.delete(paths.CONTROLLER)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        assert content(cluster) == {"version": 2, "status": 1, "features": {}}

    changed = find(
        play(script, settings={**SETTINGS, PROTOCOL_VERSION: version}), EventKind.ZNODE_CHANGED, path=paths.FEATURE
    )
    assert len(changed) == (2 if version == "3.9" else 1)  # the first is by hand


def test_brokers_exit_when_a_feature_is_finalized_that_they_do_not_support_and_do_not_start_again() -> None:
    async def script(cluster: Cluster) -> None:
        await cluster.start(["broker-1"])
        await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
        await cluster.znodes.set(paths.FEATURE, UNSUPPORTED)
        await cluster.wait_until(until_found(cluster.log, EventKind.PROCESS_STATE, state="stopped"), WITHIN_MS)
        with pytest.raises(ClusterError, match=r"orders\.format are not supported"):
            await cluster.start(["broker-1"])
        await cluster.znodes.set(paths.FEATURE, EMPTY)
        await cluster.start(["broker-1"])

    log = play(script, settings=AT_2_8, brokers=1)
    stopped = find(log, EventKind.PROCESS_STATE, state="stopped")[0]
    assert stopped.detail == "it ended by itself: the finalized features orders.format are not supported"
    assert stopped.cause is not None
    read = log.events[stopped.cause]
    assert (read.kind, read.path, read.error) == (EventKind.BAD_ZNODE, paths.FEATURE, "UnsupportedFeaturesError")


def test_with_unreadable_features_brokers_go_on_and_know_of_none() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.znodes.set(paths.FEATURE, "junk")
        read = until_found(cluster.log, EventKind.BAD_ZNODE, at_least=3, path=paths.FEATURE)
        await cluster.wait_until(read, WITHIN_MS)
        assert {await epoch_for_clients(cluster, name) for name in cluster.broker_names} == {-1}
        await cluster.znodes.set(paths.FEATURE, EMPTY)
        changed = until_found(cluster.log, EventKind.WATCH_FIRED, at_least=6, path=paths.FEATURE, event="NodeDataChanged")
        await cluster.wait_until(changed, WITHIN_MS)

    assert not find(play(script, settings=AT_2_8), EventKind.PROCESS_STATE, state="stopped")


def test_after_a_deletion_the_controller_that_creates_the_znode_again_fails_and_the_next_one_takes_over() -> None:
    """No broker watches the deleted znode, and a controller waits until its own broker has read what it has written."""

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.znodes.delete(paths.FEATURE)
        await cluster.znodes.delete(paths.CONTROLLER)
        await cluster.wait_until(until_ready(cluster, 3), WITHIN_MS)

    log = play(script, settings=AT_2_8)
    (failed,) = find(log, EventKind.CONTROLLER_EVENT_FAILED, error="TimedOutError")
    assert "epoch 0 of the finalized features; known is none" in (failed.detail or "")
    assert len(find(log, EventKind.ZNODE_CREATED, path=paths.FEATURE)) == 2
    assert not find(log, EventKind.CONTROLLER_FAILOVER, controller_epoch=2)
