"""Transcripts: commands, and under each what the controllers did about it.

A transcript is the expected answer of its commands. `python -m tests.controller.transcripts --record` plays all, or those
named, on the model, and writes anew what stands under the commands: read the difference, and keep only what you can explain.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.controller.stage import Script, Stage
from tests.controller.stage_commands import Commands

FOLDER = Path(__file__).parent
INDENT = "    "
MODEL_ONLY = "# model only"
"""A line that says: timing matters here, so this one is played in virtual time alone."""


def transcripts() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def is_model_only(transcript: Path) -> bool:
    return any(line.startswith(MODEL_ONLY) for line in transcript.read_text().splitlines())


def script_of(text: str, say: Callable[[str], None]) -> Script:
    """What plays a transcript: its commands and comments are said again, and under each command what came of it."""

    async def script(stage: Stage) -> None:
        commands = Commands(stage)
        for line in without_answers(text):
            say(line)
            if line and not line.startswith("#"):
                for answer in await commands.carry_out(line):
                    say(INDENT + answer)

    return script


def without_answers(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not line.startswith(INDENT))
