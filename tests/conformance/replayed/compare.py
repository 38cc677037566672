"""Compares what our cluster wrote with what Kafka wrote: step by step, and in each step znode by znode.

Not compared: the order across znodes, times, and brokers' own ISR notifications, which come 5 to 7.5 s after a change, so
that chance decides in which step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.zk import paths
from tests.conformance.replayed.content import content
from tests.conformance.replayed.isr import IsrHistory, match_final_state, match_states
from tests.conformance.replayed.recording import Recording, Step, Write, Writes
from tests.conformance.replayed.writes import is_below

END = "the end"
STATE = "/state"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which our cluster and Kafka's differ.

    Attributes:
        step: its number, from 1; None for what is compared at the end.
        what: a znode, or sessions_closed, controller, alive.
        kafka, ours: what each has, a line for each thing.
    """

    step: int | None
    what: str
    kafka: tuple[str, ...]
    ours: tuple[str, ...]


def differences(kafka: Recording, ours: Recording) -> list[Difference]:
    """Say in what our run of a recording's steps differs from it.

    Args:
        ours: with as many of the steps as could be played; what comes after them is not compared, nor is the end then.
    """
    comparison = _Comparison()
    found: list[Difference] = []
    for number, (theirs, mine) in enumerate(zip(kafka.steps, ours.steps, strict=False), 1):
        if theirs.more_writes:
            # Where it was cut is chance, and so is all that comes after it.
            return [*found, *_of_endless_step(number, theirs, mine)]
        found += comparison.of_step(number, theirs, mine)
    is_whole = len(ours.steps) == len(kafka.steps) and ours.not_supported is None
    return [*found, *comparison.of_end(kafka, ours)] if is_whole else found


def _of_endless_step(number: int, kafka: Step, ours: Step) -> Iterator[Difference]:
    """A step that went on without end: all that can be said of it is that ours goes on, too."""
    recorded, made = len(kafka.writes or ()), len(ours.writes or ())
    if made < recorded:
        yield Difference(number, "writes", (f"{recorded} and {kafka.more_writes} more",), (str(made),))


class _Comparison:
    """One comparison: what earlier steps tell of later ones."""

    def __init__(self) -> None:
        self._isrs: dict[str, IsrHistory] = {}
        self._last_of_others: dict[str, Write | None] = {}  # znode -> the last write of an alternative that was ours

    # --- one step

    def of_step(self, number: int, kafka: Step, ours: Step) -> Iterator[Difference]:
        if ours.problem is not None:
            yield Difference(number, "the step", (), (ours.problem,))
        if ours.not_supported is not None:
            return
        if kafka.controller is not None and kafka.controller != ours.controller:
            yield Difference(number, "controller", (str(kafka.controller),), (str(ours.controller),))
        theirs, mine = exit_status(kafka), exit_status(ours)
        if None not in (theirs, mine) and theirs != mine:
            yield Difference(number, "exit status", (str(theirs),), (f"{mine}: {ours.outcome}",))
        if kafka.writes is None:
            return
        if sorted(kafka.sessions_closed) != sorted(ours.sessions_closed):
            yield Difference(number, "sessions_closed", kafka.sessions_closed, ours.sessions_closed)
        yield from self._of_writes(number, kafka, by_znode(kafka.writes), by_znode(ours.writes or ()))

    def _of_writes(
        self, number: int, kafka: Step, theirs: Mapping[str, Writes], mine: Mapping[str, Writes]
    ) -> Iterator[Difference]:
        compares_notifications = is_below(_made_by_hand(kafka), [paths.ISR_CHANGE_NOTIFICATION])
        for path in dict.fromkeys([*theirs, *mine, *kafka.unsteady]):
            if compares_notifications or not is_below(path, [paths.ISR_CHANGE_NOTIFICATION]):
                alternatives = [theirs.get(path, ()), *kafka.unsteady.get(path, ())]
                if not self._is_any_of(path, alternatives, mine.get(path, ())):
                    yield Difference(number, path, _lines(alternatives[0]), _lines(mine.get(path, ())))

    def _is_any_of(self, path: str, alternatives: Sequence[Writes], ours: Writes) -> bool:
        for place, kafka in enumerate(alternatives):
            if self._is(path, kafka, ours):
                if place > 0:
                    self._last_of_others[path] = kafka[-1] if kafka else None
                elif kafka:
                    self._last_of_others.pop(path, None)
                return True
        return False

    def _is(self, path: str, kafka: Writes, ours: Writes) -> bool:
        if not path.endswith(STATE):
            return [*map(_essence, kafka)] == [*map(_essence, ours)]
        history = match_states(kafka, ours, self._isrs.get(path, IsrHistory()))
        if history is not None:
            self._isrs[path] = history
        return history is not None

    # --- the end

    def of_end(self, kafka: Recording, ours: Recording) -> Iterator[Difference]:
        if kafka.alive is not None and sorted(kafka.alive) != sorted(ours.alive or ()):
            yield Difference(None, "alive", _texts(kafka.alive), _texts(ours.alive or ()))
        if kafka.final is None:
            return
        theirs, mine = self._final(kafka.final), ours.final or {}
        for path in sorted(theirs.keys() | mine.keys()):
            if (path in theirs) != (path in mine) or not self._is_final(path, theirs[path], mine[path]):
                yield Difference(None, path, _at_end(path, theirs), _at_end(path, mine))

    def _final(self, recorded: Mapping[str, str | None]) -> dict[str, str | None]:
        """What Kafka left behind, had its run gone the way that ours went where runs of Kafka differ."""
        final = dict(recorded)
        for path, last in self._last_of_others.items():
            if last is None:
                continue
            if last.op == "delete":
                final.pop(path, None)
            elif path in final:
                final[path] = last.data
        return final

    def _is_final(self, path: str, kafka: str | None, ours: str | None) -> bool:
        if path.endswith(STATE):
            return match_final_state(path, kafka, ours, self._isrs.get(path, IsrHistory()))
        return content(path, kafka) == content(path, ours)


def by_znode(writes: Iterable[Write]) -> dict[str, Writes]:
    """Writes by path, in their order."""
    found: dict[str, Writes] = {}
    for write in writes:
        found[write.path] = (*found.get(write.path, ()), write)
    return found


def exit_status(step: Step) -> int | None:
    """That of the command which the step ran; None if it ran none."""
    return None if step.outcome is None else step.outcome.get("rc")


def _made_by_hand(step: Step) -> str:
    """The znode that a step is about, if it is a bare write by hand."""
    given = next((value for verb, value in step.do.items() if verb.startswith("zk_")), "")
    return str(given[0] if isinstance(given, list) else given)


def _essence(write: Write) -> tuple[object, ...]:
    return (write.by, write.op, write.fenced, content(write.path, write.data))


def _lines(writes: Iterable[Write]) -> tuple[str, ...]:
    return tuple(
        " ".join([write.by, write.op, *(["fenced"] if write.fenced else []), *([] if write.data is None else [write.data])])
        for write in writes
    )


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _at_end(path: str, final: Mapping[str, str | None]) -> tuple[str, ...]:
    return (str(final[path]),) if path in final else ()
