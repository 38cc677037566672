"""What reading events returns: the table of events, and the table of what is none."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EventTables(NamedTuple):
    """The two tables: events (tables/events_table.py) and rejects (tables/rejects_table.py). Both are lazy."""

    events: "DataFrame"
    rejects: "DataFrame"
