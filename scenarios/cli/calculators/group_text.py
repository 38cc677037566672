"""The rebalances of a consumer group under several strategies, side by side: as a table, and as values for JSON."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from kcsim.brokers.groups.assignors.assignment_difference import AssignmentDifference
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.group import RebalanceRound
from kcsim.vocabulary import TopicPartition

FEW = 12
"""Up to this many partitions are written one by one; in longer lists, consecutive partitions are contracted."""
ARROW = "→"


class RebalanceResult(NamedTuple):
    """The result of a change under one strategy.

    Attributes:
        rounds: at least one.
        difference: the difference to what the members owned before.
        rack_mismatches: how many partitions went to members without a replica in their rack; None if racks are unknown.
    """

    rounds: tuple[RebalanceRound, ...]
    difference: AssignmentDifference
    rack_mismatches: int | None = None

    @property
    def reached(self) -> Mapping[str, tuple[TopicPartition, ...]]:
        return self.rounds[-1].sent


class RebalanceStep(NamedTuple):
    """A change as text, or None for the initial assignment, and each strategy's result."""

    change: str | None
    by_strategy: dict[AssignmentStrategy, RebalanceResult]


def partitions_text(partitions: Iterable[TopicPartition], new: Collection[TopicPartition] = ()) -> str:
    """Return partitions as text: t0-0 t0-1 +t1-0, with a plus at new ones; long lists as t0-0…9 +t1-0…4."""
    ordered = sorted(partitions)
    if len(ordered) <= FEW:
        return " ".join(f"{'+' if tp in new else ''}{tp}" for tp in ordered)
    return " ".join(_runs(ordered, new))


def _runs(ordered: Sequence[TopicPartition], new: Collection[TopicPartition]) -> Iterator[str]:
    # Within a run of consecutive partitions, the difference between partition number and list index is constant.
    numbered = enumerate(ordered)
    for (topic, is_new, _), run in groupby(
        numbered, key=lambda item: (item[1].topic, item[1] in new, item[1].partition - item[0])
    ):
        members = [tp.partition for _, tp in run]
        last = f"…{members[-1]}" if len(members) > 1 else ""
        yield f"{'+' if is_new else ''}{topic}-{members[0]}{last}"


def step_table(step: RebalanceStep, title: str) -> Table:
    """Return a table with a row for each member and a column for each strategy, and the costs at the bottom."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("Member", no_wrap=True)
    for strategy in step.by_strategy:
        table.add_column(strategy.value)
    answers = list(step.by_strategy.values())
    was_owned = any(answer.difference.kept or answer.difference.revoked for answer in answers)
    for member_id in answers[0].reached:
        table.add_row(Text(member_id), *(Text(_cell(member_id, answer, was_owned)) for answer in answers))
    table.add_section()
    rows: list[tuple[str, Callable[[RebalanceResult], object], bool]] = [
        ("kept", lambda answer: answer.difference.kept, was_owned),
        ("moved", lambda answer: _moved(answer.difference), was_owned),
        ("paused", _paused, any(round_.revoked for answer in answers for round_ in answer.rounds)),
        ("rounds", _rounds, any(len(answer.rounds) > 1 for answer in answers)),
        ("other rack", lambda answer: answer.rack_mismatches, any(a.rack_mismatches is not None for a in answers)),
    ]
    for name, figure, is_wanted in rows:
        if is_wanted:
            table.add_row(name, *(Text(str(figure(answer))) for answer in answers))
    return table


def _cell(member_id: str, answer: RebalanceResult, marks_new: bool) -> str:
    partitions = answer.reached[member_id]
    new = set(answer.difference.added.get(member_id, ())) if marks_new else set()
    return f"{partitions_text(partitions, new)}  ({len(partitions)})" if partitions else "none"


def _moved(found: AssignmentDifference) -> str:
    if not found.moved:
        return "0"
    ways: dict[tuple[str, str], list[TopicPartition]] = {}
    for tp, move in found.moved.items():
        ways.setdefault(move, []).append(tp)
    lines = [f"{source} {ARROW} {target}: {partitions_text(tps)}" for (source, target), tps in sorted(ways.items())]
    return "\n".join([str(len(found.moved)), *lines])


def _paused(answer: RebalanceResult) -> str:
    """Return the partitions that members stopped consuming during the rebalance, whether they got them back or not."""
    partitions = {tp for round_ in answer.rounds for tps in round_.revoked.values() for tp in tps}
    return f"{len(partitions)}" + (f": {partitions_text(partitions)}" if 0 < len(partitions) <= FEW else "")


def _rounds(answer: RebalanceResult) -> str:
    waits = [f"round {n}: {len(r.withheld)} withheld" for n, r in enumerate(answer.rounds, 1) if r.withheld]
    return "\n".join([str(len(answer.rounds)), *waits])


def step_value(step: RebalanceStep) -> dict[str, Any]:
    """Return a step as a value for JSON. Partitions are strings."""
    return {
        "change": step.change,
        "strategies": {strategy.value: _answer_value(answer) for strategy, answer in step.by_strategy.items()},
    }


def _answer_value(answer: RebalanceResult) -> dict[str, Any]:
    found = answer.difference
    return {
        "generation": answer.rounds[-1].generation,
        "assignment": _lists(answer.reached),
        "kept": found.kept,
        **({} if answer.rack_mismatches is None else {"rack_mismatches": answer.rack_mismatches}),
        "moved": {str(tp): {"from": move.source, "to": move.target} for tp, move in found.moved.items()},
        "added": _lists(found.added),
        "revoked": _lists(found.revoked),
        "rounds": [
            {
                "generation": round_.generation,
                "sent": _lists(round_.sent),
                "paused": _lists(round_.revoked),
                "withheld": {str(tp): member_id for tp, member_id in round_.withheld.items()},
            }
            for round_ in answer.rounds
        ],
    }


def _lists(partitions: Mapping[str, Iterable[TopicPartition]]) -> dict[str, list[str]]:
    return {member_id: [str(tp) for tp in tps] for member_id, tps in partitions.items()}
