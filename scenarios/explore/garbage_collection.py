"""Seldom search for garbage while scenarios run: almost all objects of a run are freed as soon as nothing refers to them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""More than a run leaves: what it leaves is found a few runs later, if others follow, else when it ends."""


@contextmanager
def garbage_collected_seldom() -> Iterator[None]:
    """Let many objects be created before they are searched for garbage, which takes a tenth of a run's time otherwise.

    Whoever runs many scenarios wraps them all: the end of this context is followed by a collection.
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
