"""The output of kcsim show: a timeline, the cluster at a point in time, a diagram, or the error for invalid options."""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.language.value_types import PARTITION, parse_partition
from kcsim.scenarios.views.terminal.cluster_snapshot import ClusterSnapshot, cluster_snapshot
from kcsim.scenarios.views.terminal.event_filter import EventFilter, NamesSeen
from kcsim.scenarios.views.trace.event_importance import EventRanker, RankedEvent
from kcsim.scenarios.views.trace.time_point import BadTimePointError, TimePoint, check_order, parse_time_point
from kcsim.scenarios.views.trace.trace_reading import TraceReading
from kcsim.text import did_you_mean
from kcsim.vocabulary import TopicPartition


class SnapshotOptions(NamedTuple):
    """What to show of one point in time.

    With neither tree nor topics: the cluster. `everything`: long lists are not shortened.
    """

    tree: bool
    paths: tuple[str, ...]
    describe: bool
    topics: tuple[str, ...]
    everything: bool


# --- the options that select events ----------------------------------------------------------------------------------------


def event_filter_from_options(
    node: list[str] | None,
    topic: list[str] | None,
    partition: list[str] | None,
    kind: list[str] | None,
    path: list[str] | None,
    faults: bool,
    from_: str | None,
    to: str | None,
    everything: bool,
) -> EventFilter:
    """Return the filter for the requested events, or end the command.

    Events of a requested kind are shown whether they are notable or not.
    """
    begin = None if from_ is None else time_point_option("--from", from_, may_be_end=False)
    end = None if to is None else time_point_option("--to", to)
    try:
        check_order(begin, end)
    except BadTimePointError as error:
        fail(f"--to: {error}", ExitStatus.USAGE)
    for one in path or ():
        if not one.startswith("/"):
            fail(f"--path: {one!r} does not begin with /", ExitStatus.USAGE)
    return EventFilter(
        nodes=tuple(node or ()),
        topics=tuple(topic or ()),
        partitions=tuple(_partition(one) for one in partition or ()),
        kinds=frozenset(_kind(one) for one in kind or ()),
        paths=tuple(path or ()),
        faults=faults,
        notable_only=not (everything or kind or path),
        begin=begin,
        end=end,
    )


def time_point_option(option: str, text: str, may_be_end: bool = True) -> TimePoint:
    """Read a point in time, or end the command."""
    try:
        return parse_time_point(text, may_be_end)
    except BadTimePointError as error:
        fail(f"{option}: {error}", ExitStatus.USAGE)


def _partition(text: str) -> TopicPartition:
    if not re.fullmatch(PARTITION, text):
        fail(f"--partition: {text!r} is no partition; write it as orders-0", ExitStatus.USAGE)
    return parse_partition(text)


def _kind(text: str) -> EventKind:
    kinds = {kind.value: kind for kind in EventKind}
    if text not in kinds:
        hint = did_you_mean(text, kinds) or "; `kcsim events` lists them"
        fail(f"--kind: {text!r} is no kind of event{hint}", ExitStatus.USAGE)
    return kinds[text]


# --- the trace -------------------------------------------------------------------------------------------------------------


@contextmanager
def exit_on_trace_errors(reading: TraceReading) -> Iterator[None]:
    """End the command if the trace cannot be read, is empty or is truncated; what can be read is printed first."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output has closed it, which is no fault of the trace
    except OSError as error:
        fail(f"{reading.path}: {error.strerror or error}", ExitStatus.USAGE)
    if reading.nothing_read is not None:
        fail(reading.nothing_read, ExitStatus.USAGE)
    if reading.problem is not None:
        sys.stdout.flush()
        print(f"{reading.problem}; what came after that is not shown", file=sys.stderr)
        raise CommandExit(ExitStatus.UNDECIDED)


def _fail_not_found(reading: TraceReading, message: str) -> NoReturn:
    """End the command because a requested item was not found. A truncated trace is a possible reason."""
    if reading.nothing_read is not None:
        fail(reading.nothing_read, ExitStatus.USAGE)
    if reading.problem is not None:
        fail(f"{reading.problem}; {message}", ExitStatus.UNDECIDED)
    fail(f"{reading.path}: {message}", ExitStatus.USAGE)


# --- timeline and diagram --------------------------------------------------------------------------------------------------


def show_timeline(trace: Path, wanted: EventFilter, with_causes: bool, output: str) -> None:
    """Print the requested events as they are read."""
    reading, names = TraceReading(trace), NamesSeen()
    events = (event for event in _ranked_events(reading, wanted, names) if wanted.wants(event))
    with exit_on_trace_errors(reading):
        count = {"table": _print_table, "json": _print_json, "jsonl": _print_jsonl}[output](events, with_causes)
        if count == 0 and reading.last is not None:
            _print_no_match(names, wanted)


def _ranked_events(reading: TraceReading, wanted: EventFilter, names: NamesSeen) -> Iterator[RankedEvent]:
    """Yield every event up to the requested end. All are ranked, because an event's narration depends on those before it."""
    ranker = EventRanker()
    for event in reading:
        if wanted.end is not None and wanted.end.is_before(event):
            return
        names.see(event)
        yield ranker.rank(event)
        if wanted.end is not None and wanted.end.is_the_last(event):
            return


def _print_table(events: Iterable[RankedEvent], with_causes: bool) -> int:
    from kcsim.scenarios.views.terminal.timeline_text import TimelineText

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    text, count = TimelineText(width, with_causes), 0
    for one in events:
        count += 1
        for line in text.lines(one):
            print(line)
    return count


def _print_json(events: Iterable[RankedEvent], with_causes: bool) -> int:
    """Print one array with an event per line. Each event has its cause, whatever `with_causes` is."""
    from kcsim.scenarios.views.terminal.timeline_text import event_json

    count = 0
    for one in events:
        print("," if count else "[")
        print(json.dumps(event_json(one), ensure_ascii=False), end="")
        count += 1
    print("\n]" if count else "[]")
    return count


def _print_jsonl(events: Iterable[RankedEvent], with_causes: bool) -> int:
    """Print the events as a trace has them."""
    import msgspec

    encoder, count = msgspec.json.Encoder(), 0
    for one in events:
        count += 1
        print(encoder.encode(one.event).decode())
    return count


def _print_no_match(names: NamesSeen, wanted: EventFilter) -> None:
    messages = [*names.unknown(wanted)] or [
        "no event of the trace is as asked for" + (", or of note" if wanted.notable_only else "")
    ]
    for sentence in messages:
        print(sentence, file=sys.stderr)


def show_diagram(trace: Path, wanted: EventFilter, most: int, everything: bool) -> None:
    """Print the diagram of the requested events."""
    from kcsim.scenarios.views.terminal.sequence_diagram import SequenceDiagram, is_drawn

    reading, names, diagram = TraceReading(trace), NamesSeen(), SequenceDiagram(most)
    unranked = replace(wanted, notable_only=False)
    with exit_on_trace_errors(reading):
        for event in _ranked_events(reading, wanted, names):
            if unranked.wants(event) and (not wanted.notable_only or is_drawn(event)):
                diagram.add(event)
        if diagram:
            for line in diagram.lines():
                print(line)
        elif reading.last is not None:
            _print_no_match(names, wanted)
        if diagram.rest is not None:
            print(f"{diagram.rest}; narrow the selection, or raise --most", file=sys.stderr)


# --- a point in time -------------------------------------------------------------------------------------------------------


def show_snapshot(trace: Path, at: str, options: SnapshotOptions, as_json: bool) -> None:
    """Print the cluster, its znodes or its topics as of a point in time."""
    from kcsim.scenarios.views.terminal.topic_snapshot import NoSuchTopicError
    from kcsim.zk.capture.znode_dump import NoSuchZnodeError

    then = time_point_option("--at", at)
    reading = TraceReading(trace)
    with exit_on_trace_errors(reading):
        try:
            found = cluster_snapshot(reading, then)
        except BadTimePointError as error:
            _fail_not_found(reading, f"--at: {error}")
        try:
            if as_json:
                print(json.dumps(_snapshot_json(found, options), indent=2, ensure_ascii=False))
            else:
                for line in _snapshot_lines(found, options):
                    print(line)
        except (NoSuchTopicError, NoSuchZnodeError) as error:
            _fail_not_found(reading, str(error))


def _snapshot_lines(found: ClusterSnapshot, options: SnapshotOptions) -> Iterator[str]:
    if not options.tree and not options.describe:
        from kcsim.scenarios.views.terminal.cluster_text import cluster_lines

        yield from cluster_lines(found, options.everything)
    if options.describe:
        from kcsim.scenarios.views.terminal.topic_snapshot import topic_snapshot
        from kcsim.scenarios.views.terminal.topic_text import description_lines

        yield from description_lines(topic_snapshot(found.state, options.topics))
    if options.tree:
        from kcsim.scenarios.views.terminal.tree_snapshot import tree_lines, tree_snapshot

        for path in options.paths:
            yield from tree_lines(tree_snapshot(found.state, path))


def _snapshot_json(found: ClusterSnapshot, options: SnapshotOptions) -> dict[str, Any]:
    from kcsim.scenarios.views.terminal.cluster_text import cluster_json
    from kcsim.scenarios.views.terminal.topic_snapshot import topic_snapshot
    from kcsim.scenarios.views.terminal.topic_text import description_json
    from kcsim.scenarios.views.terminal.tree_snapshot import tree_snapshot

    result = cluster_json(found)
    if options.describe:
        result["topics"] = description_json(topic_snapshot(found.state, options.topics))
    if options.tree:
        znodes = {path: node for top in options.paths for path, node in tree_snapshot(found.state, top).items()}
        result["znodes"] = {path: node._asdict() for path, node in sorted(znodes.items())}
    return result
