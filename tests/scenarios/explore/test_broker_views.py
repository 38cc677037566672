"""Outdated views that brokers may keep when all is quiet, because in Kafka no request corrects them."""

from pathlib import Path

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.brokers.invariants.controller_bugs import nobody_is_notified_of_a_broker_that_dies
from tests.brokers.invariants.planted import UNTIL_QUIET, with_orders
from tests.scenarios.scenario_files import written

A_BROKER_WITHOUT_REPLICAS_DIES = f"""\
  - kill: broker-3
  - wait: {{leader: {{orders-0: none}}}}
  - kill: broker-2
{UNTIL_QUIET}"""


@pytest.mark.parametrize(("version", "notified"), [("3.0", []), ("3.1", ["UpdateMetadata"])])
def test_until_3_0_no_broker_is_notified_of_the_death_of_a_broker_without_replicas_while_a_partition_has_no_leader(
    version: str, notified: list[str], tmp_path: Path
) -> None:
    """KAFKA-13225: the request that would notify the broker is sent only where no partition waits for a leader."""
    steps = with_orders(A_BROKER_WITHOUT_REPLICAS_DIES, topic="{0: [3]}", inter_broker_protocol_version=version)
    played = simulate(load_scenario(written(tmp_path, steps)), 1)
    change = max(event.seq for event in played.events if event.kind is EventKind.BROKER_CHANGE)

    sent = [event.event for event in played.events[change:] if event.kind is EventKind.REQUEST_SENT]

    assert (played.failures, sent) == ((), notified)


@pytest.mark.parametrize(("version", "violated"), [("3.0", set()), ("3.1", {"no-dead-broker-is-left-in-the-metadata"})])
def test_from_3_1_on_brokers_must_know_of_that_death(version: str, violated: set[str], tmp_path: Path) -> None:
    """The same metadata are allowed under a controller of Kafka 3.0, and violate an invariant under one of 3.1."""
    steps = with_orders(A_BROKER_WITHOUT_REPLICAS_DIES, topic="{0: [3]}", inter_broker_protocol_version=version)
    with nobody_is_notified_of_a_broker_that_dies():
        played = simulate(load_scenario(written(tmp_path, steps)), 1)
    assert {failure.invariant for failure in played.failures} == violated
