"""A scenario as data: a cluster, a timetable of what is done to it, and what is expected of it.

The models are the specification of the file format: the loader (scenario_file.py) and the published JSON Schema follow from
them. Keys are written with hyphens, an unknown one is an error. Judging is done in conditions.py, running in runner.py.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from kcsim.brokers.config import INT_SETTINGS, KAFKA_NAMES
from kcsim.scenarios.event_pattern import Pattern
from kcsim.scenarios.words import (
    Alias,
    BrokerNames,
    ControllerIs,
    Duration,
    JsonValue,
    KnownNames,
    MemberNames,
    ZnodePath,
    ZnodeText,
    did_you_mean,
    listed,
    wrong,
)

DEFAULT_WITHIN_MS = 15_000
MAX_BROKERS = 1_000


def _hyphenated(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


class Model(BaseModel):
    """Frozen, strict, with a hint for each unknown key; a key without a value is an error."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", alias_generator=_hyphenated, validate_by_alias=True, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _report_unknown_keys(cls, value: object, info: ValidationInfo) -> object:
        # pydantic would report these as well, but cannot know which word was meant.
        report = info.context.report if isinstance(info.context, KnownNames) else None
        if not isinstance(value, dict) or report is None:
            return value
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        for key, item in value.items():
            if key in keys and item is None and key != "data":
                report(value, key, f"{key} has no value")
            elif key not in keys:
                report(value, key, f"unknown key {key!r}{did_you_mean(key, keys) or f'; known are {listed(keys)}'}")
        return {key: item for key, item in value.items() if key in keys}


# --- the cluster -----------------------------------------------------------------------------------------------------------


def _settings(value: object) -> dict[str, str | int]:
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no mapping of Kafka's settings")
    for name, given in value.items():
        if name not in KAFKA_NAMES:
            raise wrong(f"unknown setting {name!r}{did_you_mean(name, KAFKA_NAMES)}", name)
        is_number = isinstance(given, int) and not isinstance(given, bool)
        if name in INT_SETTINGS and not (is_number and given > 0):
            raise wrong(f"{given!r} is no value of {name}, which is a whole number above 0", name)
        if name not in INT_SETTINGS and not isinstance(given, str):
            raise wrong(f"{given!r} is no value of {name}, which is text", name)
    return dict(value)


def _setting_schema(name: str) -> dict[str, Any]:
    return {"type": "integer", "exclusiveMinimum": 0} if name in INT_SETTINGS else {"type": "string"}


Settings = Annotated[
    Mapping[str, str | int],
    PlainValidator(_settings),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: _setting_schema(name) for name in KAFKA_NAMES},
            "additionalProperties": False,
        }
    ),
]


class BrokerItem(Model):
    """One broker, with its id and rack."""

    id: Annotated[int, Field(ge=0)]
    rack: Annotated[str, Field(min_length=1)] | None = None


Brokers = Annotated[
    Annotated[int, Field(ge=1, le=MAX_BROKERS), Tag("<number>")]
    | Annotated[list[BrokerItem], Field(min_length=1), Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<number>"),
]


class ClusterModel(Model):
    """The brokers and their settings."""

    brokers: Brokers = Field(description="How many (ids 1..n), or a list of {id, rack}.")
    racks: Annotated[int, Field(ge=1)] | None = Field(None, description="Spread the brokers over rack-1.. in turn.")
    settings: Settings = Field(default_factory=dict, description="Kafka's dotted names; the same for every broker.")

    @model_validator(mode="after")
    def _check(self) -> "ClusterModel":
        if isinstance(self.brokers, list):
            ids = [broker.id for broker in self.brokers]
            if twice := [i for place, i in enumerate(ids) if i in ids[:place]]:
                raise wrong(f"broker id {twice[0]} is given twice", "brokers")
            if self.racks is not None:
                raise wrong("racks goes with a number of brokers; in a list each has its own rack", "racks")
        return self

    def members(self) -> list[BrokerItem]:
        """Every broker with its rack."""
        if isinstance(self.brokers, list):
            return self.brokers
        rack_of = (lambda i: f"rack-{i % self.racks + 1}") if self.racks else (lambda _: None)
        return [BrokerItem(id=number, rack=rack_of(number - 1)) for number in range(1, self.brokers + 1)]


class ZooKeeperModel(Model):
    """The ZooKeeper that the scenario wants, where it is ours to choose."""

    members: Literal[1, 3, 5] = Field(1, description="One server, or an ensemble.")
    tick_time: Duration = Field(200, description="ZooKeeper's tickTime; sessions last between 2 and 20 ticks.")


# --- conditions ------------------------------------------------------------------------------------------------------------


class ZnodeIs(Model):
    """A znode as it should be. `data` is a subset: of a JSON object the given keys, else the text itself."""

    path: ZnodePath
    exists: bool = True
    data: JsonValue = None
    children: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> "ZnodeIs":
        if not self.exists and (self.data is not None or self.children is not None):
            raise wrong("a znode that does not exist has neither data nor children", "exists")
        return self


class EventCount(Model):
    """How often an event must have happened."""

    of: Pattern
    at_least: Annotated[int, Field(ge=0)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None
    exactly: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> "EventCount":
        if self.at_least is self.at_most is self.exactly is None:
            raise wrong("say how often: exactly, at-least or at-most")
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise wrong("exactly leaves nothing for at-least or at-most to say", "exactly")
        return self


class Condition(Model):
    """What can be true of a cluster. Everything said must hold, at the same moment."""

    controller: ControllerIs | None = Field(None, description="Who holds /controller: a broker, any, none, not NAME.")
    controller_epoch: Annotated[int, Field(ge=0)] | None = Field(None, description="The number in /controller_epoch.")
    controller_epochs: Annotated[list[int], Field(min_length=1)] | None = Field(
        None, description="The epochs of all elections won so far, in order, and no others."
    )
    registered: BrokerNames | None = Field(None, description="These are in /brokers/ids.")
    unregistered: BrokerNames | None = Field(None, description="These are not in /brokers/ids.")
    re_registered: BrokerNames | None = Field(None, description="Registered, under a higher broker epoch than at first.")
    running: BrokerNames | None = Field(None, description="Their processes run.")
    paused: BrokerNames | None = Field(None, description="Their processes are frozen.")
    stopped: BrokerNames | None = Field(None, description="Their processes have ended in order.")
    dead: BrokerNames | None = Field(None, description="Their processes were killed.")
    session_expired: BrokerNames | None = Field(None, description="ZooKeeper has expired a session of each of these.")
    znode: ZnodeIs | None = Field(None, description="A znode's existence, data or number of children.")
    event: Pattern | None = Field(None, description="This has happened.")
    no_event: Pattern | None = Field(None, description="This has not happened.")
    events: EventCount | None = Field(None, description="This has happened so and so often.")
    order: Annotated[list[Pattern], Field(min_length=2)] | None = Field(
        None, description="These have happened, one after the other (with others in between)."
    )

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        if not any(True for _ in self.parts()):
            raise wrong(f"nothing to hold; say one of {', '.join(map(_hyphenated, Condition.model_fields))}")
        return self

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield what is said: (field, value)."""
        for name in Condition.model_fields:
            if (value := getattr(self, name)) is not None:
                yield name, value


def _says_something(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [_hyphenated(name)]} for name in Condition.model_fields]


class WaitFor(Condition):
    """A condition to wait for, bounded."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    within: Duration = DEFAULT_WITHIN_MS


class Expectation(Condition):
    """A condition judged when the timetable is done, on all that happened."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    claim: Annotated[str, Field(min_length=1)] | None = Field(None, description="The expectation in a sentence.")
    within: Duration | None = Field(None, description="It may still come true so long after the timetable is done.")


# --- steps -----------------------------------------------------------------------------------------------------------------


class Step(Model):
    """Something done, as soon as the step before it is done unless `at` or `after` says otherwise."""

    at: Duration | None = Field(None, description="Not before so long after the timetable began.")
    after: Duration | None = Field(None, description="So long after the step before was done.")

    @model_validator(mode="after")
    def _one_time(self) -> "Step":
        if self.at is not None and self.after is not None:
            raise wrong("a step is timed by at or by after, not by both", "after")
        return self


class NamingStep(Step):
    """A step done to one broker or server, which can be given a name for later."""

    as_: Alias | None = Field(None, description="Call whoever it was by this name from now on.")


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


AnyStep = (
    Start | Stop | Kill | Pause | Resume | Expire | Disconnect | Reconnect | Servers | ZkCreate | ZkSet | ZkDelete | Wait
)
VERBS = (
    *("start", "stop", "kill", "pause", "resume", "expire", "disconnect", "reconnect"),
    *("zookeeper", "zk-create", "zk-set", "zk-delete", "wait"),
)
"""What a step can do; the key by which it is told from other steps."""


def verb_of(value: object) -> str | None:
    """The verb of a step as it stands in a file; None if it has none."""
    return next((verb for verb in VERBS if isinstance(value, dict) and verb in value), None)


def verb_of_step(step: Step) -> str:
    """The verb of a step."""
    return next(key for name in type(step).model_fields if (key := _hyphenated(name)) in VERBS)


def _one_verb(value: object) -> object:
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no step; write a verb and to whom, as - kill: broker-1")
    verbs = [verb for verb in VERBS if verb in value]
    if len(verbs) > 1:
        raise wrong(f"a step does one thing, this one has {' and '.join(verbs)}; write two steps", verbs[1])
    if not verbs:
        key = next((key for key in value if key not in ("at", "after", "as")), None)
        raise wrong(f"unknown verb {key!r}{did_you_mean(key, VERBS) or f'; verbs are {listed(VERBS)}'}", key)
    return value


TimetableStep = Annotated[
    Annotated[Start, Tag("<start>")]
    | Annotated[Stop, Tag("<stop>")]
    | Annotated[Kill, Tag("<kill>")]
    | Annotated[Pause, Tag("<pause>")]
    | Annotated[Resume, Tag("<resume>")]
    | Annotated[Expire, Tag("<expire>")]
    | Annotated[Disconnect, Tag("<disconnect>")]
    | Annotated[Reconnect, Tag("<reconnect>")]
    | Annotated[Servers, Tag("<zookeeper>")]
    | Annotated[ZkCreate, Tag("<zk-create>")]
    | Annotated[ZkSet, Tag("<zk-set>")]
    | Annotated[ZkDelete, Tag("<zk-delete>")]
    | Annotated[Wait, Tag("<wait>")],
    Discriminator(lambda value: f"<{verb_of(value)}>"),
    BeforeValidator(_one_verb),
]

# --- the whole -------------------------------------------------------------------------------------------------------------


class Scenario(Model):
    """A scenario file."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    description: Annotated[str, Field(min_length=1)]
    cluster: ClusterModel
    zookeeper: ZooKeeperModel = Field(default_factory=lambda: ZooKeeperModel.model_validate({}))
    timetable: Annotated[list[TimetableStep], Field(min_length=1)]
    expect: Annotated[list[Expectation], Field(min_length=1)]

    @property
    def faults_servers(self) -> bool:
        """Whether it does something to ZooKeeper's servers, which only servers of our own allow."""
        return any(isinstance(step, Servers) for step in self.timetable)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file.

    It says all that the loader checks, except what needs the rest of the file: that brokers, servers and names given with
    `as` exist, and that no id, name or verb stands twice.
    """
    schema: dict[str, Any] = _without_null(Scenario.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "kcsim scenario"}


def _without_null(schema: Any) -> Any:
    """None is how the models say "not given"; in a file it is not a value."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(item) for key, item in schema.items() if not (key == "default" and item is None)}
    return {**kept.pop("anyOf")[0], **kept} if len(kept.get("anyOf", ())) == 1 else kept
