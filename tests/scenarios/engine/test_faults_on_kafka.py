"""Kafka's known bugs, shown by brokers of a real Apache Kafka: each scenario passes when its bug shows.

All were seen on 2.8.2; these are quick ones, of three kinds. `kcsim run NAME --brokers kafka` shows any other.
"""

import json

import pytest

from kcsim.scenarios.engine import differential_run
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome
from tests.requirements import require
from tests.scenarios.cli.live_cluster import kcsim

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _kafka() -> None:
    require("java", "kafka")


@pytest.mark.parametrize(
    "name",
    [
        "fault-elections-without-end",
        "fault-own-id-in-controller",
        pytest.param("fault-reassigned-without-state", marks=pytest.mark.nightly),
    ],
)
def test_a_fault_of_kafkas_own_shows_on_kafka(name: str) -> None:
    run = kcsim("run", name, "--brokers", "kafka", "--output", "json")

    assert run.exit_code == 0, run.output
    assert {judged["outcome"] for judged in json.loads(run.stdout)["expectations"]} == {ExpectationOutcome.HELD}


@pytest.mark.nightly
def test_what_goes_on_without_end_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both runs wait until ZooKeeper is quiet before the next step, and it never is."""
    monkeypatch.setattr(differential_run, "QUIET_MS", 5_000)  # a busy machine may write nothing for longer than 1.5 s
    monkeypatch.setattr(differential_run, "QUIET_WITHIN_MS", 20_000)

    compared = kcsim("compare", "fault-elections-without-end")

    assert compared.exit_code == 2, compared.output
    assert "what goes on without end cannot be compared write by write" in compared.output
