"""What a timetable can do to consumers."""

from kcsim.scenarios.language.consumer_words import ConsumerNames
from kcsim.scenarios.language.step import Step
from kcsim.scenarios.language.words import Duration


class StartConsumers(Step):
    """Start consumers, all at once; they find their group's coordinator and join."""

    start_consumers: ConsumerNames


class StopConsumers(Step):
    """Let consumers close: they commit, and leave their group unless they are static members."""

    stop_consumers: ConsumerNames


class CrashConsumers(Step):
    """Kill consumers, as SIGKILL does: their group misses them when their sessions are over."""

    crash_consumers: ConsumerNames


class PauseConsumers(Step):
    """Freeze consumers, as a long garbage collection does."""

    pause_consumers: ConsumerNames


class ResumeConsumers(Step):
    """Let frozen consumers go on."""

    resume_consumers: ConsumerNames


class StallConsumers(Step):
    """Let the consumers' applications be busy for a while: they do not poll, but their clients send heartbeats."""

    stall_consumers: ConsumerNames
    for_: Duration


ConsumerStep = StartConsumers | StopConsumers | CrashConsumers | PauseConsumers | ResumeConsumers | StallConsumers
CONSUMER_VERBS = (
    *("start-consumers", "stop-consumers", "crash-consumers", "pause-consumers", "resume-consumers", "stall-consumers"),
)
