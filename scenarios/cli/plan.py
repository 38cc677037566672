"""kcsim plan: a reassignment that brings your own cluster to a goal, with the fewest bytes moved."""

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.snapshot_argument import SnapshotArgument, read_snapshot_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcsim.scenarios.planning.batches import Batch
    from kcsim.scenarios.planning.reassignment_plan import PartitionMove, ReassignmentPlan


def plan(
    file: SnapshotArgument,
    goal: Annotated[
        list[str],
        typer.Option(
            metavar="GOAL",
            help="'remove-brokers 3,4', 'add-brokers 6,7:RACK', 'replace 3=9', rack-aware, 'replication-factor TOPIC=3' (of "
            "all topics: 'replication-factor 3'), balance, balance-leaders, 'balance-bytes PERCENT'. Several goals are "
            "reached together.",
        ),
    ],
    capacity: Annotated[
        list[str] | None, typer.Option(metavar="BROKER=BYTES", help="The most that a broker may host; may be repeated.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("-o", metavar="PLAN.JSON", help="Write the plan, its rollback, and the elections that come last."),
    ] = None,
    batches: Annotated[
        int | None,
        typer.Option(min=1, metavar="COPIES", help="Divide the plan: so many copies per broker at once."),
    ] = None,
    throttle: Annotated[
        int | None,
        typer.Option(min=1, metavar="BYTES/S", help="What a broker may receive or send for it."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Name the reason for each partition that changes.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Name all brokers, however many.")] = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Plan a reassignment for the cluster of a snapshot. Nothing is moved; kafka-reassign-partitions reads the plan.

    No other placement that reaches the goals moves fewer bytes; of those that move as few, one with the most even numbers of
    replicas is chosen. With `balance` and `add-brokers` it is the other way round: no placement is more even, and none as
    even moves fewer bytes. With --capacity or `balance-bytes` a better plan can exist. Where all brokers have racks, no move
    puts replicas of a partition together that were in different racks. Leaders are chosen by the order of the replicas.

    \b
    kcsim plan cluster.json --goal 'remove-brokers 3,4' --explain
    kcsim plan cluster.json --goal rack-aware --goal balance -o plan.json
    kcsim plan cluster.json --goal 'replace 3=9' -o plan.json --batches 5 --throttle 50000000

    Exit status: 0 planned, 64 wrong input, or goals that cannot be reached.
    """
    from kcsim.scenarios.planning.batches import BatchLimits, in_batches
    from kcsim.scenarios.planning.goals import PlanError, parse_goals
    from kcsim.scenarios.planning.plan_text import explained, plan_json, plan_lines
    from kcsim.scenarios.planning.reassignment_plan import make_plan

    snapshot = read_snapshot_argument(file)
    try:
        made = make_plan(snapshot, parse_goals(goal, capacity or ()))
        divided = in_batches(made.moves, BatchLimits(batches, throttle))
    except PlanError as error:
        fail(str(error), ExitStatus.USAGE)
    names = _write(write, made, divided, batches is not None) if write is not None and made.moves else []
    if output is OutputFormat.JSON:
        content = plan_json(snapshot, made, divided, throttle)
        print(json.dumps({**content, "files": list(map(str, names))}, indent=2, ensure_ascii=False))
        return
    for line in plan_lines(snapshot, made, divided, throttle, everything):
        print(line)
    if explain and made.moves:
        print()
        for line in explained(made.moves):
            print(line)
    if names:
        print()
        for name in names:
            print(f"written: {name}")


def _write(file: Path, made: "ReassignmentPlan", batches: "Sequence[Batch]", is_divided: bool) -> list[Path]:
    """Write the plan beside its rollback and its elections, and each batch beside its rollback. Returns: the files."""
    names = []
    for name, text in _files(file, made, batches if is_divided else ()):
        try:
            name.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            fail(f"-o: {name}: {error.strerror or error}", ExitStatus.UNDECIDED)
        names.append(name)
    return names


def _files(file: Path, made: "ReassignmentPlan", batches: "Sequence[Batch]") -> Iterator[tuple[Path, str]]:
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import reassignment_json
    from kcsim.vocabulary import BrokerId

    def beside(what: str) -> Path:
        return file.with_name(f"{file.stem}.{what}{file.suffix}")

    def assignment(replicas_of: "Callable[[PartitionMove], tuple[int, ...]]", moves: "Iterable[PartitionMove]") -> str:
        return reassignment_json({move.partition: tuple(map(BrokerId, replicas_of(move))) for move in moves})

    after, before = attrgetter("after"), attrgetter("before")
    yield file, assignment(after, made.moves)
    yield beside("rollback"), assignment(before, made.moves)
    for number, batch in enumerate(batches, 1):
        yield beside(f"batch-{number}"), assignment(after, batch.moves)
        yield beside(f"batch-{number}.rollback"), assignment(before, batch.moves)
    if made.elections:
        elections = [{"topic": tp.topic, "partition": tp.partition} for tp in made.elections]
        yield beside("elections"), json.dumps({"partitions": elections}, separators=(",", ":"))
