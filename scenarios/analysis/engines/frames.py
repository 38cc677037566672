"""Tables and columns as the analyses name them: in the words of PySpark, computed by the engine in use.

The analyses import `F`, `Window`, `Column` and `DataFrame` from here, and nothing from PySpark: so one definition of an
analysis serves every engine, and an engine needs only its own packages. Spark is in use unless `using` says otherwise.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from kcsim.scenarios.analysis.engines.engine import Engine

__all__ = ("Column", "DataFrame", "F", "Window", "engine_in_use", "using")

_CHOSEN: ContextVar[Engine] = ContextVar("engine")


def engine_in_use() -> Engine:
    """Return the engine that computes."""
    try:
        return _CHOSEN.get()
    except LookupError:
        from kcsim.scenarios.analysis.engines.spark_engine import SparkEngine

        return SparkEngine()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Compute with this engine, within the context."""
    before = _CHOSEN.set(engine)
    try:
        yield
    finally:
        _CHOSEN.reset(before)


class _Functions:
    def __getattr__(self, name: str) -> Any:
        return getattr(engine_in_use().functions, name)


class _Window:
    def __getattr__(self, name: str) -> Any:
        return getattr(engine_in_use().window, name)


if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F
else:
    Column = DataFrame = Any  # they are named in annotations only
    F, Window = _Functions(), _Window()
