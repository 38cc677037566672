"""The division of a history into portions, and the length of a history with a given number of events."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kcsim.scenarios.analysis.generating.generated_cluster import GeneratedClusterMaker
from kcsim.scenarios.analysis.generating.portions import expected_rows, length_for, portions_of, rows_of_partitions
from kcsim.scenarios.analysis.generating.settings import Settings, SettingsError
from tests.scenarios.analysis.generating.histories import FRAIL, ROUGH, made

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("partitions", "rows", "files"), [(10, 10, 1), (1_000, 2_000_000, 10), (100_000, 100_000_000, 125), (3, 10**9, 3)]
)
def test_every_partition_is_in_one_portion(partitions: int, rows: int, files: int) -> None:
    portions = portions_of(partitions, rows)
    assert [index for portion in portions for index in portion] == list(range(partitions))
    assert len(portions) == files


@pytest.mark.parametrize("count", [1, 3, 8])
def test_events_do_not_depend_on_how_the_work_is_divided(count: int) -> None:
    """Events do not depend on the process either: every partition has a stream of random numbers of its own."""
    generated, partitions = made(ROUGH).generated, ROUGH.partitions
    portions = [range(a, b) for a, b in pairwise(partitions * i // count for i in range(count + 1))]
    backwards = [[r for rows in rows_of_partitions(generated, portion) for r in rows] for portion in reversed(portions)]
    assert [row for portion in reversed(backwards) for row in portion] == list(made(ROUGH).rows)


def test_the_same_settings_make_the_same_history_and_another_seed_another() -> None:
    again, other = GeneratedClusterMaker(FRAIL), GeneratedClusterMaker(replace(FRAIL, seed=5))
    assert list(again.events()) == list(made(FRAIL).of_cluster)
    assert list(other.events()) != list(made(FRAIL).of_cluster)


def test_a_sample_predicts_about_how_many_events_there_will_be() -> None:
    assert expected_rows(made(ROUGH).generated) == pytest.approx(len(made(ROUGH).rows), rel=0.25)


def test_a_history_of_so_many_events_is_about_as_long_as_it_must_be() -> None:
    settings = Settings(brokers=6, topics=5, partitions=20, isr_flaps_per_day=5.0)
    length_ms = length_for(settings, 8_000)
    events = made(replace(settings, length_ms=length_ms)).events
    assert len(events) == pytest.approx(8_000, rel=0.2)


def test_too_few_events_for_a_cluster_are_refused() -> None:
    with pytest.raises(SettingsError, match="50 events are too few: 3000 come with the creation of 1000 partitions"):
        length_for(Settings(), 50)


@pytest.mark.slow
def test_another_process_with_other_hashes_makes_the_same_history() -> None:
    program = (
        "import hashlib\n"
        "from tests.scenarios.analysis.generating.histories import FRAIL, made\n"
        "print(hashlib.sha256(repr(made(FRAIL).events).encode()).hexdigest())"
    )
    other = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", program], env=other, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hashlib.sha256(repr(made(FRAIL).events).encode()).hexdigest()
