"""What the protocol version decides: six scenarios of the library, each at 2.6, 2.8 and 3.9, on ours and on real brokers.

The table of docs/how-to/protocol-versions.md is made from the same runs (`kcsim compare NAME --protocol-version …`).
"""

from collections.abc import Mapping

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice
from kcsim.scenarios.engine.differential_run import run_differential, run_ours_alone
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.run_source import with_settings
from kcsim.scenarios.language.scenario_file import LoadedScenario
from tests.requirements import KAFKA_3_9_1, require
from tests.scenarios.scenario_library import of_library

VERSIONS = ("2.6", "2.8", "3.9")
ALWAYS, SINCE_2_7, SINCE_3, BEFORE_3_2 = "yes yes yes", "no yes yes", "no no yes", "yes yes no"
SIX_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "controller-frozen-under-producers": (ALWAYS, ALWAYS, SINCE_2_7, SINCE_2_7, ALWAYS),
    "isr-shrinks-without-zookeeper": (ALWAYS, SINCE_2_7, SINCE_3),
    "leader-cut-off-from-controller": (ALWAYS, ALWAYS, SINCE_2_7, SINCE_2_7, ALWAYS),
    "zookeeper-quorum-lost-under-producers": (ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS),
    "unclean-election-loses-counted-records": (ALWAYS, ALWAYS, BEFORE_3_2, ALWAYS),
    "topic-recreated-while-a-broker-was-away": (ALWAYS, SINCE_3, SINCE_3, SINCE_3),
}
"""Scenario -> at which of VERSIONS each of its claims holds."""


def at_version(name: str, version: str) -> LoadedScenario:
    return with_settings(of_library(name), {PROTOCOL_VERSION: version})


def held(verdict: Verdict) -> list[str | None]:
    """Return whether each claim held, `yes` or `no`; None if it cannot be observed."""
    assert verdict.failure is None
    words = {ExpectationOutcome.HELD: "yes", ExpectationOutcome.VIOLATED: "no", ExpectationOutcome.NOT_OBSERVABLE: None}
    return [words[judged.outcome] for judged in verdict.results if judged.invariant is None]


def expected(name: str, version: str) -> list[str]:
    return [answers.split()[VERSIONS.index(version)] for answers in SIX_QUESTIONS[name]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SIX_QUESTIONS)
def test_ours_answers_at_each_version(name: str, version: str) -> None:
    loaded = at_version(name, version)
    choice = zookeeper_choice("simulated", loaded.scenario.zookeeper.members)
    assert held(run_ours_alone(loaded, choice, seed=1)) == expected(name, version)


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("controller-frozen-under-producers", "2.8", marks=pytest.mark.nightly),
        ("unclean-election-loses-counted-records", "3.9"),
    ],
)
def test_kafka_answers_as_ours(name: str, version: str) -> None:
    """What a machine that is busy may change, such as the time of a JVM's start, no claim depends on."""
    require("java", "kafka", *(("kafka-3.9.1",) if version == "3.9" else ()))
    kafka = find_kafka(KAFKA_3_9_1 if version == "3.9" else None)
    embedded, simulated = ZooKeeperChoice.parse("embedded"), ZooKeeperChoice.parse("simulated")
    both = run_differential(at_version(name, version), kafka, embedded, simulated, seed=1)
    wanted = expected(name, version)
    assert held(both.ours.verdict) == wanted
    assert [
        mine if theirs is None else theirs for theirs, mine in zip(held(both.kafka.verdict), wanted, strict=True)
    ] == wanted
    assert list(both.differences) == []
