"""The clusters whose histories can be generated."""

from dataclasses import fields, replace
from typing import Any

import pytest

from kcsim.scenarios.analysis.generating.settings import Settings, SettingsError


def test_the_defaults_are_a_cluster() -> None:
    Settings().check()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"brokers": 0}, "at least one broker"),
        ({"racks": 13}, "12 brokers on 13 racks"),
        ({"racks": 0}, "12 brokers on 0 racks"),
        ({"replication_factor": 0}, "at least 1"),
        ({"replication_factor": 13}, "replication factor 13 is larger than the number of brokers, 12"),
        ({"topics": 0}, "at least one topic"),
        ({"partitions": 0}, "100 topics need at least as many partitions, not 0"),
        ({"partitions": 20_000_000}, "at most"),
        ({"seed": -1}, "seed"),
        ({"batch": "a/b"}, "batch"),
        ({"batch": ""}, "batch"),
        ({"length_ms": 60_000}, "an hour at least"),
        ({"mttr_ms": 5_000}, "mttr"),
        ({"catch_up_ms": 0}, "catch up"),
        ({"isr_flaps_per_day": -1.0}, "flaps"),
        ({"isr_flaps_per_day": float("nan")}, "flaps"),
        ({"unclean": 1.5}, "0 to 1"),
        ({"mtbf_ms": 1_000}, "mtbf"),
        ({"rolling_restart_ms": 1_000}, "rolling_restart"),
    ],
)
def test_what_no_cluster_can_be_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(Settings(), **changed).check()


def test_a_dataset_says_every_setting_that_it_was_made_with() -> None:
    """A reader of the file can generate the dataset again."""
    kept = Settings(seed=7, brokers=5).as_json()
    assert Settings(**{field.name: kept[field.name] for field in fields(Settings)}) == Settings(seed=7, brokers=5)
