"""What the server of pages needs of a cluster, simulated or in real time."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from kcsim.scenarios.play.connected_pages import ConnectedPages
from kcsim.scenarios.play.page_queue import PageQueue

STORY_EVERY_S = 1.0
"""How often pages are sent the story of a cluster in which something happens all the time."""


class UnknownRequestError(Exception):
    """A message asks for what no page of ours asks for."""


class ServedCluster(Protocol):
    """A cluster with its pages."""

    @property
    def pages(self) -> ConnectedPages:
        """The pages that show it now."""
        ...

    @property
    def below(self) -> Mapping[str, "ServedCluster"]:
        """The clusters that were started from its pages, by the last part of their addresses."""
        ...

    def page(self, connects_to: str) -> str:
        """Return the page, as HTML. Args: connects_to: the origin of its websocket: ws://127.0.0.1:8000."""
        ...

    async def answer(self, wanted: Mapping[str, Any], page: PageQueue) -> None:
        """Do what a page asks for. Raises: UnknownRequestError."""
        ...

    def pass_time(self, real_ms: float) -> None:
        """Be called again and again. Args: real_ms: how much time has passed since the last call."""
        ...


NOTHING_BELOW: Mapping[str, ServedCluster] = MappingProxyType({})
"""Of a cluster from whose pages no others can be started."""
