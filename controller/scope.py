"""What every component of one controller module works on: its settings, its context and its event sink."""

from dataclasses import dataclass

from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.eventlog.sink import EventSink


@dataclass(frozen=True, slots=True)
class ControllerScope:
    """The settings of a controller module, what it knows of the cluster, and where it logs events."""

    config: ControllerConfig
    context: ControllerContext
    sink: EventSink
