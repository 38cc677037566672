"""The frames of a broker's responses, as a port makes them."""

from typing import Any

from kcsim.brokers.wire.apis.registry import answer_frame, packed_response, response_values
from kcsim.brokers.wire.frames import RequestFrame


def response_frame(response: Any, frame: RequestFrame) -> bytes | None:
    """Return the frame of the broker's response to the request in a frame; None: the client expects no answer.

    Raises: ConnectionRefusedByApiError.
    """
    packed = packed_response(response, frame)
    if packed is not None:
        return packed
    values = response_values(response, frame)
    return None if values is None else answer_frame(values, frame)
