"""The new controller dies before and after every single write of its election and failover; the next one completes it.

The writes are those that an undisturbed failover made, not a list kept by hand.
"""

from functools import partial

import pytest

from kcsim.scenarios.cluster import Cluster, Moment
from kcsim.scenarios.history import EventLog
from kcsim.zk.events import EventKind
from tests.worlds import WITHIN_MS, find, play, start_and_elect, until_found, until_ready

NOTIFICATIONS = ("/isr_change_notification/isr_change_", "/log_dir_event_notification/log_dir_event_")
CONTENTS = ('{"version":1,"partitions":[]}', '{"version":1,"broker":1,"event":1}')


async def take_over(cluster: Cluster, crash: tuple[Moment, int] | None) -> None:
    """The controller freezes, notifications pile up, its session expires: broker A takes over and may die, then B does.

    Broker C is frozen meanwhile, so that A is the only one to be elected.
    """
    first = await start_and_elect(cluster)
    a, b = [name for name in cluster.broker_names if name != first]
    await cluster.pause(first)
    for prefix, content in zip(NOTIFICATIONS, CONTENTS, strict=True):
        for _ in range(2):
            await cluster.zk_create(prefix, content, sequential=True)
    await cluster.pause(b)
    if crash is not None:
        moment, nth = crash
        cluster.arm_kill(a, moment, nth=nth)
        await cluster.wait_until(lambda: None if cluster.state.processes[a] == "dead" else f"{a} lives", WITHIN_MS)
    else:
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
    await cluster.resume(b)
    if crash is not None:
        ready = "Ready to serve as the new controller"
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_FAILOVER, node=b, step=ready), WITHIN_MS)


def writes_of_a_takeover(on: str = "simulated") -> list[str]:
    log = play(partial(take_over, crash=None), on=on)
    (won,) = find(log, EventKind.ELECTION_WON, controller_epoch=2)
    began = next(e for e in find(log, EventKind.ELECTION_STARTED, node=won.node) if e.seq == won.cause)
    return [e.path or "" for e in find(log, EventKind.ZK_WRITE, node=won.node) if e.seq > began.seq]


def assert_completed(log: EventLog) -> None:
    """One controller for each epoch, epochs without a gap, and nothing left of what the dead one should have deleted."""
    epochs = [e.controller_epoch for e in find(log, EventKind.ELECTION_WON)]
    changed = [e.data for e in find(log, EventKind.ZNODE_CHANGED, path="/controller_epoch")]
    assert changed == [str(n + 1) for n in range(len(changed))]
    assert len(set(epochs)) == len(epochs)
    created = {e.path for e in find(log, EventKind.ZNODE_CREATED) if (e.path or "").startswith(NOTIFICATIONS)}
    deleted = {e.path for e in find(log, EventKind.ZNODE_DELETED) if (e.path or "").startswith(NOTIFICATIONS)}
    assert len(created) == 4
    assert deleted == created


def test_a_takeover_writes_the_election_and_the_deletion_of_both_kinds_of_notifications() -> None:
    """So the crash points below are not fewer than they should be."""
    paths = writes_of_a_takeover()
    assert paths[0] == "/controller"
    assert {path.split("/")[1] for path in paths[1:]} == {"log_dir_event_notification", "isr_change_notification"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_whatever_write_the_new_controller_dies_at_the_next_one_completes_the_failover(moment: Moment) -> None:
    for nth in range(1, len(writes_of_a_takeover()) + 1):
        assert_completed(play(partial(take_over, crash=(moment, nth))))


@pytest.mark.live
@pytest.mark.parametrize("moment", ["before", "after"])
def test_on_a_real_zookeeper_too_the_winner_may_die_at_its_election(moment: Moment) -> None:
    assert_completed(play(partial(take_over, crash=(moment, 1)), on="embedded"))
