"""State diagrams made from the tables that the code runs on, as Mermaid text and as SVG."""

from kcsim.scenarios.views.diagrams.machines import MACHINES, StateMachine, UnknownMachineError, machine
from kcsim.scenarios.views.diagrams.mermaid import mermaid
from kcsim.scenarios.views.diagrams.svg import svg

__all__ = ["MACHINES", "StateMachine", "UnknownMachineError", "machine", "mermaid", "svg"]
