"""Plays transcripts on the model: shows where they differ, or writes them anew."""

import argparse
import difflib
import sys
from pathlib import Path

from tests.controller.controller_harness import on_model
from tests.controller.transcripts import script_of, transcripts


def main() -> int:
    """Play transcripts; return exit status 1 when a transcript differs and is not recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.controller.transcripts", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="default: all")
    parser.add_argument("--record", action="store_true", help="write what came of the commands into the files")
    arguments = parser.parse_args()
    differ = False
    for transcript in arguments.files or transcripts():
        before = transcript.read_text()
        output: list[str] = []
        on_model(script_of(before, output.append))
        after = "".join(f"{line}\n" for line in output)
        if after != before:
            differ = True
            named = str(transcript)
            lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), named, named)
            sys.stdout.writelines(lines)
            if arguments.record:
                transcript.write_text(after)
    return int(differ and not arguments.record)


if __name__ == "__main__":
    sys.exit(main())
