"""--format: how tables are kept. Nothing else, so that it costs nothing to import."""

from enum import StrEnum


class TableFormat(StrEnum):
    """How tables are kept."""

    PARQUET = "parquet"
    DELTA = "delta"
