"""kcsim rerun: runs the scenario of a trace again, with the settings of the trace or with others."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import BrokersKind
from kcsim.scenarios.cli.run import run_once
from kcsim.scenarios.cli.run_options import MAX_SEED, RunOptions
from kcsim.scenarios.cli.setting_option import parse_settings

if TYPE_CHECKING:
    from kcsim.eventlog.events import Event
    from kcsim.eventlog.run_record import RunRecord, RunSource


def rerun(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="What --trace has kept of a run: JSON lines, or Parquet.")],
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="A broker's setting, instead of the trace's; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the trace's.", min=-MAX_SEED - 1, max=MAX_SEED)] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROTECTION",
            autocompletion=completion.protections,
            help="Switch off this protection, too; may be repeated.",
        ),
    ] = None,
    hardening: Annotated[
        bool,
        typer.Option(
            "--hardening",
            help="Switch hardening on, as for kcsim run.",
        ),
    ] = False,
    zookeeper: Annotated[
        str | None, typer.Option(metavar="WHICH", help="Another ZooKeeper than the trace's, as for kcsim run.")
    ] = None,
    kafka_home: Annotated[
        Path | None, typer.Option(metavar="DIR", help="If the trace is of real brokers: where Kafka is, as for kcsim run.")
    ] = None,
    new_trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="OUT", help="Keep the event log of the new run here, in the form that the name says."
        ),
    ] = None,
    output: Annotated[
        OutputFormat, typer.Option(help="json: the verdict as JSON on stdout, the timeline on stderr.")
    ] = OutputFormat.TABLE,
    execute: Annotated[
        bool, typer.Option("--execute", help="Really write to a ZooKeeper that kcsim has not started, as for kcsim run.")
    ] = False,
) -> None:
    """Run the scenario of a trace again.

    The trace has the scenario, its seed and its settings; no other file is needed. On the simulated ZooKeeper, and without
    options, the new run has the same events.

    \b
    kcsim rerun run.jsonl
    kcsim rerun run.jsonl --setting zookeeper.session.timeout.ms=18000 --trace slow.jsonl
    kcsim diff run.jsonl slow.jsonl

    Exit status: as for kcsim run; 64 also when the trace has no scenario.
    """
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_text

    settings = parse_settings(setting)
    started = _first_event(trace)
    record, source = _source(trace, started)
    if new_trace is not None and new_trace.exists() and new_trace.samefile(trace):
        fail(f"--trace: {new_trace} is the trace that is run again; name another file", ExitStatus.USAGE)
    try:
        loaded = load_text(source.text, source.file)
    except ScenarioFileError as error:
        fail(f"{trace}: its scenario is not valid for this version of kcsim:\n{error}", ExitStatus.USAGE)
    _note_versions(record)
    options = RunOptions(
        zookeeper or source.zookeeper,
        (started.seed or 0) if seed is None else seed,
        BrokersKind(source.brokers),
        kafka_home,
        {**source.settings, **settings},
        tuple(dict.fromkeys([*source.without, *(without or ())])),
        new_trace,
        output=output,
        execute=execute,
        hardening=hardening or source.hardening,
    )
    run_once(loaded, options)


def _first_event(trace: Path) -> "Event":
    from kcsim.scenarios.views.trace.trace_reading import TraceReading

    reading = TraceReading(trace)
    try:
        started = next(iter(reading), None)
    except OSError as error:
        fail(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)
    if started is None:
        fail(reading.nothing_read or f"{trace}: no events", ExitStatus.USAGE)
    return started


def _source(trace: Path, started: "Event") -> "tuple[RunRecord, RunSource]":
    from kcsim.eventlog.run_record import run_record

    record = run_record(started)
    if record is not None and record.source is not None:
        return record, record.source
    if record is not None:
        why = "the run was not made from a scenario file"
    elif started.data is not None:
        why = "it was imported, not run"
    else:
        why = "an older version of kcsim recorded it, or it is a part of a trace"
    return fail(f"{trace} has no scenario to run again: {why}", ExitStatus.USAGE)


def _note_versions(record: "RunRecord") -> None:
    from kcsim.versions import versions

    ours = versions()
    for name, version in record.versions.items():
        if ours.get(name) != version:
            note = f"the trace was recorded with {name} {version}; this is {ours.get(name)}: events may differ"
            print(f"kcsim: {note}", file=sys.stderr)
