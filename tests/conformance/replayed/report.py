"""Tells in words in what our cluster differs from Kafka."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum

from kcsim.scenarios.comparing.differences import Difference
from tests.conformance.replayed.recording import Recording


class Result(StrEnum):
    """Of one recording; from best to worst."""

    AGREES = "agrees"
    NOT_SUPPORTED = "not supported"
    DIFFERS = "differs"


def result_of(found: Sequence[Difference], ours: Recording) -> Result:
    """A difference weighs more than a step that could not be played."""
    if found:
        return Result.DIFFERS
    return Result.NOT_SUPPORTED if ours.not_supported is not None else Result.AGREES


def told(
    file: str, found: Sequence[Difference], kafka: Recording, ours: Recording, sides: tuple[str, str] = ("Kafka", "ours")
) -> Iterator[str]:
    """Each difference with what Kafka did and what we did, then what could not be played.

    Args:
        sides: what the two are called.
    """
    for difference in found:
        place = "end" if difference.step is None else f"step {difference.step}"
        do = "" if difference.step is None else f" {json.dumps(kafka.steps[difference.step - 1].do)}"
        yield f"{file}: {place}{do}: {difference.what}"
        yield from _side(sides[0], difference.kafka)
        yield from _side(sides[1], difference.ours)
    if ours.not_supported is not None:
        yield f"{file}: step {len(ours.steps)} {json.dumps(ours.steps[-1].do)}: not supported: {ours.not_supported}"


def _side(whose: str, lines: Sequence[str]) -> Iterator[str]:
    for place, line in enumerate(lines or ("nothing",)):
        yield f"  {whose + ':' if place == 0 else '':<6} {line}"
