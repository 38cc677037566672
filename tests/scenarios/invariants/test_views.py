"""What brokers may go on believing once all is quiet, as in Kafka nobody tells them better."""

from pathlib import Path

from kcsim.scenarios.exploring.playing import play
from kcsim.scenarios.language.scenario_file import load_scenario
from kcsim.zk.events import EventKind
from tests.scenarios.files import written
from tests.scenarios.invariants.planted import UNTIL_QUIET, with_orders

A_BROKER_WITHOUT_REPLICAS_DIES = f"""\
  - kill: broker-3
  - wait: {{leader: {{orders-0: none}}}}
  - kill: broker-2
{UNTIL_QUIET}"""


def test_nobody_is_told_of_the_death_of_a_broker_without_replicas_while_a_partition_has_no_leader(tmp_path: Path) -> None:
    """KAFKA-13225: the request that would say so is sent only where no partition waits for a leader."""
    played = play(load_scenario(written(tmp_path, with_orders(A_BROKER_WITHOUT_REPLICAS_DIES, topic="{0: [3]}"))), 1)
    change = max(event.seq for event in played.events if event.kind is EventKind.BROKER_CHANGE)

    told = [event for event in played.events[change:] if event.kind is EventKind.REQUEST_SENT]

    assert (played.found, told) == ((), [])
