"""Functions that format lists and hints for messages and for the event log's text columns."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice

NAMED_AT_MOST = 5
LONG_ENOUGH = 4
"""A shorter beginning of a word is taken for a mistyped word."""


def summarize(items: Collection[object], at_most: int = NAMED_AT_MOST) -> str:
    """Return the first few items and the number of the others: "orders-0, orders-1 and 98 more". Empty text for no items."""
    first = ", ".join(map(str, islice(items, at_most)))
    more = len(items) - at_most
    return f"{first} and {more} more" if more > 0 else first


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return '; did you mean …?' with the nearest known word, or empty text when no known word is near.

    A word of which the beginning was written is nearer than any other: Leader means LeaderElection, not Ledger.
    """
    words = list(known)
    begun = [candidate for candidate in words if len(str(word)) >= LONG_ENOUGH and candidate.startswith(str(word))]
    near = get_close_matches(str(word), begun or words, n=1, cutoff=0.0 if begun else 0.5)
    return suggestion(near[0]) if near else ""


def suggestion(word: str) -> str:
    """Return '; did you mean …?' with the given word."""
    return f"; did you mean {word}?"


def comma_separated(words: Iterable[object]) -> str:
    """Return the words separated by commas."""
    return ", ".join(map(str, words))


def format_ids(ids: Iterable[int]) -> str:
    """Format ids, such as those of brokers, as in the event log: [1, 2]."""
    return str(list(ids))
