"""What was understood of a cluster's log files, and what they do not show, as lines for people."""

from collections.abc import Iterable, Iterator

from kcsim.scenarios.imported.kafka_logs.entries import ControllerChange, Entry, NotShown
from kcsim.scenarios.imported.kafka_logs.tally import Tally


def tally_lines(tally: Tally, entries: Iterable[Entry], not_shown: Iterable[NotShown]) -> Iterator[str]:
    """Yield what to print.

    Args:
        entries: those of the history; the elections of controllers are looked at.
    """
    yield f"records: {tally.history} with history, {tally.no_history} without, {tally.unknown.total()} unknown"
    for logger, count in sorted(tally.unknown.items(), key=lambda item: (-item[1], item[0])):
        yield f"  {count:>9} unknown of {logger}"
    if tally.first_broken is not None:
        place, reason = tally.first_broken
        yield f"broken lines: {tally.broken}, the first at {place}: {reason}"
    elected = [e for e in entries if isinstance(e, ControllerChange) and e.controller is not None]
    told = ", ".join(f"broker-{e.controller} (epoch {e.controller_epoch})" for e in elected)
    yield f"controllers: {told or 'none is shown'}"
    missing = [f"  {what}" for what in not_shown]
    yield "what these files do not show:" if missing else "nothing is noticed to be missing"
    yield from missing
