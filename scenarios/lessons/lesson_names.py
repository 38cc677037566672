"""The names of the built-in lessons. Apart from lesson_file.py, so that a list of names does not import the models."""

from pathlib import Path

LESSONS = Path(__file__).parent


def lesson_names() -> list[str]:
    """Return the names of the built-in lessons, sorted."""
    return sorted(path.stem for path in LESSONS.glob("*.yaml"))
