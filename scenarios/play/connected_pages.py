"""The pages that show one cluster at present, each with its queue of messages."""

from collections.abc import Callable
from typing import Any

from kcsim.scenarios.play.page_messages import as_json
from kcsim.scenarios.play.page_queue import PageQueue


class ConnectedPages:
    """The pages of one cluster, and the last messages of the kinds that are sent only when they change.

    Args:
        everything: see PageQueue.
    """

    def __init__(self, everything: Callable[[int | None], str]) -> None:
        self._everything = everything
        self._pages: set[PageQueue] = set()
        self._sent: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def connect(self) -> PageQueue:
        """Return the queue of a page that has connected; its first message is everything."""
        page = PageQueue(self._everything)
        self._pages.add(page)
        return page

    def disconnect(self, page: PageQueue) -> None:
        self._pages.discard(page)

    def begin_anew(self) -> None:
        """Send everything to all pages, instead of what waits for them."""
        for page in self._pages:
            page.begin_anew()

    def send(self, message: dict[str, Any]) -> None:
        self.send_text(as_json(message))

    def send_text(self, text: str) -> None:
        """Send a message that is JSON already."""
        for page in self._pages:
            page.put(text)

    def send_if_changed(self, kind: str, value: Any) -> None:
        """Send a message with one value, unless its last one had the same."""
        self.send_text_if_changed(kind, as_json({kind: value}))

    def send_text_if_changed(self, kind: str, text: str) -> None:
        if self._sent.get(kind) != text:
            self._sent[kind] = text
            self.send_text(text)
