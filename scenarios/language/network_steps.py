"""The timetable steps about the network between brokers, and between brokers and clients.

ZooKeeper is not on this network: `disconnect` cuts a broker off from ZooKeeper.
"""

from typing import Any, Unpack

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.network_types import AllOrLinks, LinkSelector, Probability, RequestName, one_pair
from kcsim.scenarios.language.python_keywords import LinkKeywords, ScenarioPart, TimingKeywords, given, hyphenate_keys
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


class SlowLinks(LinkSelector):
    """The links that are slow, and how slow."""

    delay: Duration = Field(description="The additional delay of every request and response.")
    jitter: Duration = Field(
        0, description="The delay varies by up to this time in both directions, drawn evenly for each request."
    )

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
        delay: str,
        jitter: str | None = None,
        for_: str | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part({**hyphenate_keys(links), **given(delay=delay, jitter=jitter)}, timing, for_=for_)


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


class BreakConnectionsStep(ScenarioStep):
    """Break the connections that are open, once; what is on its way on them is lost."""

    break_connections: BrokenConnections

    @classmethod
    def part(
        cls, links: LinkKeywords, *, once_delivered: str | None = None, **timing: Unpack[TimingKeywords]
    ) -> ScenarioPart:
        return cls._part({**hyphenate_keys(links), **given(once_delivered=once_delivered)}, timing)


class HealStep(ScenarioStep):
    """Let links be as they should. What is being sent again arrives when it is sent for the next time."""

    heal: AllOrLinks

    @classmethod
    def part(cls, links: LinkKeywords | None = None, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(ALL if links is None else hyphenate_keys(links), timing)


NETWORK_STEPS = (NetworkPartitionStep, SlowLinkStep, LossyLinkStep, BreakConnectionsStep, HealStep)
