"""The benchmark of simulated clusters, on clusters small enough for a test: the benchmark checks what it measures."""

import pytest

from tests.bench.simulated import LARGE_PARTITIONS, REPLICATION_FACTOR, Growth, growth, large_partitions, lose_rack


def test_a_failure_costs_events_and_transitions_and_everything_is_whole_again() -> None:
    measured = growth(6, 60)
    assert measured.partitions == 60
    # A broker hosts half of the partitions and leads a sixth: its death removes it from these ISRs, and its return adds it
    # again.
    assert measured.transitions >= 2 * 60 * REPLICATION_FACTOR // 6
    assert measured.events > measured.transitions
    assert "60 partitions" in measured.describe(None)


def test_growth_is_described_against_the_row_above() -> None:
    small = Growth(1_000, 1.0, quiet_s=1.0, failure_s=2.0, events=100, transitions=50, peak_gib=0.1)
    large = Growth(10_000, 9.0, quiet_s=3.0, failure_s=11.0, events=1_000, transitions=500, peak_gib=0.2)
    assert "events 10.0 x, time 5.5 x" in large.describe(small)


def test_a_cluster_survives_the_loss_of_a_rack(capsys: pytest.CaptureFixture[str]) -> None:
    """Afterwards every partition has a live leader: otherwise the benchmark raises."""
    lose_rack(6, 60)
    output = capsys.readouterr().out
    assert "60 partitions on 6 brokers in 3 racks" in output
    assert "2 brokers die, all partitions led" in output


def test_the_largest_cluster_can_be_asked_to_be_smaller() -> None:
    assert large_partitions(None) == LARGE_PARTITIONS
    assert large_partitions("30500") == 30_000


@pytest.mark.parametrize("asked", ["many", "-5", "10"])
def test_what_is_no_number_of_partitions_is_refused(asked: str) -> None:
    with pytest.raises(SystemExit, match=f"simulated={asked}: it is a number of partitions, 1000 at least"):
        large_partitions(asked)
