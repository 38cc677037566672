"""What a timetable can do: each step is one verb, to whom, and when."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from kcsim.scenarios.language.claims import WaitFor
from kcsim.scenarios.language.consumer_steps import (
    CONSUMER_VERBS,
    ConsumerStep,
    CrashConsumers,
    PauseConsumers,
    ResumeConsumers,
    StallConsumers,
    StartConsumers,
    StopConsumers,
)
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.network_steps import (
    NETWORK_VERBS,
    BreakConnections,
    Heal,
    LossyLink,
    NetworkStep,
    Partition,
    SlowLink,
)
from kcsim.scenarios.language.step import TIMING, NamingStep, Step
from kcsim.scenarios.language.topic_steps import (
    TOPIC_VERBS,
    AddPartitions,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    ElectPreferred,
    ElectUnclean,
    FailLogDir,
    Reassign,
    SetConfig,
    TopicStep,
)
from kcsim.scenarios.language.words import BrokerNames, Duration, MemberNames, did_you_mean, listed, meant, wrong
from kcsim.scenarios.language.workload_steps import WORKLOAD_VERBS, Produce, StartWorkload, StopWorkload, WorkloadStep
from kcsim.scenarios.language.znode_words import ZnodePath, ZnodeText


class Start(Step):
    """Start brokers, all at once."""

    start: BrokerNames


class Stop(NamingStep):
    """Stop brokers in order, as SIGTERM does."""

    stop: BrokerNames


class MidWriteStep(NamingStep):
    """A fault that can wait until its broker is in the middle of a write to ZooKeeper; the timetable goes on meanwhile."""

    at_write: Literal["before", "after"] | None = Field(
        None, description="Strike when it comes to a write to ZooKeeper: before it is sent, or after it was applied."
    )
    path: ZnodePath | None = Field(None, description="Only a write to this znode or below it counts.")
    nth: Annotated[int, Field(ge=1)] | None = Field(None, description="Not at the first such write, but at a later one.")

    @model_validator(mode="after")
    def _of_a_write(self) -> "MidWriteStep":
        for key in ("path", "nth"):
            if self.at_write is None and getattr(self, key) is not None:
                raise wrong(f"{key} goes with at-write", key)
        return self


class Kill(MidWriteStep):
    """Kill brokers, as SIGKILL does: their sessions are left to expire."""

    kill: BrokerNames


class Pause(MidWriteStep):
    """Freeze brokers, as a long garbage collection does."""

    pause: BrokerNames


class Resume(NamingStep):
    """Let frozen brokers go on."""

    resume: BrokerNames


class Expire(NamingStep):
    """Let ZooKeeper end the brokers' sessions although they live."""

    expire: BrokerNames


class Disconnect(NamingStep):
    """Cut brokers off from ZooKeeper, for a while or until `reconnect`; their sessions are not closed."""

    disconnect: BrokerNames
    for_: Duration | None = None


class Reconnect(NamingStep):
    """Let brokers reach ZooKeeper again."""

    reconnect: BrokerNames


class SlowFollower(NamingStep):
    """Let brokers replicate slowly, as from a tired disk, or as fast as they can again."""

    slow_follower: BrokerNames
    rate: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Records per second at most, from all leaders together; as fast as it goes if not given."
    )


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
            raise wrong("one of kill, start, pause, resume is done to ZooKeeper's servers in one step")
        return self

    @property
    def verb(self) -> str:
        return next(iter(self.model_fields_set))

    @property
    def names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, self.verb)
        return names


class Servers(NamingStep):
    """Do something to servers of ZooKeeper."""

    zookeeper: ServerVerb


class NewZnode(Model):
    path: ZnodePath
    data: ZnodeText = Field(None, description="Text, or a mapping or list that is written as JSON.")
    ephemeral: bool = False
    sequential: bool = False


class ZnodeData(Model):
    path: ZnodePath
    data: ZnodeText = Field(description="Text, or a mapping or list that is written as JSON.")


class ZkCreate(Step):
    """Create a znode by hand."""

    zk_create: NewZnode


class ZkSet(Step):
    """Overwrite a znode by hand."""

    zk_set: ZnodeData


class ZkDelete(Step):
    """Delete a znode by hand."""

    zk_delete: ZnodePath


class Wait(Step):
    """Go on when something is true; give up when it has not become so in time."""

    wait: WaitFor


BrokerStep = Start | Stop | Kill | Pause | Resume | Expire | Disconnect | Reconnect | SlowFollower | FailLogDir
AnyStep = BrokerStep | NetworkStep | TopicStep | WorkloadStep | ConsumerStep | Servers | ZkCreate | ZkSet | ZkDelete | Wait
VERBS = (
    *("start", "stop", "kill", "pause", "resume", "expire", "disconnect", "reconnect"),
    *("slow-follower", "fail-log-dir", "zookeeper"),
    *NETWORK_VERBS,
    *TOPIC_VERBS,
    *WORKLOAD_VERBS,
    *CONSUMER_VERBS,
    *("zk-create", "zk-set", "zk-delete", "wait"),
)
"""What a step can do; the key by which it is told from other steps."""


SAID_OTHERWISE: Mapping[str, str] = {
    **dict.fromkeys(("crash", "sigkill"), meant("kill")),
    **dict.fromkeys(("shutdown", "shut-down", "terminate"), meant("stop")),
    **dict.fromkeys(("freeze", "suspend"), meant("pause")),
    **dict.fromkeys(("unpause", "thaw"), meant("resume")),
    **dict.fromkeys(("restart", "bounce"), "; write two steps, stop (or kill) and start"),
    **dict.fromkeys(("isolate", "cut"), "; partition is between brokers, disconnect is from ZooKeeper"),
    **dict.fromkeys(("sleep", "delay"), "; to let time pass, write `after: 5s` at the step that comes then"),
    **dict.fromkeys(("expect", "assert", "check"), "; go on when something is true with wait, or put it into expect:"),
}
"""Words that people know from elsewhere -> what is said here instead."""


def verb_of(value: object) -> str | None:
    """The verb of a step, or of what should be one; None if it has none."""
    if isinstance(value, Step):
        return verb_of_step(value)
    return next((verb for verb in VERBS if isinstance(value, dict) and verb in value), None)


def verb_of_step(step: Step) -> str:
    """The verb of a step."""
    return next(key for name in type(step).model_fields if (key := hyphenated(name)) in VERBS)


def _one_verb(value: object) -> object:
    if isinstance(value, Step):
        return value
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no step{_step_meant(value) or '; write a verb and to whom, as - kill: broker-1'}")
    verbs = [verb for verb in VERBS if verb in value]
    if len(verbs) > 1:
        raise wrong(f"a step does one thing, this one has {' and '.join(verbs)}; write two steps, each with a -", verbs[1])
    if not verbs:
        key = next((key for key in value if key not in TIMING), None)
        near = SAID_OTHERWISE.get(str(key)) or did_you_mean(key, VERBS) or f"; verbs are {listed(VERBS)}"
        raise wrong(f"unknown verb {key!r}{near}", key)
    return value


def _step_meant(value: object) -> str:
    found = re.fullmatch(r"([a-z-]+):?\s*(.*)", value) if isinstance(value, str) else None
    return meant(f"- {found[1]}: {found[2] or 'broker-1'}") if found and found[1] in VERBS else ""


TimetableStep = Annotated[
    Annotated[Start, Tag("<start>")]
    | Annotated[Stop, Tag("<stop>")]
    | Annotated[Kill, Tag("<kill>")]
    | Annotated[Pause, Tag("<pause>")]
    | Annotated[Resume, Tag("<resume>")]
    | Annotated[Expire, Tag("<expire>")]
    | Annotated[Disconnect, Tag("<disconnect>")]
    | Annotated[Reconnect, Tag("<reconnect>")]
    | Annotated[SlowFollower, Tag("<slow-follower>")]
    | Annotated[FailLogDir, Tag("<fail-log-dir>")]
    | Annotated[Partition, Tag("<partition>")]
    | Annotated[SlowLink, Tag("<slow-link>")]
    | Annotated[LossyLink, Tag("<lossy-link>")]
    | Annotated[BreakConnections, Tag("<break-connections>")]
    | Annotated[Heal, Tag("<heal>")]
    | Annotated[Servers, Tag("<zookeeper>")]
    | Annotated[CreateTopic, Tag("<create-topic>")]
    | Annotated[DeleteTopic, Tag("<delete-topic>")]
    | Annotated[AddPartitions, Tag("<add-partitions>")]
    | Annotated[Reassign, Tag("<reassign>")]
    | Annotated[CancelReassignment, Tag("<cancel-reassignment>")]
    | Annotated[ElectPreferred, Tag("<elect-preferred>")]
    | Annotated[ElectUnclean, Tag("<elect-unclean>")]
    | Annotated[SetConfig, Tag("<set-config>")]
    | Annotated[Produce, Tag("<produce>")]
    | Annotated[StartWorkload, Tag("<start-workload>")]
    | Annotated[StopWorkload, Tag("<stop-workload>")]
    | Annotated[ZkCreate, Tag("<zk-create>")]
    | Annotated[ZkSet, Tag("<zk-set>")]
    | Annotated[ZkDelete, Tag("<zk-delete>")]
    | Annotated[StartConsumers, Tag("<start-consumers>")]
    | Annotated[StopConsumers, Tag("<stop-consumers>")]
    | Annotated[CrashConsumers, Tag("<crash-consumers>")]
    | Annotated[PauseConsumers, Tag("<pause-consumers>")]
    | Annotated[ResumeConsumers, Tag("<resume-consumers>")]
    | Annotated[StallConsumers, Tag("<stall-consumers>")]
    | Annotated[Wait, Tag("<wait>")],
    Discriminator(lambda value: f"<{verb_of(value)}>"),
    BeforeValidator(_one_verb),
]
