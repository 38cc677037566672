"""What a broker's port reports about its clients: connections that it closes, and records that were acknowledged."""

from typing import Any

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.record_batches import header_of
from kcsim.brokers.requests import ACKS_NONE, ProduceResponse
from kcsim.brokers.wire.apis.records import records_in
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink


class ClientObserver:
    """The observer of one broker's port.

    Args:
        cause: the cause of its events.
        records: receives the acknowledged records.
    """

    def __init__(self, sink: EventSink, cause: int, records: AcknowledgedRecords) -> None:
        self._sink = sink
        self._cause = cause
        self._records = records

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it. Args: client: host and port."""
        self._sink.emit(EventKind.CLIENT_CONNECTION_CLOSED, self._cause, target=client, detail=why)

    def answered(self, frame: RequestFrame, response: Any) -> None:
        """The response to a request was written to its connection."""
        if not isinstance(response, ProduceResponse) or frame.message.acks == ACKS_NONE:
            return
        for tp, records in records_in(frame):
            result = response.results.get(tp)
            if result is not None and result.error is ErrorCode.NONE:
                count = header_of(records).record_count
                self._records.acknowledge(tp, result.leader_epoch, result.base_offset, count)
