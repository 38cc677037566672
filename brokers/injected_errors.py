"""Errors that brokers answer to clients because a fault says so, whatever the state of the cluster.

An injected error concerns the next requests of one kind, from some clients to some brokers: whole requests, or the parts of
them that name a topic or a partition. What it concerns is answered with the error and not carried out, or carried out
nevertheless, as by a broker that fails between the two. Requests that brokers send to one another are not concerned.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.error_responses import REFUSABLE, name_of
from kcsim.brokers.network.link_conditions import Links
from kcsim.brokers.ports import Incoming
from kcsim.brokers.requests import CONSUMER
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

Handle = Callable[[Any, int], Awaitable[Any]]
"""Takes a request, and the event that is its cause, and returns the response."""


INJECTABLE = tuple(sorted({name_of(kind) for kind in REFUSABLE}))
"""The names of the requests that can be answered with an injected error."""


@dataclass(frozen=True, slots=True)
class ErrorInjection:
    """What is answered with an error.

    Attributes:
        request: its name in the event log, one of INJECTABLE.
        links: from the brokers that answer to the clients that get the answer.
        topic, partition: the part that is concerned; None: all.
        is_carried_out: the request is carried out nevertheless.
        times: how many answers carry the error.
    """

    request: str
    error: ErrorCode
    links: Links
    topic: str | None = None
    partition: int | None = None
    is_carried_out: bool = False
    times: int = 1

    def concerns(self, part: Any) -> bool:
        """Return whether a part of a request is concerned: a partition, or what names a topic. None is the whole request."""
        if self.topic is None:
            return True
        if isinstance(part, TopicPartition):
            return part.topic == self.topic and self.partition in (None, part.partition)
        return self.topic == (part if isinstance(part, str) else getattr(part, "name", None))


class InjectedErrors:
    """The errors that are armed, at all brokers of a cluster."""

    def __init__(self) -> None:
        self._armed: list[_Armed] = []

    def arm(self, injection: ErrorInjection, cause: int, answered: Callable[[str, str], None]) -> None:
        """Arm an error.

        Args:
            cause: the fault.
            answered: called with the broker and a sentence on each answer that carries the error.
        """
        self._armed.append(_Armed(injection, cause, answered, injection.times))

    def disarm(self) -> int:
        """Drop all that are armed. Return how many answers they would still have changed."""
        left = sum(armed.left for armed in self._armed)
        self._armed.clear()
        return left

    def at(self, broker: str) -> "BrokerErrors":
        """Return those that a broker answers."""
        return BrokerErrors(broker, self)

    def next(self, broker: str, incoming: Incoming) -> "tuple[_Armed, tuple[Any, ...]] | None":
        """Return the armed error that concerns a request, and the parts that it concerns."""
        request = incoming.request
        for armed in self._armed:
            injection = armed.injection
            if name_of(type(request)) != injection.request or (broker, incoming.sender) not in injection.links:
                continue
            parts = REFUSABLE[type(request)].parts(request, injection.concerns)
            if parts:
                armed.left -= 1
                if not armed.left:
                    self._armed.remove(armed)
                return armed, parts
        return None

    @property
    def is_empty(self) -> bool:
        return not self._armed


class BrokerErrors:
    """The InjectsErrors port of one broker."""

    def __init__(self, broker: str, errors: InjectedErrors) -> None:
        self._broker = broker
        self._errors = errors

    async def answer(self, incoming: Incoming, handle: Handle) -> Any:
        """Return the response to a request: with an injected error, or what handles it returns."""
        request, cause = incoming.request, incoming.cause
        found = None if self._errors.is_empty or is_of_broker(request) else self._errors.next(self._broker, incoming)
        if found is None:
            return await handle(request, cause)
        armed, parts = found
        injection, refusal = armed.injection, REFUSABLE[type(request)]
        number = injection.times - armed.left  # before other requests are answered
        carried_out = request if injection.is_carried_out else refusal.without(request, parts)
        response = None if carried_out is None else await handle(carried_out, cause)
        incoming.note_fault(armed.cause)
        armed.answered(
            self._broker,
            f"{self._broker} answers {injection.request} of {incoming.sender} with {injection.error.name}, "
            f"{number} of {injection.times}",
        )
        return refusal.refused(response, parts, injection.error)


@dataclass(slots=True)
class _Armed:
    injection: ErrorInjection
    cause: int
    answered: Callable[[str, str], None]
    left: int


def is_of_broker(request: Any) -> bool:
    """Return whether a broker sent a request that clients send too."""
    return getattr(request, "replica_id", CONSUMER) > CONSUMER
