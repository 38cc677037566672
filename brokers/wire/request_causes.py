"""The events that requests over TCP follow from: Kafka's protocol does not carry them, so they are kept beside it.

Sender and recipient of a request are in one process, and have one event log.
"""


class RequestCauses:
    """By connection, the cause of the request that is under way."""

    def __init__(self) -> None:
        self._under_way: dict[str, int] = {}

    def sent(self, client: str, cause: int) -> None:
        """A request was sent. Args: client: host and port of the sender's end of the connection."""
        self._under_way[client] = cause

    def of(self, client: str) -> int | None:
        """Return the cause of a request that has arrived; None: it is not from this process. Args: client: as above."""
        return self._under_way.get(client)

    def closed(self, client: str) -> None:
        """A connection was closed at the sender's end."""
        self._under_way.pop(client, None)
