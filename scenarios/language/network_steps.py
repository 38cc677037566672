"""What a timetable can do to the network between brokers, and between them and their clients.

ZooKeeper is not on this network: `disconnect` cuts a broker off from that.
"""

from typing import Any

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.network_words import AllOrLinks, LinksMeant, Probability, RequestName, one_pair
from kcsim.scenarios.language.step import Step
from kcsim.scenarios.language.words import Duration, wrong


class CutLinks(LinksMeant):
    """The links that are cut."""

    refuse: bool = Field(False, description="Who sends something is told at once; else it vanishes, and nobody is told.")


class Partition(Step):
    """Let nothing pass on some links, for a while or until `heal`. Open connections stall, new ones cannot be made."""

    partition: CutLinks
    for_: Duration | None = None


class SlowLinks(LinksMeant):
    """The links that are slow, and how slow."""

    delay: Duration = Field(description="How much longer everything is on its way.")
    jitter: Duration = Field(0, description="Up to so much more or less, each time drawn anew, all equally likely.")

    @model_validator(mode="after")
    def _arrives_after_it_was_sent(self) -> "SlowLinks":
        if self.jitter > self.delay:
            raise wrong(f"a delay of {self.delay} ms cannot vary by {self.jitter} ms", "jitter")
        return self


class SlowLink(Step):
    """Let everything take longer on some links, for a while or until `heal`. The latest that is said of a link counts."""

    slow_link: SlowLinks
    for_: Duration | None = None


def _lossy(schema: dict[str, Any]) -> None:
    one_pair(schema)
    schema["anyOf"] = [{"required": ["loss"]}, {"required": ["break"]}]


class LossyLinks(LinksMeant):
    """The links that lose or break, and how often."""

    model_config = ConfigDict(json_schema_extra=_lossy)

    loss: Probability | None = Field(
        None, description="So much is lost each time it is sent; it is sent again, so it is late."
    )
    break_: Probability | None = Field(
        None, description="So many requests break their connection once delivered, before the answer, and are sent again."
    )

    @model_validator(mode="after")
    def _says_something(self) -> "LossyLinks":
        if self.loss is self.break_ is None:
            raise wrong("say how lossy: loss, break or both, in percent")
        return self


class LossyLink(Step):
    """Let some links lose what is sent, or break, by chance, for a while or until `heal`."""

    lossy_link: LossyLinks
    for_: Duration | None = None


class BrokenConnections(LinksMeant):
    """The links whose connections are broken."""

    once_delivered: RequestName | None = Field(
        None, description="Not now, but when the next such request has been delivered, and only the connection it came on."
    )


class BreakConnections(Step):
    """Break the connections that are open, once; what is on its way on them is lost."""

    break_connections: BrokenConnections


class Heal(Step):
    """Let links be as they should. What is being sent again arrives when it is sent for the next time."""

    heal: AllOrLinks


NetworkStep = Partition | SlowLink | LossyLink | BreakConnections | Heal
NETWORK_VERBS = ("partition", "slow-link", "lossy-link", "break-connections", "heal")
"""What is done to the network: the key by which each step is told from others."""
