"""Transcripts: commands, and under each what the controllers did in response.

A transcript is the expected result of its commands. `python -m tests.controller.transcripts --record` plays all, or those
named, on the model, and rewrites the results under the commands: read the difference, and keep only what you can explain.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.controller.controller_harness import ControllerHarness, Script
from tests.controller.transcript_commands import Commands

FOLDER = Path(__file__).parent
INDENT = "    "
MODEL_ONLY = "# model only"
"""Line of a transcript whose timing matters, so that it is played in virtual time only."""


def transcripts() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def is_model_only(transcript: Path) -> bool:
    return any(line.startswith(MODEL_ONLY) for line in transcript.read_text().splitlines())


def script_of(text: str, say: Callable[[str], None]) -> Script:
    """Return a script that plays a transcript: it repeats commands and comments, and adds each command's results."""

    async def script(harness: ControllerHarness) -> None:
        commands = Commands(harness)
        for line in without_answers(text):
            say(line)
            if line and not line.startswith("#"):
                for answer in await commands.carry_out(line):
                    say(INDENT + answer)

    return script


def without_answers(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not line.startswith(INDENT))
