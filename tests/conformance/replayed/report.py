"""Report of the differences between our cluster and Kafka."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum

from kcsim.zk.capture.write_comparison.differences import WriteDifference
from tests.conformance.replayed.recording import Recording


class Result(StrEnum):
    """Result of one recording; from best to worst."""

    AGREES = "agrees"
    NOT_SUPPORTED = "not supported"
    DIFFERS = "differs"


def result_of(found: Sequence[WriteDifference], ours: Recording) -> Result:
    """Return the result: a difference outweighs a step that could not be played."""
    if found:
        return Result.DIFFERS
    return Result.NOT_SUPPORTED if ours.not_supported is not None else Result.AGREES


def report_lines(
    file: str,
    found: Sequence[WriteDifference],
    kafka: Recording,
    ours: Recording,
    sides: tuple[str, str] = ("Kafka", "ours"),
) -> Iterator[str]:
    """Yield each difference with what Kafka did and what we did, then the steps that could not be played.

    Args:
        sides: names of the two runs.
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
