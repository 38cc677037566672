"""kcsim spark replay: the controller's own decisions over a history, as it was or with changed settings."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.analysis.tables.table_format import TableFormat
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.spark.options import (
    DEFAULT_MASTER,
    Conf,
    Master,
    Place,
    milliseconds,
    place,
    refuse_existing,
    session,
)

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.folding.what_if import WhatIf
    from kcsim.scenarios.analysis.replay_dataset import ReplayResult


class Switch(StrEnum):
    """An option that is on or off; if it is not given, the history's own value is used."""

    ON = "on"
    OFF = "off"


def replay(
    paths: Annotated[
        list[Place],
        typer.Argument(parser=place, metavar="DATASET|TRACE…", help="Datasets, traces of runs, folders with traces."),
    ],
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="DIR", help="Where the transitions go; must not exist.")
    ],
    unclean: Annotated[Switch | None, typer.Option(help="What if unclean.leader.election.enable had been so?")] = None,
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="What if every topic had been placed with N replicas?")
    ] = None,
    placement: Annotated[
        Place | None,
        typer.Option(
            parser=place,
            metavar="FILE",
            help="What if these partitions had been there? A plan of kafka-reassign-partitions.",
        ),
    ] = None,
    preferred_rebalance: Annotated[
        Switch | None, typer.Option(help="What if auto.leader.rebalance.enable had been so?")
    ] = None,
    min_insync_replicas: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Report how long partitions were under it; changes no election.")
    ] = None,
    catch_up: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a replica takes to catch up where the history does not show it: 30s."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what --replication-factor draws.")] = 0,
    table_format: Annotated[
        TableFormat,
        typer.Option("--format", help="delta: a new version of Delta tables in DIR, which may have some already."),
    ] = TableFormat.PARQUET,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print the result.")] = OutputFormat.TABLE,
) -> None:
    """Replay a history with the controller's own decisions: every change of every partition's leader and ISR.

    Without any "what if" the history gives the times of the controller's decisions, and each decision is made again: a
    different result is a mismatch. With one, the replay computes what the controller does.

    \b
    kcsim spark replay history/ -o replayed/
    kcsim spark replay run.jsonl -o replayed/
    kcsim spark replay history/ -o with-unclean/ --unclean on
    kcsim spark replay history/ -o with-three/ --replication-factor 3 --catch-up 2m
    kcsim spark replay s3a://lake/history -o s3a://lake/replayed --format delta

    Exit status: 0 done, 2 there are no events, or a job failed, 3 the history differs from the replayed
    decisions, 64 DIR exists, or the command is invalid.
    """
    if table_format is TableFormat.PARQUET:
        refuse_existing(out)
    what_if = _what_if(unclean, replication_factor, placement, preferred_rebalance, min_insync_replicas, catch_up, seed)
    began = time.monotonic()
    with session(master, conf, out) as spark:
        from kcsim.controller.decisions.kafka_refusals import RefusedError
        from kcsim.scenarios.analysis.replay_dataset import NothingToReplayError, replay_to
        from kcsim.scenarios.cli.spark.progress import progress

        try:
            with progress(spark, "replay"):
                done = replay_to(spark, paths, out, what_if, table_format)
        except NothingToReplayError as error:
            fail(str(error), ExitStatus.UNDECIDED)
        except RefusedError as error:
            fail(str(error), ExitStatus.USAGE)
    seconds = time.monotonic() - began
    print(as_json(done, out, seconds) if output is OutputFormat.JSON else "\n".join(lines(done, out, seconds)))
    for mismatch in done.first_mismatches:
        print(mismatch, file=sys.stderr)
    if done.mismatches:
        raise CommandExit(ExitStatus.NEGATIVE)


# --- options ---------------------------------------------------------------------------------------------------------------


def _what_if(
    unclean: Switch | None,
    replication_factor: int | None,
    placement: Place | None,
    preferred_rebalance: Switch | None,
    min_insync_replicas: int | None,
    catch_up: str | None,
    seed: int,
) -> "WhatIf | None":
    """Return the requested changes; None if nothing is changed."""
    from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS, WhatIf

    what_if = WhatIf(
        unclean=None if unclean is None else unclean is Switch.ON,
        preferred_rebalance=None if preferred_rebalance is None else preferred_rebalance is Switch.ON,
        min_insync_replicas=min_insync_replicas,
        replication_factor=replication_factor,
        placement={} if placement is None else _placement(placement),
        catch_up_ms=None if catch_up is None else milliseconds("--catch-up", catch_up),
        seed=seed,
    )
    return None if what_if == AS_IT_WAS else what_if


def _placement(file: Place) -> Mapping[tuple[str, int], tuple[int, ...]]:
    from kcsim.controller.admin.reassignment_files import parse_move_plan
    from kcsim.controller.decisions.kafka_refusals import RefusedError

    try:
        plan = parse_move_plan(file.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"--placement: {file}: {error.strerror or error}", ExitStatus.USAGE)
    except (RefusedError, ValueError) as error:
        fail(f"--placement: {file}: {error}", ExitStatus.USAGE)
    return {(tp.topic, tp.partition): tuple(map(int, replicas)) for tp, replicas in plan.targets.items()}


# --- output ----------------------------------------------------------------------------------------------------------------


def lines(done: "ReplayResult", out: Place, seconds: float) -> Sequence[str]:
    """Return the result as text."""
    total = sum(done.transitions.values())
    summary = [
        f"{out}: {total} transitions of {done.partitions} {_plural(done.partitions, 'partition')} in {done.runs} "
        f"{_plural(done.runs, 'run')}, in {seconds:.1f} s"
    ]
    if done.version is not None:
        summary.append(f"version {done.version} of the Delta tables: {out}@v{done.version} names it")
    if done.rejected:
        summary.append(f"{done.rejected} records are no events, and count nowhere: kcsim spark ingest reports why")
    width = max((len(kind) for kind, _ in done.transitions), default=0)
    summary += [
        f"  {kind:<{width}}  {trigger:<18} {count:>10}" for (kind, trigger), count in sorted(done.transitions.items())
    ]
    if done.comparison is None:
        summary.append(
            "the controller's decisions agree exactly with the history"
            if not done.mismatches
            else f"{done.mismatches} {_plural(done.mismatches, 'mismatch')} with the history, in {out / 'mismatches'}"
        )
    else:
        summary += _comparison(done)
    return summary


def _comparison(done: "ReplayResult") -> list[str]:
    from kcsim.scenarios.views.human import duration

    found = done.comparison
    assert found is not None, "a comparison exists for a what-if only"
    before, after = found.before, found.after
    summary = [
        f"compared with a replay in which nothing is changed, {before.partitions} partitions:",
        f"  without a live leader at some time: {after.unavailable} of {after.partitions} partitions, "
        f"{duration(after.unavailable_ms)} in all (was {before.unavailable}, {duration(before.unavailable_ms)}); "
        f"{found.no_longer_unavailable} no longer, {found.newly_unavailable} newly",
        f"  leaders elected: {after.elections}, {after.unclean} of them unclean (was {before.elections}, {before.unclean})",
    ]
    if after.unclean > before.unclean:
        summary.append("  an unclean election may lose records that only the in-sync replicas had")
    if after.under_min_isr is not None:
        summary.append(
            f"  under min.insync.replicas at some time: {after.under_min_isr} partitions, "
            f"{duration(after.under_min_isr_ms or 0)} in all (was {before.under_min_isr}, "
            f"{duration(before.under_min_isr_ms or 0)}); acks=all is refused then"
        )
    if done.passed_over:
        summary.append(f"  {done.passed_over} facts of the history are not applicable any more, and were skipped")
    changes = [
        f"  {change.topic}-{change.partition} of {change.run}: without a live leader for {duration(change.after_ms)} "
        f"(was {duration(change.before_ms)})"
        for change in found.most_changed
    ]
    return [*summary, *changes]


def as_json(done: "ReplayResult", out: Place, seconds: float) -> str:
    """Return the result as JSON."""
    import dataclasses

    result = dataclasses.asdict(done)
    result["transitions"] = [{"kind": k, "trigger": t, "count": n} for (k, t), n in sorted(done.transitions.items())]
    if done.comparison is not None:
        result["comparison"]["most_changed"] = [change._asdict() for change in done.comparison.most_changed]
    result["first_mismatches"] = [str(mismatch) for mismatch in done.first_mismatches]
    return json.dumps({"dataset": str(out), **result, "seconds": round(seconds, 1)}, indent=2, ensure_ascii=False)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
