"""Random timetables on mixed clusters: nothing acknowledged is lost, and all replicas are equal.

`python -m tests.brokers.mixed 0..49` plays the same, and prints what was done.
"""

import pytest

from kcsim.brokers.apache_kafka.installation import FETCHED, find_kafka
from tests.brokers.mixed.play import play
from tests.brokers.mixed.timetable import draw_timetable
from tests.requirements import require
from tests.tiers import chosen

pytestmark = [pytest.mark.kafka, pytest.mark.live]

SEEDS = range(50)
SHORT = 12
"""The seed with the fewest processes and steps."""


@pytest.mark.parametrize("seed", chosen(SEEDS, fast=(), slow=(SHORT,)))
def test_nothing_acknowledged_is_lost_and_all_replicas_are_equal(seed: int) -> None:
    timetable = draw_timetable(seed)
    require("java", "kafka", *(["kafka-3.9.1"] if timetable.kafka.version == "3.9.1" else []))
    played = play(timetable, find_kafka(FETCHED.with_name(timetable.kafka.version)))
    assert played.acknowledged
    assert played.problems == []
