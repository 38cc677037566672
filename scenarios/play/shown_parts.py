"""What a page is sent of a run: all of a short one; of a long one what surrounds the moment that it shows, and an overview.

A run consists of segments. The last one, which goes on, is always sent whole: its further parts refer to the earlier ones.
Before a segment that is sent whole and follows one that is not, the state of the cluster is sent.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from kcsim.scenarios.play.run_messages import Happened

MOST_WHOLE = 30_000
"""A run of no more events is sent whole."""

EntityValues = dict[tuple[str, str], bytes]
"""The type and name of each entity, and its value as JSON has it."""


class _WrittenChanges(msgspec.Struct):
    """The changes of one type of entity in a part, as PagePayload writes them."""

    names: list[int]
    values: list[msgspec.Raw]


class _ChangesOfPart(msgspec.Struct):
    first_text: int
    texts: list[str]
    changes: dict[str, _WrittenChanges]


@dataclass(frozen=True, slots=True)
class RunSegment:
    """A segment that has ended.

    Attributes:
        first, end: the indices of its parts: from the first one to before the end.
        first_seq: the number of its first event.
        overview: see EventStream.end_segment.
        values: the last value of each entity that has changed in it.
    """

    first: int
    end: int
    first_seq: int
    overview: bytes
    values: EntityValues


class RunSegments:
    """The segments of one run. Take all parts of it, in order."""

    def __init__(self) -> None:
        self._ended: list[RunSegment] = []
        self._parts = 0
        self._begin()

    def up_to(self, parts: Sequence[Happened]) -> "RunSegments":
        """Return the segments of another run that has begun with these parts of this one."""
        other = RunSegments()
        other._ended = [segment for segment in self._ended if segment.end <= len(parts)]
        other._parts = other._ended[-1].end if other._ended else 0
        other._begin()
        for part in parts[other._parts :]:
            other.take(part)
        return other

    def _begin(self) -> None:
        self._first, self._first_seq = self._parts, 0
        self._texts: list[str] = []
        self._values: EntityValues = {}

    def take(self, part: Happened) -> None:
        """Take the next part."""
        if self._parts == self._first:
            self._first_seq = part.first_seq
        self._apply(part.part)
        self._parts += 1
        if part.overview:
            self._ended.append(RunSegment(self._first, self._parts, self._first_seq, part.overview, self._values))
            self._begin()

    def _apply(self, part: bytes) -> None:
        written = msgspec.json.decode(part, type=_ChangesOfPart)
        self._texts += written.texts
        for entity_type, changes in written.changes.items():
            for name, value in zip(changes.names, changes.values, strict=True):
                known = _znode_value(value, self._texts) if entity_type == "znode" else bytes(value)
                self._values[entity_type, self._texts[name]] = known

    def shown(self, parts: Sequence[Happened], around: int | None = None, most_whole: int | None = MOST_WHOLE) -> str:
        """Return what a page is sent of the parts of the run, as JSON: a list of parts, overviews and states.

        Args:
            around: the number of the event that the page shows; None for the last one.
            most_whole: of a run with more events than these, parts are sent only; None: the run is sent whole.
        """
        ended = [segment for segment in self._ended if segment.end <= len(parts)]
        if most_whole is None or sum(part.count for part in parts) <= most_whole:
            ended = []
        whole = {len(ended) - 1}
        if around is not None:
            middle = bisect_right(ended, around, key=lambda segment: segment.first_seq) - 1
            whole |= {middle - 1, middle, middle + 1}
        written: list[bytes] = []
        was_whole = True
        for number, segment in enumerate(ended):
            if number not in whole:
                written.append(segment.overview)
            else:
                if not was_whole:
                    written.append(_state_before(ended[:number]))
                written += (part.part for part in parts[segment.first : segment.end])
            was_whole = number in whole
        written += (part.part for part in parts[ended[-1].end if ended else 0 :])
        return f"[{b','.join(written).decode()}]"


def _state_before(segments: Iterable[RunSegment]) -> bytes:
    """Return the value of each entity that there ever was in the first segments of a run, as JSON: {"state": …}."""
    state: EntityValues = {}
    for segment in segments:
        state |= segment.values
    names: dict[str, list[str]] = {}
    values: dict[str, list[bytes]] = {}
    for (entity_type, name), value in state.items():
        names.setdefault(entity_type, []).append(name)
        values.setdefault(entity_type, []).append(value)
    families = (
        b'%s:{"names":%s,"values":[%s]}' % (msgspec.json.encode(family), msgspec.json.encode(names[family]), b",".join(of))
        for family, of in values.items()
    )
    return b'{"state":{%s}}' % b",".join(families)


def _znode_value(value: msgspec.Raw, texts: Sequence[str]) -> bytes:
    """Return the value of a znode with the text of its data in it."""
    znode = msgspec.json.decode(value)
    if znode is not None and znode[0] is not None:
        znode[0] = texts[znode[0]]
    return msgspec.json.encode(znode)
