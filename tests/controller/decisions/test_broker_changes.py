"""Brokers that started, stopped or bounced between two reads. Source: docs/kafka/controller.md 6.1; KIP-380."""

from kcsim.controller.decisions.broker_changes import BrokerChanges, diff_brokers
from kcsim.vocabulary import BrokerEpoch, BrokerId

B1, B2, B3 = (BrokerId(n) for n in (1, 2, 3))
E10, E20, E42 = (BrokerEpoch(n) for n in (10, 20, 42))


def test_nothing_changed_is_nothing_to_do() -> None:
    assert not diff_brokers({B1: E10}, {B1: E10})


def test_new_ids_started_and_missing_ids_stopped_each_in_order() -> None:
    assert diff_brokers({B3: E10, B2: E10}, {B1: E20}) == BrokerChanges(started=(B1,), stopped=(B2, B3))


def test_a_bounced_broker_is_reported_once_and_as_bounced() -> None:
    """A new broker epoch under an old id is a restart whose shutdown was not seen."""
    assert diff_brokers({B1: E10}, {B1: E42}) == BrokerChanges(bounced=(B1,))


def test_a_lower_epoch_is_no_bounce() -> None:
    """Kafka requires a greater epoch; a smaller one can only come from an older read."""
    assert not diff_brokers({B1: E42}, {B1: E10})
