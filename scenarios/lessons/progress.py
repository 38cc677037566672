"""A reader's progress in the course, kept between runs in a file of the user's state directory (XDG_STATE_HOME)."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "lessons.json"


@dataclass(frozen=True, slots=True)
class LessonProgress:
    """How far a reader came in a lesson: its number of questions, and how many of these were asked and answered right."""

    questions: int
    asked: int
    right: int

    @property
    def is_done(self) -> bool:
        return self.asked == self.questions

    def __str__(self) -> str:
        return f"{self.right} of {self.questions} right" if self.is_done else f"{self.asked} of {self.questions} asked"


def progress_file() -> Path:
    """Return where progress is kept: kcsim/lessons.json in XDG_STATE_HOME, or in ~/.local/state if that is not set."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    return state / "kcsim" / FILE


def read_progress(file: Path) -> dict[str, LessonProgress]:
    """Return lesson name -> progress. A file that is missing or is not in our format contains no progress."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): LessonProgress(**given) for name, given in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep_progress(file: Path, name: str, made: LessonProgress) -> None:
    """Write the progress in one lesson. A lesson that is done stays so when it is begun again. Raises: OSError."""
    known: Mapping[str, LessonProgress] = read_progress(file)
    if not made.asked or (name in known and known[name].is_done and not made.is_done):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    content = {lesson: asdict(progress) for lesson, progress in sorted({**known, name: made}.items())}
    beside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    beside.replace(file)
