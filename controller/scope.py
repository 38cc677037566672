"""What every component of one controller module works on: its broker's id, its settings, its context and its event sink."""

from dataclasses import dataclass

from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.controller.quarantine import Quarantine
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import BrokerId


@dataclass(frozen=True, slots=True)
class ControllerScope:
    """A controller module's broker, settings, knowledge of the cluster and log, and the znodes that it does not use."""

    broker_id: BrokerId
    config: ControllerConfig
    context: ControllerContext
    sink: EventSink
    quarantine: Quarantine
