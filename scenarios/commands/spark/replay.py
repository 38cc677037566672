"""kcsim spark replay: the controller's own decisions over a history, as it was or with something different."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output, give_up
from kcsim.scenarios.commands.spark.options import DEFAULT_MASTER, Conf, Master, refuse_existing, session

if TYPE_CHECKING:
    from kcsim.scenarios.replay.folding.what_if import WhatIf
    from kcsim.scenarios.replay.replay_dataset import Done


class Switch(StrEnum):
    """On or off; as it was, if not given."""

    ON = "on"
    OFF = "off"


def replay(
    paths: Annotated[
        list[str], typer.Argument(metavar="DATASET|TRACE…", help="Datasets, traces of runs, folders with traces.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the transitions go; must not exist.")],
    unclean: Annotated[Switch | None, typer.Option(help="What if unclean.leader.election.enable had been so?")] = None,
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="What if every topic had been placed with N replicas?")
    ] = None,
    placement: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What if these partitions had been there? A plan of kafka-reassign-partitions."),
    ] = None,
    preferred_rebalance: Annotated[
        Switch | None, typer.Option(help="What if auto.leader.rebalance.enable had been so?")
    ] = None,
    min_insync_replicas: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Tell how long partitions were under it; changes no election.")
    ] = None,
    catch_up: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long a replica takes to catch up where the history does not show it: 30s."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what --replication-factor draws.")] = 0,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[Output, typer.Option(help="How to print what came of it.")] = Output.TABLE,
) -> None:
    """Replay a history with the controller's own decisions: every change of every partition's leader and ISR.

    Without any "what if" the history says when the controller decided, and each decision is made anew: what comes out
    differently is a mismatch. With one, the replay finds by itself what the controller does.

    \b
    kcsim spark replay history/ -o replayed/
    kcsim spark replay run.jsonl -o replayed/
    kcsim spark replay history/ -o with-unclean/ --unclean on
    kcsim spark replay history/ -o with-three/ --replication-factor 3 --catch-up 2m

    Exit status: 0 done, 1 the history tells something else than the decisions come to, 2 there are no events, or a job
    failed, 64 DIR exists, or the command makes no sense.
    """
    refuse_existing(out)
    what_if = _what_if(unclean, replication_factor, placement, preferred_rebalance, min_insync_replicas, catch_up, seed)
    began = time.monotonic()
    with session(master, conf, out) as spark:
        from kcsim.controller.decisions.kafka_refusals import RefusedError
        from kcsim.scenarios.replay.replay_dataset import NothingToReplayError, replay_to

        try:
            done = replay_to(spark, paths, out, what_if)
        except NothingToReplayError as error:
            give_up(str(error), ExitStatus.UNDECIDED)
        except RefusedError as error:
            give_up(str(error), ExitStatus.USAGE)
    seconds = time.monotonic() - began
    print(as_json(done, out, seconds) if output is Output.JSON else "\n".join(lines(done, out, seconds)))
    for mismatch in done.first_mismatches:
        print(mismatch, file=sys.stderr)
    if done.mismatches:
        raise Finished(ExitStatus.VIOLATED)


# --- what is asked for -----------------------------------------------------------------------------------------------------


def _what_if(
    unclean: Switch | None,
    replication_factor: int | None,
    placement: Path | None,
    preferred_rebalance: Switch | None,
    min_insync_replicas: int | None,
    catch_up: str | None,
    seed: int,
) -> "WhatIf | None":
    """None if nothing is to be different."""
    from kcsim.scenarios.replay.folding.what_if import AS_IT_WAS, WhatIf

    wished = WhatIf(
        unclean=None if unclean is None else unclean is Switch.ON,
        preferred_rebalance=None if preferred_rebalance is None else preferred_rebalance is Switch.ON,
        min_insync_replicas=min_insync_replicas,
        replication_factor=replication_factor,
        placement={} if placement is None else _placement(placement),
        catch_up_ms=None if catch_up is None else _duration(catch_up),
        seed=seed,
    )
    return None if wished == AS_IT_WAS else wished


def _duration(text: str) -> int:
    from kcsim.scenarios.replay.generating.durations import parse_long_duration

    try:
        return parse_long_duration(text)
    except ValueError as error:
        give_up(f"--catch-up: {error}", ExitStatus.USAGE)


def _placement(file: Path) -> Mapping[tuple[str, int], tuple[int, ...]]:
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.admin.reassignment_files import parse_move_plan

    try:
        plan = parse_move_plan(file.read_text(encoding="utf-8"))
    except OSError as error:
        give_up(f"--placement: {file}: {error.strerror or error}", ExitStatus.USAGE)
    except (RefusedError, ValueError) as error:
        give_up(f"--placement: {file}: {error}", ExitStatus.USAGE)
    return {(tp.topic, tp.partition): tuple(map(int, replicas)) for tp, replicas in plan.targets.items()}


# --- what came of it -------------------------------------------------------------------------------------------------------


def lines(done: "Done", out: Path, seconds: float) -> Sequence[str]:
    """For people."""
    total = sum(done.transitions.values())
    told = [
        f"{out}: {total} transitions of {done.partitions} {_plural(done.partitions, 'partition')} in {done.runs} "
        f"{_plural(done.runs, 'run')}, in {seconds:.1f} s"
    ]
    if done.rejected:
        told.append(f"{done.rejected} records are no events, and count nowhere: kcsim spark ingest tells why")
    width = max((len(kind) for kind, _ in done.transitions), default=0)
    told += [f"  {kind:<{width}}  {trigger:<18} {count:>10}" for (kind, trigger), count in sorted(done.transitions.items())]
    if done.comparison is None:
        told.append(
            "the controller's decisions come to exactly what the history tells"
            if not done.mismatches
            else f"{done.mismatches} {_plural(done.mismatches, 'mismatch')} with what is told, in {out / 'mismatches'}"
        )
    else:
        told += _comparison(done)
    return told


def _comparison(done: "Done") -> list[str]:
    found = done.comparison
    assert found is not None, "it is told of a what-if only"
    before, after = found.before, found.after
    told = [
        f"without a leader at some time: {after.offline} of {after.partitions} partitions, {_time(after.offline_ms)} in all "
        f"(as it was: {before.offline}, {_time(before.offline_ms)}); "
        f"{found.no_longer_offline} no longer, {found.newly_offline} that were not",
        f"leaders elected: {after.elections}, {after.unclean} of them unclean "
        f"(as it was: {before.elections}, {before.unclean})",
    ]
    if after.unclean > before.unclean:
        told.append("an unclean election may lose what only the replicas had that were in sync")
    if after.under_min_isr is not None and before.under_min_isr is not None:
        told.append(
            f"led, but under min.insync.replicas at some time: {after.under_min_isr} partitions, "
            f"{_time(after.under_min_isr_ms or 0)} in all (as it was: {before.under_min_isr}, "
            f"{_time(before.under_min_isr_ms or 0)}); acks=all is refused then"
        )
    if done.passed_over:
        told.append(f"{done.passed_over} facts of the history make no sense any more, and were passed over")
    return [*told, *(f"  {example}" for example in found.examples)]


def as_json(done: "Done", out: Path, seconds: float) -> str:
    """For programs."""
    import dataclasses

    told = dataclasses.asdict(done)
    told["transitions"] = [{"kind": k, "trigger": t, "count": n} for (k, t), n in sorted(done.transitions.items())]
    told["first_mismatches"] = [str(mismatch) for mismatch in done.first_mismatches]
    return json.dumps({"dataset": str(out), **told, "seconds": round(seconds, 1)}, indent=2, ensure_ascii=False)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def _time(duration_ms: int) -> str:
    """2 h 5 min, 12.3 s."""
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.1f} s"
    minutes = round(duration_ms / 60_000)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
