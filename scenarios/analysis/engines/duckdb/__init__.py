"""The engine for small histories: the part of PySpark's interface that the analyses use, as SQL of DuckDB."""
