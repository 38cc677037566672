"""The text of a file that an option names."""

from pathlib import Path

from kcsim.scenarios.cli.command_exit import ExitStatus, fail


def read_option_file(option: str, file: Path) -> str:
    """Return the file's text, or end the command."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{option}: {file}: {getattr(error, 'strerror', None) or error}", ExitStatus.USAGE)
