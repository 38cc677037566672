"""What every component of one controller module works on: its settings, its context and its event sink."""

from dataclasses import dataclass

from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.controller.quarantine import Quarantine
from kcsim.eventlog.sink import EventSink


@dataclass(frozen=True, slots=True)
class ControllerScope:
    """The settings of a controller module, what it knows of the cluster, its log, and the znodes that it does not use."""

    config: ControllerConfig
    context: ControllerContext
    sink: EventSink
    quarantine: Quarantine
