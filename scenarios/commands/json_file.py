"""A file that an option names, read whole."""

from pathlib import Path

from kcsim.scenarios.commands.ending import ExitStatus, give_up


def read_text(option: str, file: Path) -> str:
    """The file's text, or the end of the command."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        give_up(f"{option}: {file}: {getattr(error, 'strerror', None) or error}", ExitStatus.USAGE)
