"""The stories of some runs of the library, as text.

`python -m tests.scenarios.views.narration.written_stories` writes them anew. Read the difference before you commit it:
each statement must be true of its run.
"""

from pathlib import Path

from kcsim.scenarios.views.narration.story import story_of
from tests.scenarios.views.page.conftest import run_of

FILE = Path(__file__).with_name("stories.txt")


def written_stories() -> dict[str, list[str]]:
    """Return scenario -> the sentences of its run, as the file has them."""
    stories: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            stories[[*stories][-1]].append(line.strip())
        elif line:
            stories[line] = []
    return stories


def rewrite() -> None:
    """Write the stories of the file's scenarios anew."""
    parts = ["\n".join([name, *(f"  {text}" for text in story_of(run_of(name)).sentences)]) for name in written_stories()]
    FILE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    rewrite()
