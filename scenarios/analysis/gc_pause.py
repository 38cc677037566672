"""A pause of Python's garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the garbage collector off within the context.

    Rows are many and are part of no reference cycle. Searching thousands of new rows for cycles takes as long as making
    them, or longer. What was made within the context and is still there at its end is searched then: the context should
    end after the rows have.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
