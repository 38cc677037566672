"""The timetable steps about consumers."""

from typing import Unpack

from kcsim.scenarios.language.consumer_types import ConsumerNames
from kcsim.scenarios.language.python_keywords import Names, ScenarioPart, TimingKeywords
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.value_types import Duration


class PlainConsumersStep(ScenarioStep):
    """A step done to consumers, without options of its own."""

    @classmethod
    def part(cls, consumers: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(consumers, timing)


class StartConsumersStep(PlainConsumersStep):
    """Start consumers, all at once; they find their group's coordinator and join."""

    start_consumers: ConsumerNames


class StopConsumersStep(PlainConsumersStep):
    """Let consumers close: they commit, and leave their group unless they are static members."""

    stop_consumers: ConsumerNames


class CrashConsumersStep(PlainConsumersStep):
    """Kill consumers, as SIGKILL does: their group misses them when their sessions are over."""

    crash_consumers: ConsumerNames


class PauseConsumersStep(PlainConsumersStep):
    """Freeze consumers, as a long garbage collection does."""

    pause_consumers: ConsumerNames


class ResumeConsumersStep(PlainConsumersStep):
    """Let frozen consumers go on."""

    resume_consumers: ConsumerNames


class StallConsumersStep(ScenarioStep):
    """Let the consumers' applications be busy for a while: they do not poll, but their clients send heartbeats."""

    stall_consumers: ConsumerNames
    for_: Duration

    @classmethod
    def part(cls, consumers: Names, for_: str, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(consumers, timing, for_=for_)


CONSUMER_STEPS = (
    StartConsumersStep,
    StopConsumersStep,
    CrashConsumersStep,
    PauseConsumersStep,
    ResumeConsumersStep,
    StallConsumersStep,
)
