"""Several futures of one run: each is kept as it is, and can be gone on with."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.play.played_cluster import MOST_FORKS, PlayedCluster, TooManyForksError
from kcsim.scenarios.play.run_processes import RunProcesses
from tests.scenarios.play.watched_runs import FIRST, SCENARIO, played_cluster


def bytes_of(cluster: PlayedCluster) -> bytes:
    """Return the trace of the future that is shown, up to its present moment."""
    cluster.finish_passing()
    cluster.take()
    return b"".join(part.events for part in cluster.parts)


def test_the_former_future_stays_byte_for_byte_and_goes_on_as_if_nobody_had_gone_back() -> None:
    straight = played_cluster()
    straight.go_on_to(4_000)
    straight.finish_passing()
    straight.act("kill: controller")
    straight.go_on_to(30_000)
    until_30_s = bytes_of(straight)
    straight.go_on_to(60_000)
    until_60_s = bytes_of(straight)
    straight.close()

    cluster = played_cluster()
    cluster.go_on_to(4_000)
    cluster.finish_passing()
    cluster.act("kill: controller")
    cluster.go_on_to(30_000)
    before = bytes_of(cluster)
    cluster.go_back(3_999)
    cluster.finish_passing()
    cluster.act("pause: controller")
    cluster.go_on_to(20_000)
    other = bytes_of(cluster)
    cluster.switch(0)
    assert bytes_of(cluster) == before == until_30_s
    cluster.go_on_to(60_000)
    assert bytes_of(cluster) == until_60_s
    cluster.switch(1)
    assert bytes_of(cluster) == other
    cluster.close()


def test_time_passes_to_a_moment_also_right_after_an_act() -> None:
    """The run has not reported yet that it has done the act."""
    cluster = played_cluster()
    cluster.go_on_to(4_000)
    cluster.finish_passing()
    cluster.act("kill: broker-1")
    cluster.go_on_to(30_000)
    cluster.finish_passing()
    cluster.take()
    assert EventKind.SESSION_CLOSED in [event.kind for event in cluster.events if event.t_ms > 4_000]
    cluster.close()


def test_a_future_begun_at_a_snapshot_is_the_one_begun_at_the_beginning() -> None:
    """A snapshot is taken after so much work that the run below has some."""
    cluster = played_cluster()
    cluster.go_on_to(600_000)
    whole = bytes_of(cluster)
    cluster.go_back(450_000)
    cluster.finish_passing()
    cluster.go_on_to(600_000)
    assert bytes_of(cluster) == whole
    cluster.close()


def test_a_future_begun_at_a_snapshot_has_none_of_the_acts_that_were_still_to_come_there() -> None:
    """There are snapshots from before the topic is created, which is planned already."""
    processes = RunProcesses(snapshot_every_s=0)
    cluster = PlayedCluster(SCENARIO, 1, FIRST, processes)
    cluster.go_on_to(3_000)
    whole = bytes_of(cluster)
    assert b'"create-topic"' in whole
    cluster.go_back(500)
    cluster.go_on_to(3_000)
    assert b'"create-topic"' not in bytes_of(cluster)
    cluster.close()
    processes.close()


def test_a_future_in_which_nothing_was_done_is_not_kept() -> None:
    cluster = played_cluster()
    cluster.go_on_to(3_000)
    for to_ms in (2_000, 1_000):
        cluster.go_back(to_ms)
    assert [(fork.name, fork.origin, fork.from_ms) for fork in cluster.forks.values()] == [("A", None, 0), ("B", 0, 1_000)]
    cluster.switch(0)
    assert [fork.name for fork in cluster.forks.values()] == ["A"]
    cluster.close()


def test_there_is_a_limit_to_how_many_futures_are_kept() -> None:
    cluster = played_cluster()
    cluster.go_on_to(1_000)
    cluster.finish_passing()
    for _ in range(MOST_FORKS - 1):
        cluster.go_back(0)
        cluster.act("kill: broker-1")
    with pytest.raises(TooManyForksError):
        cluster.go_back(0)
    cluster.forget(3)
    cluster.go_back(0)
    assert cluster.fork.name == "D"
    with pytest.raises(ValueError, match="not forgotten"):
        cluster.forget(cluster.fork.number)
    cluster.close()
