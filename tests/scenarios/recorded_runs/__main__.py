"""Run what is recorded again: show where it differs, or record it anew."""

import argparse
import difflib
import sys

from tests.scenarios.recorded_runs import RECORDED, lines_of, recorded, run_names


def main() -> int:
    """Run scenarios; return exit status 1 when one differs and is not recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.recorded_runs", description=__doc__)
    parser.add_argument("runs", nargs="*", help="default: all")
    parser.add_argument("--record", action="store_true", help="write down what the runs came to")
    arguments = parser.parse_args()
    before = recorded() if RECORDED.exists() else {}
    now = {name: lines_of(name) if not arguments.runs or name in arguments.runs else before[name] for name in run_names()}
    for name, lines in now.items():
        for line in difflib.unified_diff(before.get(name, []), lines, lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                print(line)
    if arguments.record:
        RECORDED.write_text("".join(f"{line}\n" for lines in now.values() for line in lines), encoding="utf-8")
    return int(now != before and not arguments.record)


if __name__ == "__main__":
    sys.exit(main())
