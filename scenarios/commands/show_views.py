"""What kcsim show prints: a timeline, the cluster at a moment, a diagram; or what is wrong with what was asked."""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from kcsim.scenarios.commands.ending import ExitStatus, Finished, give_up
from kcsim.scenarios.language.words import PARTITION, did_you_mean, parse_partition
from kcsim.scenarios.reading.cluster_at import ClusterAt, cluster_at
from kcsim.scenarios.reading.event_filter import EventFilter, NamesSeen
from kcsim.scenarios.reading.moments import BadMomentError, Moment, check_order, parse_moment
from kcsim.scenarios.reading.trace_reading import TraceReading
from kcsim.scenarios.reporting.of_note import Teller, Told
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import TopicPartition


class AtMoment(NamedTuple):
    """What to show of a moment; neither tree nor topics: the cluster. `everything`: also where it is much."""

    tree: bool
    paths: tuple[str, ...]
    describe: bool
    topics: tuple[str, ...]
    everything: bool


# --- the options that choose events ----------------------------------------------------------------------------------------


def chosen(
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
    """The events that were asked for, or the end of the command. Who names a kind wants it, of note or not."""
    begin = None if from_ is None else moment("--from", from_, may_be_end=False)
    end = None if to is None else moment("--to", to)
    try:
        check_order(begin, end)
    except BadMomentError as error:
        give_up(f"--to: {error}", ExitStatus.USAGE)
    for one in path or ():
        if not one.startswith("/"):
            give_up(f"--path: {one!r} does not begin with /", ExitStatus.USAGE)
    return EventFilter(
        nodes=tuple(node or ()),
        topics=tuple(topic or ()),
        partitions=tuple(_partition(one) for one in partition or ()),
        kinds=frozenset(_kind(one) for one in kind or ()),
        paths=tuple(path or ()),
        faults=faults,
        of_note=not (everything or kind or path),
        begin=begin,
        end=end,
    )


def moment(option: str, text: str, may_be_end: bool = True) -> Moment:
    """Read a moment, or end the command."""
    try:
        return parse_moment(text, may_be_end)
    except BadMomentError as error:
        give_up(f"{option}: {error}", ExitStatus.USAGE)


def _partition(text: str) -> TopicPartition:
    if not re.fullmatch(PARTITION, text):
        give_up(f"--partition: {text!r} is no partition; write it as orders-0", ExitStatus.USAGE)
    return parse_partition(text)


def _kind(text: str) -> EventKind:
    kinds = {kind.value: kind for kind in EventKind}
    if text not in kinds:
        give_up(f"--kind: {text!r} is no kind of event{did_you_mean(text, kinds)}", ExitStatus.USAGE)
    return kinds[text]


# --- the trace -------------------------------------------------------------------------------------------------------------


@contextmanager
def trace_at_fault(reading: TraceReading) -> Iterator[None]:
    """End the command as the trace deserves it, once what can be told is told."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads on, which is no fault of the trace
    except OSError as error:
        give_up(f"{reading.path}: {error.strerror or error}", ExitStatus.USAGE)
    if reading.nothing_read is not None:
        give_up(reading.nothing_read, ExitStatus.USAGE)
    if reading.problem is not None:
        sys.stdout.flush()
        print(f"{reading.problem}; what came after that is not told", file=sys.stderr)
        raise Finished(ExitStatus.UNDECIDED)


def _not_there(reading: TraceReading, message: str) -> NoReturn:
    """End the command, for want of what was asked for: perhaps because it would come after the break."""
    if reading.nothing_read is not None:
        give_up(reading.nothing_read, ExitStatus.USAGE)
    if reading.problem is not None:
        give_up(f"{reading.problem}; {message}", ExitStatus.UNDECIDED)
    give_up(f"{reading.path}: {message}", ExitStatus.USAGE)


# --- timeline and diagram --------------------------------------------------------------------------------------------------


def show_timeline(trace: Path, wanted: EventFilter, with_causes: bool, output: str) -> None:
    """Print the events that were asked for as they are read."""
    reading, names = TraceReading(trace), NamesSeen()
    told = (told for told in _told(reading, wanted, names) if wanted.wants(told))
    with trace_at_fault(reading):
        count = {"table": _print_table, "json": _print_json, "jsonl": _print_jsonl}[output](told, with_causes)
        if count == 0 and reading.last is not None:
            _tell_of_nothing(names, wanted)


def _told(reading: TraceReading, wanted: EventFilter, names: NamesSeen) -> Iterator[Told]:
    """Every event up to the end that was asked for: what is said of one depends on those before it."""
    teller = Teller()
    for event in reading:
        if wanted.end is not None and wanted.end.is_before(event):
            return
        names.see(event)
        yield teller.tell(event)
        if wanted.end is not None and wanted.end.is_the_last(event):
            return


def _print_table(told: Iterable[Told], with_causes: bool) -> int:
    from kcsim.scenarios.reading.timeline_text import TimelineText

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    text, count = TimelineText(width, with_causes), 0
    for one in told:
        count += 1
        for line in text.lines(one):
            print(line)
    return count


def _print_json(told: Iterable[Told], with_causes: bool) -> int:
    """One array, an event a line; with its cause in any case."""
    from kcsim.scenarios.reading.timeline_text import event_json

    count = 0
    for one in told:
        print("," if count else "[")
        print(json.dumps(event_json(one), ensure_ascii=False), end="")
        count += 1
    print("\n]" if count else "[]")
    return count


def _print_jsonl(told: Iterable[Told], with_causes: bool) -> int:
    """As a trace has them."""
    import msgspec

    encoder, count = msgspec.json.Encoder(), 0
    for one in told:
        count += 1
        print(encoder.encode(one.event).decode())
    return count


def _tell_of_nothing(names: NamesSeen, wanted: EventFilter) -> None:
    told = [*names.unknown(wanted)] or ["no event of the trace is as asked for" + (", or of note" if wanted.of_note else "")]
    for sentence in told:
        print(sentence, file=sys.stderr)


def show_diagram(trace: Path, wanted: EventFilter, most: int, everything: bool) -> None:
    """Print the diagram of the events that were asked for."""
    from kcsim.scenarios.reading.sequence_diagram import SequenceDiagram, is_drawn

    reading, names, diagram = TraceReading(trace), NamesSeen(), SequenceDiagram(most)
    unranked = replace(wanted, of_note=False)
    with trace_at_fault(reading):
        for told in _told(reading, wanted, names):
            if unranked.wants(told) and (not wanted.of_note or is_drawn(told)):
                diagram.add(told)
        if diagram:
            for line in diagram.lines():
                print(line)
        elif reading.last is not None:
            _tell_of_nothing(names, wanted)
        if diagram.rest is not None:
            print(f"{diagram.rest}; narrow it down, or say --most", file=sys.stderr)


# --- a moment --------------------------------------------------------------------------------------------------------------


def show_moment(trace: Path, at: str, wishes: AtMoment, as_json: bool) -> None:
    """Print the cluster, its znodes or its topics as of a moment."""
    from kcsim.scenarios.reading.topics_at import NoSuchTopicError
    from kcsim.scenarios.znode_dump import NoSuchZnodeError

    then = moment("--at", at)
    reading = TraceReading(trace)
    with trace_at_fault(reading):
        try:
            found = cluster_at(reading, then)
        except BadMomentError as error:
            _not_there(reading, f"--at: {error}")
        try:
            if as_json:
                print(json.dumps(_moment_json(found, wishes), indent=2, ensure_ascii=False))
            else:
                for line in _moment_lines(found, wishes):
                    print(line)
        except (NoSuchTopicError, NoSuchZnodeError) as error:
            _not_there(reading, str(error))


def _moment_lines(found: ClusterAt, wishes: AtMoment) -> Iterator[str]:
    if not wishes.tree and not wishes.describe:
        from kcsim.scenarios.reading.cluster_text import cluster_lines

        yield from cluster_lines(found, wishes.everything)
    if wishes.describe:
        from kcsim.scenarios.admin.topic_text import description_lines
        from kcsim.scenarios.reading.topics_at import topics_at

        yield from description_lines(topics_at(found.state, wishes.topics))
    if wishes.tree:
        from kcsim.scenarios.reading.tree_at import tree_at, tree_lines

        for path in wishes.paths:
            yield from tree_lines(tree_at(found.state, path))


def _moment_json(found: ClusterAt, wishes: AtMoment) -> dict[str, Any]:
    from kcsim.scenarios.admin.topic_text import description_json
    from kcsim.scenarios.reading.cluster_text import cluster_json
    from kcsim.scenarios.reading.topics_at import topics_at
    from kcsim.scenarios.reading.tree_at import tree_at

    told = cluster_json(found)
    if wishes.describe:
        told["topics"] = description_json(topics_at(found.state, wishes.topics))
    if wishes.tree:
        znodes = {path: node for top in wishes.paths for path, node in tree_at(found.state, top).items()}
        told["znodes"] = {path: node._asdict() for path, node in sorted(znodes.items())}
    return told
