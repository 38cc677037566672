"""Znodes written by hand."""

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.events import ZNODE_CHANGES, EventKind
from tests.brokers.cluster.environments import FAST_TWINS, play


@pytest.mark.parametrize("on", FAST_TWINS)
def test_a_write_is_in_the_event_log_before_its_reply(on: str) -> None:
    """What others then do, and what is judged next, comes after it in the log."""
    seen = []

    async def script(cluster: Cluster) -> None:
        for write in (
            cluster.znodes.create("/by-hand", "1"),
            cluster.znodes.set("/by-hand", "2"),
            cluster.znodes.delete("/by-hand"),
        ):
            await write
            seen.append([(e.kind, e.data) for e in cluster.log.events if e.kind in ZNODE_CHANGES and e.path == "/by-hand"])

    play(script, on=on, brokers=1)
    made, changed, deleted = (EventKind.ZNODE_CREATED, "1"), (EventKind.ZNODE_CHANGED, "2"), (EventKind.ZNODE_DELETED, None)
    assert seen == [[made], [made, changed], [made, changed, deleted]]
