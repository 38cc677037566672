"""The timetable steps about the network between brokers, and between brokers and clients.

ZooKeeper is not on this network: `disconnect` cuts a broker off from ZooKeeper.
"""

from typing import Any, Unpack

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.network_types import (
    AllOrLinks,
    InjectableRequest,
    KafkaError,
    LinkSelector,
    NodeNames,
    Probability,
    RequestName,
    one_pair,
)
from kcsim.scenarios.language.python_keywords import (
    LinkKeywords,
    Names,
    ScenarioPart,
    TimingKeywords,
    given,
    hyphenate_keys,
)
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.value_types import ALL, Duration, validation_error


class CutLinks(LinkSelector):
    """The links that are cut."""

    refuse: bool = Field(
        False, description="The sender gets an error at once; otherwise what it sends vanishes without notice."
    )


class NetworkPartitionStep(ScenarioStep):
    """Let nothing pass on some links, for a while or until `heal`. Open connections stall, new ones cannot be made."""

    partition: CutLinks
    for_: Duration | None = None

    @classmethod
    def part(
        cls, links: LinkKeywords, *, refuse: bool = False, for_: str | None = None, **timing: Unpack[TimingKeywords]
    ) -> ScenarioPart:
        return cls._part({**hyphenate_keys(links), **given(refuse=refuse or None)}, timing, for_=for_)


def _slow(schema: dict[str, Any]) -> None:
    one_pair(schema)
    schema["anyOf"] = [{"required": ["delay"]}, {"required": ["bytes-per-second"]}]


class SlowLinks(LinkSelector):
    """The links that are slow, and how slow."""

    model_config = ConfigDict(json_schema_extra=_slow)

    delay: Duration = Field(0, description="The additional delay of every request and response.")
    jitter: Duration = Field(
        0, description="The delay varies by up to this time in both directions, drawn evenly for each request."
    )

    bytes_per_second: int | None = Field(
        None,
        ge=1,
        description="What passes on each connection at most. In one process, only those of Kafka's own clients carry bytes.",
    )

    @model_validator(mode="after")
    def _says_how_slow(self) -> "SlowLinks":
        if "delay" not in self.model_fields_set and self.bytes_per_second is None:
            raise validation_error("write how slow the link is: delay, bytes-per-second or both")
        return self

    @model_validator(mode="after")
    def _arrives_after_it_was_sent(self) -> "SlowLinks":
        if self.jitter > self.delay:
            raise validation_error(f"a delay of {self.delay} ms cannot vary by {self.jitter} ms", "jitter")
        return self


class SlowLinkStep(ScenarioStep):
    """Let everything take longer on some links, for a while or until `heal`. The latest that is said of a link counts."""

    slow_link: SlowLinks
    for_: Duration | None = None

    @classmethod
    def part(
        cls,
        links: LinkKeywords,
        *,
        delay: str | None = None,
        jitter: str | None = None,
        bytes_per_second: int | None = None,
        for_: str | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        how = given(delay=delay, jitter=jitter, bytes_per_second=bytes_per_second)
        return cls._part({**hyphenate_keys(links), **how}, timing, for_=for_)


def _lossy(schema: dict[str, Any]) -> None:
    one_pair(schema)
    schema["anyOf"] = [{"required": ["loss"]}, {"required": ["break"]}]


class LossyLinks(LinkSelector):
    """The links that lose or break, and how often."""

    model_config = ConfigDict(json_schema_extra=_lossy)

    loss: Probability | None = Field(
        None, description="The share of requests and responses that are lost; each is sent again, so it arrives late."
    )
    break_: Probability | None = Field(
        None,
        description="The share of requests whose connection breaks between delivery and response; they are sent again.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> "LossyLinks":
        if self.loss is self.break_ is None:
            raise validation_error("write how lossy the link is: loss, break or both, in percent")
        return self


class LossyLinkStep(ScenarioStep):
    """Let some links lose what is sent, or break, by chance, for a while or until `heal`."""

    lossy_link: LossyLinks
    for_: Duration | None = None

    @classmethod
    def part(
        cls,
        links: LinkKeywords,
        *,
        loss: str | None = None,
        break_: str | None = None,
        for_: str | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part({**hyphenate_keys(links), **given(loss=loss, break_=break_)}, timing, for_=for_)


class BrokenConnections(LinkSelector):
    """The links whose connections are broken."""

    once_delivered: RequestName | None = Field(
        None, description="Wait for the delivery of the next request of this type, and break only its connection."
    )
    let_through: int = Field(
        0, ge=0, description="How many such requests are delivered and answered before; with `once-delivered`."
    )

    @model_validator(mode="after")
    def _counts_requests(self) -> "BrokenConnections":
        if self.let_through and self.once_delivered is None:
            raise validation_error("let-through counts requests of the type that once-delivered names", "let-through")
        return self


class BreakConnectionsStep(ScenarioStep):
    """Break the connections that are open, once; what is on its way on them is lost."""

    break_connections: BrokenConnections

    @classmethod
    def part(
        cls,
        links: LinkKeywords,
        *,
        once_delivered: str | None = None,
        let_through: int | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        once = given(once_delivered=once_delivered, let_through=let_through)
        return cls._part({**hyphenate_keys(links), **once}, timing)


class HealStep(ScenarioStep):
    """Let links be as they should. What is being sent again arrives when it is sent for the next time.

    `heal: all` also drops the injected errors that no answer has carried yet.
    """

    heal: AllOrLinks

    @classmethod
    def part(cls, links: LinkKeywords | None = None, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(ALL if links is None else hyphenate_keys(links), timing)


class InjectedError(Model):
    """The error, and the answers that carry it."""

    request: InjectableRequest = Field(description="The requests whose answers carry the error.")
    error: KafkaError = Field(description="Kafka's name of the error.")
    from_: NodeNames = Field((ALL,), description="The brokers that answer.")
    to: NodeNames = Field((ALL,), description="The clients that are answered: clients, client ID, producer-NAME, …")
    topic: str | None = Field(None, description="Only what a request asks about this topic; what else it asks is answered.")
    partition: int | None = Field(None, ge=0, description="Only what it asks about this partition of the topic.")
    count: int = Field(1, ge=1, description="How many answers carry the error.")
    carried_out: bool = Field(
        False, description="The request is carried out nevertheless: records are appended, topics created."
    )

    @model_validator(mode="after")
    def _has_the_topic_of_its_partition(self) -> "InjectedError":
        if self.partition is not None and self.topic is None:
            raise validation_error("write the topic of the partition, too", "partition")
        return self


class InjectErrorStep(ScenarioStep):
    """Let the next answers to clients carry an error, whatever the state of the cluster.

    Requests that brokers send to one another are not concerned.
    """

    other_words = ("answer-with-error", "fail-request", "return-error")

    inject_error: InjectedError

    @classmethod
    def part(
        cls,
        request: str,
        error: str,
        *,
        from_: Names | None = None,
        to: Names | None = None,
        topic: str | None = None,
        partition: int | None = None,
        count: int | None = None,
        carried_out: bool = False,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        about = given(from_=from_, to=to, topic=topic, partition=partition, count=count, carried_out=carried_out or None)
        return cls._part({"request": request, "error": error, **about}, timing)


NETWORK_STEPS = (NetworkPartitionStep, SlowLinkStep, LossyLinkStep, BreakConnectionsStep, HealStep, InjectErrorStep)
