"""A small cluster to play with, and runs of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.paced_run import PacedRun

SCENARIO = Scenario.model_validate(
    {
        "name": "three",
        "description": "Three brokers and a topic.",
        "cluster": {"brokers": 3, "topics": {"orders": {"partitions": 2, "replication-factor": 3}}},
        "timetable": [{"start": "all"}],
    }
)
FIRST = (Act(0, "start: all"), Act(1_000, "create-topic: orders"))
PATIENCE_S = 300.0


@dataclass
class Watched:
    """A paced run, and what came of it."""

    acts: Sequence[Act] = FIRST
    events: list[Event] = field(default_factory=list)
    refused: list[tuple[Act, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = PacedRun(SCENARIO, 1, self.acts, self.events.append, lambda act, why: self.refused.append((act, why)))
        self.run.start()

    def until(self, limit_ms: int) -> None:
        self.run.allow_until(limit_ms)
        assert self.run.wait_until_reached(PATIENCE_S)
