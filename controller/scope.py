"""What every component of one controller module works on: its broker's id, its settings, its context and its event sink."""

from dataclasses import dataclass

from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import BrokerId


@dataclass(frozen=True, slots=True)
class ControllerScope:
    """The broker of a controller module, its settings, what it knows of the cluster, and where it logs events."""

    broker_id: BrokerId
    config: ControllerConfig
    context: ControllerContext
    sink: EventSink
