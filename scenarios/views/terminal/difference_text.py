"""The differences of two runs as text and as JSON. The left run is marked -, the right run +."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcsim.scenarios.views.terminal.alignment import DivergencePoint, ThreadDivergence
from kcsim.scenarios.views.terminal.run_differences import RunDifferences, ValueDifference
from kcsim.scenarios.views.terminal.run_digest import RunDigest, ThreadEntry
from kcsim.scenarios.views.trace.event_importance import RankedEvent

THREADS_SHOWN = 12
ENTRIES_SHOWN = 3
DIFFERENCES_SHOWN = 40
CHAIN_SHOWN = 12

RankedEvents = Mapping[int, RankedEvent]
"""seq -> the event's narration and rank."""


def needed(differences: RunDifferences, digest: RunDigest, *, is_left: bool) -> set[int]:
    """Return the seqs of one run whose sentences the text needs."""
    seqs = {entry.seq for one in differences.divergences for entry in (one.left if is_left else one.right)}
    if differences.first_divergence is not None:
        entry = _last_entry(differences.first_divergence, is_left)
        seqs.update(digest.chain(entry.seq) if entry else ())
    return seqs


def difference_lines(
    names: tuple[str, str],
    digests: tuple[RunDigest, RunDigest],
    ranked: tuple[RankedEvents, RankedEvents],
    differences: RunDifferences,
    everything: bool,
) -> Iterator[str]:
    """Yield the lines of the differences.

    Args:
        names: of the two traces.
        ranked: the events that `needed` names.
        everything: whether to show long lists completely.
    """
    yield f"- {names[0]}"
    yield f"+ {names[1]}"
    if not differences:
        yield "The runs are the same, but for when things happened."
        return
    yield from _section("Settings", _value_difference_lines(differences.settings, everything))
    yield from _section("Verdicts", _value_difference_lines(differences.verdicts, everything))
    yield from _section("Durations and counts", _value_difference_lines(differences.outcome, everything))
    yield from _section("At the end", _value_difference_lines(differences.end, everything))
    yield from _section("Znodes at the end", _value_difference_lines(differences.znodes, everything))
    if differences.first_divergence is not None:
        title = f"They part at {differences.first_divergence.thread}"
        yield from _section(title, _first_divergence_lines(differences.first_divergence, names, digests, ranked))
        yield from _section(_title(differences.divergences), _divergence_lines(differences, ranked, everything))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = list(lines)
    if shown:
        yield ""
        yield title
        yield from (f"  {line}" for line in shown)


def _value_difference_lines(differences: Sequence[ValueDifference], everything: bool) -> Iterator[str]:
    shown = differences if everything else differences[:DIFFERENCES_SHOWN]
    for what, left, right in shown:
        if left is not None and right is not None:
            yield f"~ {what}"
            yield f"    - {left}"
            yield f"    + {right}"
        else:
            yield f"{'+' if left is None else '-'} {what}  {right if left is None else left}"
    if len(shown) < len(differences):
        yield f"… {len(differences) - len(shown)} more; --all shows them"


# --- events ----------------------------------------------------------------------------------------------------------------


def _last_entry(point: DivergencePoint, is_left: bool) -> ThreadEntry | None:
    """Return a run's entry at a divergence; if it has none there, its last entry before; None if it has no entry at all."""
    entry = point.left if is_left else point.right
    if entry is not None or point.last_common is None:
        return entry
    return point.last_common[not is_left]


def _first_divergence_lines(
    point: DivergencePoint,
    names: tuple[str, str],
    digests: tuple[RunDigest, RunDigest],
    ranked: tuple[RankedEvents, RankedEvents],
) -> Iterator[str]:
    for side, (mark, happens) in enumerate((("-", point.left), ("+", point.right))):
        entry = _last_entry(point, side == 0)
        if entry is None:
            yield f"{mark} {names[side]}: nothing happens there"
            continue
        yield f"{mark} {names[side]}:" + ("" if happens else " nothing more happens there, after what both have:")
        chain = digests[side].chain(entry.seq)
        if len(chain) > CHAIN_SHOWN:
            yield f"    … {len(chain) - CHAIN_SHOWN} before it"
        for level, seq in enumerate(chain[-CHAIN_SHOWN:]):
            yield f"    {_event_line(ranked[side][seq], '  ' * (level - 1) + '└ ' * (level > 0))}"


def _title(found: Sequence[ThreadDivergence]) -> str:
    return f"What happens otherwise, at {len(found)} {'place' if len(found) == 1 else 'places'}"


def _shown_divergences(differences: RunDifferences, everything: bool) -> Sequence[ThreadDivergence]:
    return differences.divergences if everything else differences.divergences[:THREADS_SHOWN]


def _divergence_lines(
    differences: RunDifferences, ranked: tuple[RankedEvents, RankedEvents], everything: bool
) -> Iterator[str]:
    shown = _shown_divergences(differences, everything)
    for one in shown:
        yield one.thread
        for mark, sentences, entries in (("-", ranked[0], one.left), ("+", ranked[1], one.right)):
            for entry in entries if everything else entries[:ENTRIES_SHOWN]:
                yield f"  {mark} {_event_line(sentences[entry.seq])}"
            if not everything and len(entries) > ENTRIES_SHOWN:
                yield f"  {mark} … {len(entries) - ENTRIES_SHOWN} more"
    if len(shown) < len(differences.divergences):
        yield f"… at {len(differences.divergences) - len(shown)} more; --all shows them"


def _event_line(ranked: RankedEvent, tree: str = "") -> str:
    event = ranked.event
    return f"#{event.seq}  {event.t_ms / 1000:.3f} s  {event.node}  {tree}{' '.join(ranked.says.split())}"


# --- JSON ------------------------------------------------------------------------------------------------------------------


def difference_json(
    digests: tuple[RunDigest, RunDigest], ranked: tuple[RankedEvents, RankedEvents], differences: RunDifferences
) -> dict[str, Any]:
    """Return all differences, nothing left out."""

    def entries_json(side: int, seqs: Iterable[int]) -> list[dict[str, Any]]:
        events = [ranked[side][seq] for seq in seqs]
        return [
            {"seq": e.event.seq, "t_ms": e.event.t_ms, "node": e.event.node, "kind": e.event.kind.value, "says": e.says}
            for e in events
        ]

    point = differences.first_divergence
    return {
        "settings": [one._asdict() for one in differences.settings],
        "outcome": [one._asdict() for one in differences.outcome],
        "parting": None if point is None else _first_divergence_json(point, digests, entries_json),
        "divergences": [
            {
                "where": one.thread,
                "left": entries_json(0, (entry.seq for entry in one.left)),
                "right": entries_json(1, (entry.seq for entry in one.right)),
            }
            for one in differences.divergences
        ],
        "end": [one._asdict() for one in differences.end],
        "znodes": [one._asdict() for one in differences.znodes],
        "verdicts": [one._asdict() for one in differences.verdicts],
    }


def _first_divergence_json(
    point: DivergencePoint,
    digests: tuple[RunDigest, RunDigest],
    entries_json: Callable[[int, Iterable[int]], list[dict[str, Any]]],
) -> dict[str, Any]:
    found: dict[str, Any] = {"where": point.thread}
    for side, name in enumerate(("left", "right")):
        happens = point.right if side else point.left
        entry = _last_entry(point, side == 0)
        found[name] = None if happens is None else happens.seq
        found[f"{name}_why"] = [] if entry is None else entries_json(side, digests[side].chain(entry.seq))
    return found
