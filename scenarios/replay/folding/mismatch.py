"""Where a history and the fold of it disagree."""

from typing import Any

import msgspec


class Mismatch(msgspec.Struct, frozen=True):
    """One row of the table of mismatches.

    Attributes:
        batch, run, topic, partition, seq, t_ms: of the event at which it shows.
        what: what is told differently, in a word or two.
        expected: what the history tells.
        computed: what the controller's decisions come to, on what the fold knows.
    """

    batch: str
    run: str
    topic: str
    partition: int
    seq: int
    t_ms: int
    what: str
    expected: str
    computed: str

    def __str__(self) -> str:
        where = f"{self.run}: event {self.seq} of {self.topic}-{self.partition}"
        return f"{where}: {self.what}: the history tells {self.expected}, the replay comes to {self.computed}"


def mismatches_arrow_schema() -> Any:
    """The columns as a pyarrow.Schema, in the order of Mismatch."""
    import pyarrow as pa

    ints = {"partition", "seq", "t_ms"}
    return pa.schema([(name, pa.int64() if name in ints else pa.string()) for name in Mismatch.__struct_fields__])
