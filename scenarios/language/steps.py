"""The steps of a timetable: each has one verb with its targets, and a time."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, Unpack

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, GetPydanticSchema, Tag, model_validator

from kcsim.scenarios.language.broker_settings import KafkaRelease, Settings
from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.consumer_steps import CONSUMER_STEPS
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.network_steps import NETWORK_STEPS
from kcsim.scenarios.language.python_keywords import (
    ConditionKeywords,
    MidWriteStepKeywords,
    Names,
    NamingStepKeywords,
    ScenarioPart,
    TimingKeywords,
    given,
    hyphenate_keys,
)
from kcsim.scenarios.language.step import TIMING, NamingStep, PlainBrokersStep, ScenarioStep
from kcsim.scenarios.language.topic_steps import TOPIC_STEPS
from kcsim.scenarios.language.topic_types import ALL_PARTITIONS, Partitions
from kcsim.scenarios.language.value_types import BrokerNames, Duration, MemberNames, validation_error
from kcsim.scenarios.language.workload_steps import WORKLOAD_STEPS
from kcsim.scenarios.language.znode_types import ZnodePath, ZnodeText
from kcsim.text import comma_separated, did_you_mean, suggestion

ROLLING_RESTART_WITHIN_MS = 60_000


CHANGED_SETTINGS = "Changes of their server.properties, which stay for later starts."
NEW_RELEASE = "The release of Kafka that they have from now on."


class StartStep(ScenarioStep):
    """Start brokers, all at once."""

    start: BrokerNames
    settings: Settings = Field(default_factory=dict, description=CHANGED_SETTINGS)
    release: KafkaRelease | None = Field(None, description=NEW_RELEASE)

    @classmethod
    def part(
        cls,
        who: Names,
        settings: ScenarioPart | None = None,
        release: str | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part(who, timing, settings=settings, release=release)


class StopStep(PlainBrokersStep):
    """Stop brokers in order, as SIGTERM does."""

    other_words = ("shutdown", "shut-down", "terminate")

    stop: BrokerNames


class RestartStep(NamingStep):
    """Restart brokers one after the other: stop each in order, as SIGTERM does, and start it again."""

    other_words = ("bounce", "reboot")

    restart: BrokerNames
    settings: Settings = Field(default_factory=dict, description=CHANGED_SETTINGS)
    release: KafkaRelease | None = Field(None, description=NEW_RELEASE)

    @classmethod
    def part(
        cls,
        who: Names,
        settings: ScenarioPart | None = None,
        release: str | None = None,
        **timing: Unpack[NamingStepKeywords],
    ) -> ScenarioPart:
        return cls._part(who, timing, settings=settings, release=release)


class RollingRestartStep(ScenarioStep):
    """Restart brokers one after the other, and wait each time until all replicas are in sync that were before."""

    rolling_restart: BrokerNames
    within: Duration = Field(
        ROLLING_RESTART_WITHIN_MS, description="How long the replicas may take to be in sync, for each broker."
    )
    settings: Settings = Field(default_factory=dict, description=CHANGED_SETTINGS)
    release: KafkaRelease | None = Field(None, description=NEW_RELEASE)

    @classmethod
    def part(
        cls,
        who: Names,
        within: str | None = None,
        settings: ScenarioPart | None = None,
        release: str | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part(who, timing, within=within, settings=settings, release=release)


class MidWriteStep(NamingStep):
    """A fault that can wait until its broker is in the middle of a write to ZooKeeper; the timetable goes on meanwhile."""

    at_write: Literal["before", "after"] | None = Field(
        None, description="Wait for the broker's next write to ZooKeeper: before it is sent, or after it was applied."
    )
    path: ZnodePath | None = Field(None, description="Only a write to this znode or below it counts.")
    nth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="The number of the write to wait for, if not the first one."
    )

    @classmethod
    def part(cls, who: Names, **timing: Unpack[MidWriteStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing)

    @model_validator(mode="after")
    def _of_a_write(self) -> "MidWriteStep":
        for key in ("path", "nth"):
            if self.at_write is None and getattr(self, key) is not None:
                raise validation_error(f"{key} goes with at-write", key)
        return self


class KillStep(MidWriteStep):
    """Kill brokers, as SIGKILL does: their sessions are left to expire."""

    other_words = ("crash", "sigkill")

    kill: BrokerNames


class PauseStep(MidWriteStep):
    """Freeze brokers, as a long garbage collection does."""

    other_words = ("freeze", "suspend")

    pause: BrokerNames
    for_: Duration | None = Field(
        None, description="How long they stay frozen, while the timetable goes on; until `resume` if not given."
    )

    @classmethod
    def part(cls, who: Names, for_: str | None = None, **timing: Unpack[MidWriteStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing, for_=for_)


class ResumeStep(PlainBrokersStep):
    """Let frozen brokers go on."""

    other_words = ("unpause", "thaw")

    resume: BrokerNames


class ExpireStep(PlainBrokersStep):
    """Let ZooKeeper end the brokers' sessions although they live."""

    expire: BrokerNames


class DisconnectStep(NamingStep):
    """Cut brokers off from ZooKeeper, for a while or until `reconnect`; their sessions are not closed."""

    disconnect: BrokerNames
    for_: Duration | None = None

    @classmethod
    def part(cls, who: Names, for_: str | None = None, **timing: Unpack[NamingStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing, for_=for_)


class ReconnectStep(PlainBrokersStep):
    """Let brokers reach ZooKeeper again."""

    reconnect: BrokerNames


class SlowFollowerStep(NamingStep):
    """Let brokers replicate slowly, as from a tired disk, or as fast as they can again."""

    slow_follower: BrokerNames
    rate: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Records per second at most, from all leaders together; unlimited if not given."
    )

    @classmethod
    def part(cls, who: Names, rate: int | None = None, **timing: Unpack[NamingStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing, rate=rate)


class FailLogDirStep(NamingStep):
    """Let a broker lose a log directory, with all the replicas in it or with some."""

    fail_log_dir: BrokerNames
    partitions: Partitions = Field(
        ALL_PARTITIONS, description="The replicas in that log directory; all of the broker's if not given."
    )

    @classmethod
    def part(cls, who: Names, partitions: Names | None = None, **timing: Unpack[NamingStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing, partitions=partitions)


class ServerVerb(Model):
    """What is done to servers of ZooKeeper: exactly one of these."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    kill: MemberNames | None = None
    start: MemberNames | None = None
    pause: MemberNames | None = None
    resume: MemberNames | None = None

    @model_validator(mode="after")
    def _one_verb(self) -> "ServerVerb":
        if len(self.model_fields_set) != 1:
            raise validation_error("one of kill, start, pause, resume is done to ZooKeeper's servers in one step")
        return self

    @property
    def verb(self) -> str:
        return next(iter(self.model_fields_set))

    @property
    def names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, self.verb)
        return names


class ServersStep(NamingStep):
    """Do something to servers of ZooKeeper."""

    zookeeper: ServerVerb

    @classmethod
    def part(cls, verb: str, who: Names, **timing: Unpack[NamingStepKeywords]) -> ScenarioPart:
        return cls._part({verb: who}, timing)


class NewZnode(Model):
    path: ZnodePath
    data: ZnodeText = Field(None, description="Text, or a mapping or list that is written as JSON.")
    ephemeral: bool = False
    sequential: bool = False


class ZnodeData(Model):
    path: ZnodePath
    data: ZnodeText = Field(description="Text, or a mapping or list that is written as JSON.")


class ZkCreateStep(ScenarioStep):
    """Create a znode by hand."""

    zk_create: NewZnode

    @classmethod
    def part(
        cls,
        path: str,
        data: Any = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part(given(path=path, data=data, ephemeral=ephemeral or None, sequential=sequential or None), timing)


class RecreatedZnode(Model):
    path: ZnodePath
    data: ZnodeText = Field(None, description="Text, or a mapping or list that is written as JSON.")
    ephemeral: bool = False


class ZkRecreateStep(ScenarioStep):
    """Delete a znode and create it again by hand, in one transaction: nobody can create it in between."""

    zk_recreate: RecreatedZnode

    @classmethod
    def part(cls, path: str, data: Any = None, *, ephemeral: bool = False, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(given(path=path, data=data, ephemeral=ephemeral or None), timing)


class ZkSetStep(ScenarioStep):
    """Overwrite a znode by hand."""

    zk_set: ZnodeData

    @classmethod
    def part(cls, path: str, data: Any, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part({"path": path, "data": data}, timing)


class ZkDeleteStep(ScenarioStep):
    """Delete a znode by hand."""

    zk_delete: ZnodePath

    @classmethod
    def part(cls, path: str, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(path, timing)


class WaitStep(ScenarioStep):
    """Go on when something is true; give up when it has not become so in time."""

    wait: WaitFor
    within: Duration | None = Field(None, description="The time in which it must come true; the same as in the condition.")

    @property
    def within_ms(self) -> int:
        """The time in which the condition must come true."""
        return self.wait.within if self.within is None else self.within

    @model_validator(mode="after")
    def _one_bound(self) -> "WaitStep":
        if self.within is not None and "within" in self.wait.model_fields_set:
            raise validation_error("within is there twice, here and in the condition", "within")
        return self

    @classmethod
    def part(
        cls, *, at: str | None = None, after: str | None = None, if_possible: bool = False, **true: Unpack[ConditionKeywords]
    ) -> ScenarioPart:
        return cls._part(hyphenate_keys(true), {}, if_possible=if_possible or None, at=at, after=after)


STEPS: tuple[type[ScenarioStep], ...] = (
    *(StartStep, StopStep, RestartStep, RollingRestartStep, KillStep, PauseStep, ResumeStep, ExpireStep),
    *(DisconnectStep, ReconnectStep, SlowFollowerStep, FailLogDirStep, ServersStep),
    *NETWORK_STEPS,
    *TOPIC_STEPS,
    *WORKLOAD_STEPS,
    *CONSUMER_STEPS,
    *(ZkCreateStep, ZkRecreateStep, ZkSetStep, ZkDeleteStep, WaitStep),
)
"""All steps. What a step does, and how it is undone and described, stands in engine/steps/."""
VERBS = tuple(step.verb() for step in STEPS)
"""The verbs of all steps: the key that identifies a step."""


VERB_HINTS: Mapping[str, str] = {
    **{word: suggestion(step.verb()) for step in STEPS for word in step.other_words},
    **dict.fromkeys(("isolate", "cut"), "; partition is between brokers, disconnect is from ZooKeeper"),
    **dict.fromkeys(("sleep", "delay"), "; to let time pass, write `after: 5s` at the step that comes then"),
    **dict.fromkeys(("expect", "assert", "check"), "; go on when something is true with wait, or put it into expect:"),
}
"""Verbs of other tools -> the hint to this language's verb."""


def verb_of(value: object) -> str | None:
    """Return the verb of a step, or of a value that should be a step; None if it has none."""
    if isinstance(value, ScenarioStep):
        return value.verb()
    return next((verb for verb in VERBS if isinstance(value, dict) and verb in value), None)


def _one_verb(value: object) -> object:
    if isinstance(value, ScenarioStep):
        return value
    if not isinstance(value, dict):
        raise validation_error(
            f"{value!r} is no step{_step_meant(value) or '; write a verb and its target, as - kill: broker-1'}"
        )
    verbs = [verb for verb in VERBS if verb in value]
    if len(verbs) > 1:
        raise validation_error(
            f"a step does one thing, this one has {' and '.join(verbs)}; write two steps, each with a -", verbs[1]
        )
    if not verbs:
        key = next((key for key in value if key not in TIMING), None)
        near = VERB_HINTS.get(str(key)) or did_you_mean(key, VERBS) or f"; verbs are {comma_separated(VERBS)}"
        raise validation_error(f"unknown verb {key!r}{near}", key)
    return value


def _step_meant(value: object) -> str:
    found = re.fullmatch(r"([a-z-]+):?\s*(.*)", value) if isinstance(value, str) else None
    return suggestion(f"- {found[1]}: {found[2] or 'broker-1'}") if found and found[1] in VERBS else ""


_ANY_STEP: Any = Annotated[
    Union[tuple(Annotated[step, Tag(f"<{step.verb()}>")] for step in STEPS)],  # noqa: UP007  # from a tuple
    Discriminator(lambda value: f"<{verb_of(value)}>"),
    BeforeValidator(_one_verb),
]
# For the type checker any step; for pydantic the class in STEPS whose verb the step has.
TimetableStep = Annotated[ScenarioStep, GetPydanticSchema(lambda _, handler: handler.generate_schema(_ANY_STEP))]
