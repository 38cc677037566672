"""kcsim what-if: what happens to your own cluster if it loses brokers or racks, is restarted, or has another setting."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.page_file import check_page_file, write_page_file
from kcsim.scenarios.cli.setting_option import SettingsOfAllBrokers, parse_settings
from kcsim.scenarios.cli.snapshot_argument import SnapshotArgument, read_simulated_snapshot

if TYPE_CHECKING:
    from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
    from kcsim.scenarios.what_if.losses import AnyLosses
    from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion

RANKED = 20


class Display(NamedTuple):
    """How an answer is shown. Attributes: everything: all partitions, brokers and losses; page: the file of a page, too."""

    everything: bool
    output: OutputFormat
    page: Path | None


def what_if(
    file: SnapshotArgument,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="broker-N,…|rack=R|any-1|any-2",
            help="Brokers that die at once. Several losses happen in the order given. any-1 and any-2 try every loss of one "
            "or two brokers or racks, and rank them; nothing can come after them.",
        ),
    ] = None,
    restart_rolling: Annotated[
        bool, typer.Option("--restart-rolling", help="Then restart all running brokers, one after another.")
    ] = False,
    setting: SettingsOfAllBrokers = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With any-1 or any-2: try only so many losses, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes for any-1 and any-2; else one per processor.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Name all partitions, brokers and losses, however many.")
    ] = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the answer as a page for the browser, too, which needs no network."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write the page over a file that is there.")] = False,
) -> None:
    """Ask what happens to the cluster of a snapshot. The controller itself answers, in a simulated cluster in that state.

    The brokers of the snapshot are started in virtual time with its topics, leaders and ISRs; then what is asked for happens
    to them, in this order: settings, losses, the rolling restart, the return of the lost brokers.

    \b
    kcsim what-if cluster.json --lose broker-7
    kcsim what-if cluster.json --lose rack=b --lose broker-1 --setting unclean.leader.election.enable=true
    kcsim what-if cluster.json --restart-rolling
    kcsim what-if cluster.json --lose any-2 --page losses.html

    Exit status: 0 answered, 2 the simulated cluster did not come to rest, 4 KRaft controls the cluster, 64 wrong input, or
    the page exists already.
    """
    from kcsim.scenarios.what_if.what_if_run import WhatIfQuestion

    if page is not None:
        check_page_file("--page", page, force)
    settings = parse_settings(setting)
    snapshot = read_simulated_snapshot(file)
    losses, sweep = _losses(lose or [], snapshot, sample, seed)
    question = WhatIfQuestion(losses, settings, restart_rolling)
    if sweep is None:
        if sample is not None:
            fail("--sample goes with --lose any-1 or any-2", ExitStatus.USAGE)
        _answer(snapshot, question, Display(everything, output, page))
        return
    if restart_rolling:
        fail("--restart-rolling does not go with any-1 and any-2", ExitStatus.USAGE)
    _rank(snapshot, question, sweep, jobs, Display(everything, output, page))


def _losses(
    texts: list[str], snapshot: "ControlPlaneSnapshot", sample: int | None, seed: int
) -> "tuple[tuple[Loss, ...], AnyLosses | None]":
    """Return the losses in their order, and those of which each is to be tried after them."""
    from kcsim.scenarios.what_if.losses import ANY, LossError, any_losses, parse_loss

    *first, last = texts or [""]
    try:
        if early := [text for text in first if text in ANY]:
            fail(f"--lose: {early[0]} is the last loss, or there is none", ExitStatus.USAGE)
        if last in ANY:
            before = tuple(parse_loss(text, snapshot) for text in first)
            lost = [broker for loss in before for broker in loss.brokers]
            return before, any_losses(ANY[last], snapshot, lost, sample, seed)
        return tuple(parse_loss(text, snapshot) for text in texts), None
    except LossError as error:
        fail(f"--lose: {error}", ExitStatus.USAGE)


def _answer(snapshot: "ControlPlaneSnapshot", question: "WhatIfQuestion", display: Display) -> None:
    from kcsim.scenarios.what_if.answer_text import answer_json, answer_lines
    from kcsim.scenarios.what_if.what_if_run import ask_what_if

    with _exit_on_failed_runs():
        answer = ask_what_if(snapshot, question)
    if display.page is not None:
        from kcsim.scenarios.what_if.what_if_page import answer_page

        _write(display.page, answer_page(snapshot, question, answer, display.everything))
    if display.output is OutputFormat.JSON:
        print(json.dumps(answer_json(snapshot, answer), indent=2, ensure_ascii=False))
        return
    for line in answer_lines(snapshot, answer, display.everything):
        print(line)


def _rank(
    snapshot: "ControlPlaneSnapshot",
    question: "WhatIfQuestion",
    sweep: "AnyLosses",
    jobs: int | None,
    display: Display,
) -> None:
    from kcsim.scenarios.cli.explore_workers import map_in_order, processors
    from kcsim.scenarios.what_if.answer_text import ASSUMED, heading
    from kcsim.scenarios.what_if.loss_ranking import effect_json, effect_of, ranked, ranking_lines
    from kcsim.scenarios.what_if.what_if_run import ask_what_if

    if not sweep.losses:
        fail("--lose: the snapshot has too few registered brokers", ExitStatus.USAGE)
    began_s = time.monotonic()
    processes = min(jobs or processors(), len(sweep.losses))
    with _exit_on_failed_runs():
        effects = ranked(list(map_in_order(processes, partial(effect_of, snapshot, question), sweep.losses)))
    took = f"{len(effects)} losses in {time.monotonic() - began_s:.1f} s"
    left_out = f"; {sweep.left_out} more were not drawn" if sweep.left_out else ""
    print(f"{took}, with {processes} processes{left_out}", file=sys.stderr)
    if display.page is not None:
        from kcsim.scenarios.what_if.what_if_page import ranking_page

        with _exit_on_failed_runs():
            before = ask_what_if(snapshot, replace(question, returns=False)).steps
        _write(display.page, ranking_page(snapshot, question, before, effects, sweep.left_out, display.everything))
    if display.output is OutputFormat.JSON:
        found = {"source": snapshot.source, "taken": snapshot.taken, "not_drawn": sweep.left_out}
        print(json.dumps({**found, "losses": [effect_json(one) for one in effects]}, indent=2, ensure_ascii=False))
        return
    for line in (*heading(snapshot), "", *ranking_lines(effects, None if display.everything else RANKED), "", ASSUMED):
        print(line)


def _write(page: Path, html: str) -> None:
    write_page_file("--page", page, html)
    print(f"written: {page}, {len(html.encode()) // 1024} KB", file=sys.stderr)


@contextmanager
def _exit_on_failed_runs() -> Iterator[None]:
    from kcsim.errors import TimedOutError
    from kcsim.eventlog.run_actions import ClusterError
    from kcsim.scenarios.cli.explore_workers import WorkerDiedError

    try:
        yield
    except (ClusterError, TimedOutError, WorkerDiedError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
