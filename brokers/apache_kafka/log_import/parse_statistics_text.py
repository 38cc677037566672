"""Print what was understood of a cluster's log files, and what the files do not show, as lines for people."""

from collections.abc import Iterable, Iterator

from kcsim.brokers.apache_kafka.log_import.entries import ControllerRoleChange, HistoryEntry, NotShown
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics


def statistics_lines(
    statistics: ParseStatistics, entries: Iterable[HistoryEntry], not_shown: Iterable[NotShown]
) -> Iterator[str]:
    """Yield the lines to print.

    Args:
        entries: those of the history; the elections of controllers are taken from them.
    """
    unknown = statistics.unknown.total()
    yield f"records: {statistics.history} with history, {statistics.no_history} without, {unknown} unknown"
    for logger, count in sorted(statistics.unknown.items(), key=lambda item: (-item[1], item[0])):
        yield f"  {count:>9} unknown of {logger}"
    if statistics.first_broken is not None:
        place, reason = statistics.first_broken
        yield f"broken lines: {statistics.broken}, the first at {place}: {reason}"
    elected = [e for e in entries if isinstance(e, ControllerRoleChange) and e.controller is not None]
    controllers = ", ".join(f"broker-{e.controller} (epoch {e.controller_epoch})" for e in elected)
    yield f"controllers: {controllers or 'none is shown'}"
    missing = [f"  {what}" for what in not_shown]
    yield "what these files do not show:" if missing else "nothing is missing as far as can be seen"
    yield from missing
