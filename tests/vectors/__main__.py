"""Answer every case of vector files and compare: python -m tests.vectors [--answers] FILE…

With --answers nothing is compared; each case gives one line of JSON, {"name": …, "answer": …}.
Exit status: 0 all as expected, or all answered; 1 something differs; 64 a file or a case cannot be understood.
"""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.vectors.answers import answer, mismatches, operation_of
from tests.vectors.cases import BadCaseError, Case, Version, read_cases

USAGE = 64


def main(arguments: Sequence[str]) -> int:
    flags = [argument for argument in arguments if argument.startswith("-")]
    files = [Path(argument) for argument in arguments if not argument.startswith("-")]
    if not files or flags not in ([], ["--answers"]):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return USAGE
    try:
        cases = [case for path in files for case in read_cases(path)]
        for case in cases:
            operation_of(case)
        return _answer_all(cases) if flags else _compare_all(cases)
    except BadCaseError as error:
        print(error, file=sys.stderr)
        return USAGE


def _answer_all(cases: Sequence[Case]) -> int:
    for case in cases:
        print(json.dumps({"name": case.name, "answer": answer(case)}))
    return 0


def _compare_all(cases: Sequence[Case]) -> int:
    unanswerable = [case for case in cases if Version.RECENT not in case.expected]
    if unanswerable:
        raise BadCaseError(f"{unanswerable[0]}: nothing is expected; --answers answers without comparing")
    wrong = 0
    for case in cases:
        found = [*mismatches(case)]
        wrong += bool(found)
        for line in found:
            print(line)
    print(f"{len(cases)} cases, {wrong} answered wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `… | head` ends it without a traceback
    sys.exit(main(sys.argv[1:]))
