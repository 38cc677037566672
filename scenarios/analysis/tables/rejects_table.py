"""The table of rejects: records that should be events and are none, with their place and the reason. No record is lost.

Importers of logs use the table too, with reasons of their own: `reason` is few words, to be counted by; `detail` is the
sentence.
"""

from enum import StrEnum
from typing import Any, NamedTuple

from kcsim.eventlog.arrow_types import arrow_fields

TEXT_LENGTH = 1_000


class Reason(StrEnum):
    """Why something in a trace is no event."""

    NOT_JSON = "not JSON"
    WRONG_TYPE = "wrong type"
    MISSING_COLUMN = "missing column"
    UNKNOWN_KIND = "unknown kind"
    OUT_OF_RANGE = "out of range"  # a negative seq, a number of more than 64 bits
    NEWER_VERSION = "newer version"  # of the format: the whole run, because unknown columns may change the meaning of others
    BROKEN_OFF = "broken off"  # the last line was never finished
    EMPTY = "empty file"
    UNREADABLE = "unreadable file"  # from here on
    FOREIGN = "not a trace"  # a Parquet file of other columns
    TOO_LATE = "too late"  # an event that a streaming query waited for, but not as long


class Reject(NamedTuple):
    """One reject.

    Attributes:
        batch, run: as in the table of events; `run` is null where it is unknown.
        file: its path; of a record of Kafka, kafka://SERVERS/TOPIC/PARTITION.
        line: line of a text, row of a Parquet file, from 1; offset of a record of Kafka; null for a whole file, or if it is
            unknown.
        reason: why, in few words.
        detail: why, in a sentence.
        text: the rejected text, cut after TEXT_LENGTH characters; null for a whole file.
    """

    batch: str
    run: str | None
    file: str
    line: int | None
    reason: str
    detail: str
    text: str | None


def cut(text: str | bytes) -> str:
    """Return the `text` of a reject: the part of it that is kept, without the line's end."""
    shown = text.decode(errors="replace") if isinstance(text, bytes) else text
    return shown.rstrip("\r\n")[:TEXT_LENGTH]


def rejects_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema."""
    import pyarrow as pa

    return pa.schema(arrow_fields(Reject))
