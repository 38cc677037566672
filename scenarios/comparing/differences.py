"""Compares what two clusters wrote: step by step, and in each step znode by znode.

Not compared: the order across znodes, times, and brokers' own ISR notifications, which come 5 to 7.5 s after a change, so
that chance decides in which step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.scenarios.comparing.completions import ended_in_another_order
from kcsim.scenarios.comparing.content import content
from kcsim.scenarios.comparing.isr import IsrHistory, match_final_state, match_states
from kcsim.scenarios.comparing.writes import StepWrites, Write, Writes, by_znode, is_below
from kcsim.zk import paths

STATE = "/state"
Final = Mapping[str, str | None]
"""Znodes as they are at the end: path -> data."""


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


class Comparison:
    """Two runs, compared in the order of their steps: what earlier ones tell of later ones is kept."""

    def __init__(self) -> None:
        self._isrs: dict[str, IsrHistory] = {}
        self._last_of_others: dict[str, Write | None] = {}  # znode -> the last write of an alternative that was ours

    # --- one step

    def of_step(
        self,
        number: int,
        kafka: StepWrites,
        ours: StepWrites,
        alternatives: Mapping[str, tuple[Writes, ...]] | None = None,
        with_notifications: bool = False,
    ) -> Iterator[Difference]:
        """Say in what a step differs.

        Args:
            alternatives: znode -> what Kafka may write to it as well.
            with_notifications: the step itself made an ISR notification, so that these are no chance.
        """
        if kafka.controller is not None and kafka.controller != ours.controller:
            yield Difference(number, "controller", (str(kafka.controller),), (str(ours.controller),))
        if kafka.writes is None:
            return
        if sorted(kafka.sessions_closed) != sorted(ours.sessions_closed):
            yield Difference(number, "sessions_closed", kafka.sessions_closed, ours.sessions_closed)
        others = alternatives or {}
        theirs, mine = by_znode(kafka.writes), by_znode(ours.writes or ())
        for path in dict.fromkeys([*theirs, *mine, *others]):
            if with_notifications or not is_below(path, [paths.ISR_CHANGE_NOTIFICATION]):
                wanted, found = theirs.get(path, ()), mine.get(path, ())
                if not self._is_any_of(path, [wanted, *others.get(path, ())], found):
                    yield Difference(number, path, _lines(wanted), _lines(found))

    def _is_any_of(self, path: str, alternatives: Sequence[Writes], ours: Writes) -> bool:
        for place, kafka in enumerate(alternatives):
            if self._is(path, kafka, ours):
                if place > 0:
                    self._last_of_others[path] = kafka[-1] if kafka else None
                elif kafka:
                    self._last_of_others.pop(path, None)
                return True
        # Where runs of Kafka differ, and ours from all of them, it may be in nothing but which move ended first.
        return len(alternatives) > 1 and ended_in_another_order(alternatives[0], ours)

    def _is(self, path: str, kafka: Writes, ours: Writes) -> bool:
        if not path.endswith(STATE):
            return [*map(_essence, kafka)] == [*map(_essence, ours)]
        history = match_states(kafka, ours, self._isrs.get(path, IsrHistory()))
        if history is not None:
            self._isrs[path] = history
        return history is not None

    # --- the end

    def of_end(
        self, kafka: Final | None, ours: Final, alive: Sequence[int] | None = None, ours_alive: Sequence[int] = ()
    ) -> Iterator[Difference]:
        """Say in what the end differs. What is None of Kafka's is not compared.

        Args:
            alive, ours_alive: brokers whose process still runs.
        """
        if alive is not None and sorted(alive) != sorted(ours_alive):
            yield Difference(None, "alive", _texts(alive), _texts(ours_alive))
        if kafka is None:
            return
        theirs = self._final(kafka)
        for path in sorted(theirs.keys() | ours.keys()):
            if (path in theirs) != (path in ours) or not self._is_final(path, theirs[path], ours[path]):
                yield Difference(None, path, _at_end(path, theirs), _at_end(path, ours))

    def _final(self, recorded: Final) -> dict[str, str | None]:
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


def _essence(write: Write) -> tuple[object, ...]:
    return (write.by, write.op, write.fenced, content(write.path, write.data))


def _lines(writes: Iterable[Write]) -> tuple[str, ...]:
    return tuple(
        " ".join([write.by, write.op, *(["fenced"] if write.fenced else []), *([] if write.data is None else [write.data])])
        for write in writes
    )


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _at_end(path: str, final: Final) -> tuple[str, ...]:
    return (str(final[path]),) if path in final else ()
