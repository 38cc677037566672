"""The lines of progress that a command prints on stderr, of which there are more on a slow machine."""

import re

PROGRESS = re.compile(r"^[a-z]+(?:: [a-z-]+)?: (?:(?:[\d,]+ rows read, )?\d+ of \d+ tasks, )?\d+ s\n", re.MULTILINE)


def without_progress(stderr: str) -> str:
    """Return what else was printed."""
    return PROGRESS.sub("", stderr)
