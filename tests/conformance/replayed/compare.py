"""Comparison of our run of a recording's steps with the recording: writes, and output of commands."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kcsim.zk.capture.write_comparison.differences import WriteComparison, WriteDifference
from kcsim.zk.capture.write_comparison.writes import is_below
from kcsim.znodes import paths
from tests.conformance.replayed.command_output import comparable_lines
from tests.conformance.replayed.recording import Recording, Step

Outcome = Mapping[str, Any]
OF_A_COMMAND: Mapping[str, str] = {"rc": "exit status", "out": "printed", "err": "printed on stderr"}
OF_A_BROKER: Mapping[str, str] = {"exit": "exit of the broker", "registered": "registered"}
"""Keys of an outcome that are compared, with their names.

Of a skipped step only the fact that it was skipped is compared.
"""


def differences(kafka: Recording, ours: Recording) -> list[WriteDifference]:
    """Return the differences between our run of a recording's steps and the recording.

    Args:
        ours: has as many of the steps as could be played; later steps are not compared, and neither is the end then.
    """
    comparison = WriteComparison()
    found: list[WriteDifference] = []
    for number, (theirs, mine) in enumerate(zip(kafka.steps, ours.steps, strict=False), 1):
        if theirs.more_writes:
            # The place at which the endless step was cut is chance, and so is everything after it.
            return [*found, *_of_endless_step(number, theirs, mine)]
        found += _of_step(comparison, number, theirs, mine)
    if len(ours.steps) < len(kafka.steps) or ours.not_supported is not None:
        return found
    return [*found, *comparison.of_end(kafka.final, ours.final or {}, kafka.alive, ours.alive or ())]


def _of_endless_step(number: int, kafka: Step, ours: Step) -> Iterator[WriteDifference]:
    """Compare a step that never becomes quiet: ours must have at least as many writes as were recorded."""
    recorded, made = len(kafka.writes or ()), len(ours.writes or ())
    if made < recorded:
        yield WriteDifference(number, "writes", (f"{recorded} and {kafka.more_writes} more",), (str(made),))


def _of_step(comparison: WriteComparison, number: int, kafka: Step, ours: Step) -> Iterator[WriteDifference]:
    if ours.problem is not None:
        yield WriteDifference(number, "the step", (), (ours.problem,))
    if ours.not_supported is not None:
        return
    yield from _of_outcome(number, kafka.outcome, ours.outcome)
    with_notifications = is_below(_made_by_hand(kafka), [paths.ISR_CHANGE_NOTIFICATION])
    yield from comparison.of_step(number, kafka.followed, ours.followed, kafka.unsteady, with_notifications)


def _of_outcome(number: int, kafka: Outcome | None, ours: Outcome | None) -> Iterator[WriteDifference]:
    """Compare a command's exit status and output; a broker's exit and its registration; whether the step was skipped."""
    if kafka is None:
        # A command's outcome may not have been recorded; but a broker that did not start, or a skipped step, would have
        # been.
        if ours is not None and "rc" not in ours and not ours.get("registered"):
            yield WriteDifference(number, "outcome", (), (json.dumps(ours),))
        return
    if ours is None:
        yield WriteDifference(number, "outcome", (json.dumps(kafka),), ())
        return
    for key, called in (OF_A_COMMAND if "rc" in kafka else OF_A_BROKER).items():
        if key in kafka and (theirs := _lines(kafka[key])) != (mine := _lines(ours.get(key))):
            yield WriteDifference(number, called, theirs, mine)


def _lines(value: object) -> tuple[str, ...]:
    return comparable_lines(value) if isinstance(value, list | tuple) else (json.dumps(value),)


def _made_by_hand(step: Step) -> str:
    """Return the znode of a step that is a single write by hand; else an empty string."""
    given = next((value for verb, value in step.do.items() if verb.startswith("zk_")), "")
    return str(given[0] if isinstance(given, list) else given)
