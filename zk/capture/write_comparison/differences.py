"""Compares the writes of two clusters: step by step, and in each step znode by znode.

Not compared: the order across znodes, times, and brokers' own ISR notifications, which come 5 to 7.5 s after a change, so
that the step in which they appear is random.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.zk.capture.write_comparison.content import content
from kcsim.zk.capture.write_comparison.isr import IsrHistory, match_final_state, match_states
from kcsim.zk.capture.write_comparison.reassignment_order import differs_only_in_completion_order
from kcsim.zk.capture.write_comparison.writes import StepWrites, Writes, ZnodeWrite, by_znode, is_below
from kcsim.znodes import paths

STATE = "/state"
Final = Mapping[str, str | None]
"""Znodes as they are at the end: path -> data."""


@dataclass(frozen=True, slots=True)
class WriteDifference:
    """One difference between the simulated cluster and Kafka's.

    Attributes:
        step: its number, from 1; None for a difference at the end.
        what: the znode's path, or sessions_closed, controller, alive.
        kafka, ours: the values on both sides, one line each.
    """

    step: int | None
    what: str
    kafka: tuple[str, ...]
    ours: tuple[str, ...]


class WriteComparison:
    """The comparison of two runs, in the order of their steps: state of earlier steps is needed for later ones."""

    def __init__(self) -> None:
        self._isrs: dict[str, IsrHistory] = {}
        self._last_of_others: dict[str, ZnodeWrite | None] = {}  # znode -> last write of the alternative that matched ours

    # --- one step

    def of_step(
        self,
        number: int,
        kafka: StepWrites,
        ours: StepWrites,
        alternatives: Mapping[str, tuple[Writes, ...]] | None = None,
        with_notifications: bool = False,
    ) -> Iterator[WriteDifference]:
        """Yield the differences of one step.

        Args:
            alternatives: znode -> other sequences of writes that Kafka may make to it.
            with_notifications: compare ISR notifications too, because the step itself created one.
        """
        if kafka.controller is not None and kafka.controller != ours.controller:
            yield WriteDifference(number, "controller", (str(kafka.controller),), (str(ours.controller),))
        if kafka.writes is None:
            return
        if sorted(kafka.sessions_closed) != sorted(ours.sessions_closed):
            yield WriteDifference(number, "sessions_closed", kafka.sessions_closed, ours.sessions_closed)
        others = alternatives or {}
        theirs, mine = by_znode(kafka.writes), by_znode(ours.writes or ())
        for path in dict.fromkeys([*theirs, *mine, *others]):
            if with_notifications or not is_below(path, [paths.ISR_CHANGE_NOTIFICATION]):
                wanted, found = theirs.get(path, ()), mine.get(path, ())
                if not self._is_any_of(path, [wanted, *others.get(path, ())], found):
                    yield WriteDifference(number, path, _lines(wanted), _lines(found))

    def _is_any_of(self, path: str, alternatives: Sequence[Writes], ours: Writes) -> bool:
        for place, kafka in enumerate(alternatives):
            if self._is(path, kafka, ours):
                if place > 0:
                    self._last_of_others[path] = kafka[-1] if kafka else None
                elif kafka:
                    self._last_of_others.pop(path, None)
                return True
        # Where runs of Kafka differ from each other and ours from all of them, ours may differ only in the order in which
        # reassignments completed.
        return len(alternatives) > 1 and differs_only_in_completion_order(alternatives[0], ours)

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
    ) -> Iterator[WriteDifference]:
        """Yield the differences at the end. Values that are None on Kafka's side are not compared.

        Args:
            alive, ours_alive: brokers whose process still runs.
        """
        if alive is not None and sorted(alive) != sorted(ours_alive):
            yield WriteDifference(None, "alive", _texts(alive), _texts(ours_alive))
        if kafka is None:
            return
        theirs = self._final(kafka)
        for path in sorted(theirs.keys() | ours.keys()):
            if (path in theirs) != (path in ours) or not self._is_final(path, theirs[path], ours[path]):
                yield WriteDifference(None, path, _at_end(path, theirs), _at_end(path, ours))

    def _final(self, recorded: Final) -> dict[str, str | None]:
        """Return Kafka's final znodes, adjusted to the alternatives that matched our writes in the steps."""
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


def _essence(write: ZnodeWrite) -> tuple[object, ...]:
    return (write.by, write.op, write.fenced, content(write.path, write.data))


def _lines(writes: Iterable[ZnodeWrite]) -> tuple[str, ...]:
    return tuple(
        " ".join([write.by, write.op, *(["fenced"] if write.fenced else []), *([] if write.data is None else [write.data])])
        for write in writes
    )


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _at_end(path: str, final: Final) -> tuple[str, ...]:
    return (str(final[path]),) if path in final else ()
