"""The events of the controller and the tables over them."""

from typing import Any, get_args

import pytest

from kcsim.controller.events import AllocateProducerIds, ControllerEvent, ControllerState, state_of


@pytest.mark.parametrize("event", get_args(ControllerEvent))
def test_every_event_has_a_controller_state(event: type[ControllerEvent]) -> None:
    """The event thread sets the metric ControllerState from this table before it processes an event.

    Only AllocateProducerIds leaves it at Idle. Source: Kafka 3.9, KafkaController.
    """
    values: list[Any] = [None] * len(event.__struct_fields__)
    assert (state_of(event(*values)) is ControllerState.IDLE) == (event is AllocateProducerIds)
