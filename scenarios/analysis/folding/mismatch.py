"""The differences between a history and its fold."""

from typing import Any

import msgspec

from kcsim.eventlog.arrow_types import arrow_fields


class Mismatch(msgspec.Struct, frozen=True):
    """One row of the table of mismatches.

    Attributes:
        batch, run, topic, partition, seq, t_ms: of the event at which the difference shows.
        what: what differs, in a word or two.
        recorded: what the history says.
        computed: what the controller's decisions are, given what the fold knows.
    """

    batch: str
    run: str
    topic: str
    partition: int
    seq: int
    t_ms: int
    what: str
    recorded: str
    computed: str

    def __str__(self) -> str:
        where = f"{self.run}: event {self.seq} of {self.topic}-{self.partition}"
        return f"{where}: {self.what}: the history records {self.recorded}, the replay computes {self.computed}"


def mismatches_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema, in the order of Mismatch."""
    import pyarrow as pa

    return pa.schema(arrow_fields(Mismatch))
