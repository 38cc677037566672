"""The differences of two runs, for people and for programs. Left is marked -, right +."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcsim.scenarios.reading.alignment import Divergence, Parting
from kcsim.scenarios.reading.run_differences import RunDifferences, Unlike
from kcsim.scenarios.reading.run_digest import Deed, RunDigest
from kcsim.scenarios.reporting.of_note import Told

THREADS_SHOWN = 12
DEEDS_SHOWN = 3
UNLIKE_SHOWN = 40
CHAIN_SHOWN = 12

Sentences = Mapping[int, Told]
"""seq -> what is told of it."""


def needed(differences: RunDifferences, digest: RunDigest, is_left: bool, everything: bool) -> set[int]:
    """The seqs of one run that the text has sentences for."""
    seqs = {d.seq for one in _shown_divergences(differences, everything) for d in (one.left if is_left else one.right)}
    if differences.parting is not None:
        deed = _last_deed(differences.parting, is_left)
        seqs.update(digest.chain(deed.seq) if deed else ())
    return seqs


def difference_lines(
    names: tuple[str, str],
    digests: tuple[RunDigest, RunDigest],
    told: tuple[Sentences, Sentences],
    differences: RunDifferences,
    everything: bool,
) -> Iterator[str]:
    """Print what differs.

    Args:
        names: of the two traces.
        told: the sentences that `needed` asks for.
        everything: whether to leave nothing out where it is much.
    """
    yield f"- {names[0]}"
    yield f"+ {names[1]}"
    if not differences:
        yield "The runs are the same, but for when things happened."
        return
    yield from _section("Settings", _unlike_lines(differences.settings, everything))
    if differences.parting is not None:
        title = f"They part at {differences.parting.thread}"
        yield from _section(title, _parting_lines(differences.parting, names, digests, told))
        yield from _section(_title(differences.divergences), _divergence_lines(differences, told, everything))
    yield from _section("At the end", _unlike_lines(differences.end, everything))
    yield from _section("Znodes at the end", _unlike_lines(differences.znodes, everything))
    yield from _section("Verdicts", _unlike_lines(differences.verdicts, everything))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = list(lines)
    if shown:
        yield ""
        yield title
        yield from (f"  {line}" for line in shown)


def _unlike_lines(unlike: Sequence[Unlike], everything: bool) -> Iterator[str]:
    shown = unlike if everything else unlike[:UNLIKE_SHOWN]
    for what, left, right in shown:
        if left is not None and right is not None:
            yield f"~ {what}"
            yield f"    - {left}"
            yield f"    + {right}"
        else:
            yield f"{'+' if left is None else '-'} {what}  {right if left is None else left}"
    if len(shown) < len(unlike):
        yield f"… {len(unlike) - len(shown)} more; --all shows them"


# --- what happened ---------------------------------------------------------------------------------------------------------


def _last_deed(parting: Parting, is_left: bool) -> Deed | None:
    """What a run does where they part; if nothing, what it did last there; None if it never did anything."""
    deed = parting.left if is_left else parting.right
    if deed is not None or parting.last_alike is None:
        return deed
    return parting.last_alike[not is_left]


def _parting_lines(
    parting: Parting, names: tuple[str, str], digests: tuple[RunDigest, RunDigest], told: tuple[Sentences, Sentences]
) -> Iterator[str]:
    for side, (mark, happens) in enumerate((("-", parting.left), ("+", parting.right))):
        deed = _last_deed(parting, side == 0)
        if deed is None:
            yield f"{mark} {names[side]}: nothing happens there"
            continue
        yield f"{mark} {names[side]}:" + ("" if happens else " nothing more happens there, after what both have:")
        chain = digests[side].chain(deed.seq)
        if len(chain) > CHAIN_SHOWN:
            yield f"    … {len(chain) - CHAIN_SHOWN} before it"
        for level, seq in enumerate(chain[-CHAIN_SHOWN:]):
            yield f"    {_event_line(told[side][seq], '  ' * (level - 1) + '└ ' * (level > 0))}"


def _title(found: Sequence[Divergence]) -> str:
    return f"What happens otherwise, at {len(found)} {'place' if len(found) == 1 else 'places'}"


def _shown_divergences(differences: RunDifferences, everything: bool) -> Sequence[Divergence]:
    return differences.divergences if everything else differences.divergences[:THREADS_SHOWN]


def _divergence_lines(differences: RunDifferences, told: tuple[Sentences, Sentences], everything: bool) -> Iterator[str]:
    shown = _shown_divergences(differences, everything)
    for one in shown:
        yield one.thread
        for mark, sentences, deeds in (("-", told[0], one.left), ("+", told[1], one.right)):
            for deed in deeds if everything else deeds[:DEEDS_SHOWN]:
                yield f"  {mark} {_event_line(sentences[deed.seq])}"
            if not everything and len(deeds) > DEEDS_SHOWN:
                yield f"  {mark} … {len(deeds) - DEEDS_SHOWN} more"
    if len(shown) < len(differences.divergences):
        yield f"… at {len(differences.divergences) - len(shown)} more; --all shows them"


def _event_line(told: Told, tree: str = "") -> str:
    event = told.event
    return f"#{event.seq}  {event.t_ms / 1000:.3f} s  {event.node}  {tree}{' '.join(told.says.split())}"


# --- JSON ------------------------------------------------------------------------------------------------------------------


def difference_json(
    digests: tuple[RunDigest, RunDigest], told: tuple[Sentences, Sentences], differences: RunDifferences
) -> dict[str, Any]:
    """All of it, nothing left out."""

    def deeds(side: int, seqs: Iterable[int]) -> list[dict[str, Any]]:
        events = [told[side][seq] for seq in seqs]
        return [
            {"seq": e.event.seq, "t_ms": e.event.t_ms, "node": e.event.node, "kind": e.event.kind.value, "says": e.says}
            for e in events
        ]

    parting = differences.parting
    return {
        "settings": [one._asdict() for one in differences.settings],
        "parting": None if parting is None else _parting_json(parting, digests, deeds),
        "divergences": [
            {
                "where": one.thread,
                "left": deeds(0, (deed.seq for deed in one.left)),
                "right": deeds(1, (deed.seq for deed in one.right)),
            }
            for one in differences.divergences
        ],
        "end": [one._asdict() for one in differences.end],
        "znodes": [one._asdict() for one in differences.znodes],
        "verdicts": [one._asdict() for one in differences.verdicts],
    }


def _parting_json(
    parting: Parting, digests: tuple[RunDigest, RunDigest], deeds: Callable[[int, Iterable[int]], list[dict[str, Any]]]
) -> dict[str, Any]:
    found: dict[str, Any] = {"where": parting.thread}
    for side, name in enumerate(("left", "right")):
        happens = parting.right if side else parting.left
        deed = _last_deed(parting, side == 0)
        found[name] = None if happens is None else happens.seq
        found[f"{name}_why"] = [] if deed is None else deeds(side, digests[side].chain(deed.seq))
    return found
