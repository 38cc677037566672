"""kcsim events: the kinds of event in the event log, and what their columns mean."""

from collections.abc import Iterator
from typing import Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, fail


def events(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", autocompletion=completion.event_kinds, help="A kind of event, as LeaderElection."),
    ] = None,
) -> None:
    """List the kinds of event, or show the columns of one kind and their values.

    \b
    kcsim events
    kcsim events LeaderElection

    Patterns of events in scenarios have the same columns, with hyphens. The reference page is
    docs/reference/event-log.md.
    """
    from kcsim.eventlog.event_reference import kinds_by_section
    from kcsim.scenarios.cli.reference_text import print_entries
    from kcsim.text import did_you_mean

    if kind is None:
        for heading, kinds in kinds_by_section().items():
            print_entries(heading, ((found.value, found.meaning) for found in kinds))
        return
    known = {found.value: found for kinds in kinds_by_section().values() for found in kinds}
    if kind not in known:
        hint = did_you_mean(kind, known) or "; `kcsim events` lists them"
        fail(f"{kind!r} is no kind of event{hint}", ExitStatus.USAGE)
    print_entries(f"{kind}: {known[kind].meaning}", _columns(kind))


def _columns(name: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of a kind of event with their meaning and their values."""
    from kcsim.eventlog.event_reference import ALWAYS, column_meanings, columns_of
    from kcsim.eventlog.events import EventKind
    from kcsim.scenarios.language.event_values import VALUES
    from kcsim.text import comma_separated

    kind, meanings = EventKind(name), column_meanings()
    for column in (*ALWAYS, *columns_of(kind)):
        values = VALUES.get((kind, column), ())
        meant = f" One of: {comma_separated(values)}." if values else ""
        yield column, f"{meanings[column]}{meant}"
