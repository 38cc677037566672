"""What a command has said, less what no two runs have in common, or only Java says.

Left out are stack traces, entries of a log, and the table of all options below a wrong one; the addresses of servers; and
blanks before and after it all, which whoever made the recordings cut off.
"""

import re
from collections.abc import Iterator, Sequence

WHAT_JAVA_PRINTS = "what-java-prints"
"""The reason's name in FIDELITY.md."""
FRAME = re.compile(r"\s+at \S|\s+\.\.\. \d+ more$|Caused by: |\s+Suppressed: ")
"""A line of a stack trace that is not its first."""
LOG_ENTRY = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\] |log4j:|SLF4J:")
LOGGER = re.compile(r"\(\S+\)$")
"""How an entry of the log ends, perhaps lines after it began."""
OPTION_TABLE = re.compile(r"Option\s+Description\s*$")
ADDRESS = re.compile(r"(--zookeeper|--bootstrap-server)[ =]\S+")


def said(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines that two runs of a command have in common."""
    kept = [ADDRESS.sub(r"\1 …", line) for line in _without_java(lines)]
    text = "\n".join(kept).strip()
    return tuple(text.split("\n")) if text else ()


def _without_java(lines: Sequence[str]) -> Iterator[str]:
    is_logged = False
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if OPTION_TABLE.match(line):
            return
        if is_logged or LOG_ENTRY.match(line):
            # The entry goes on to its logger's name, through a stack trace if there is one; log4j's own are one line each.
            is_open = is_logged or line.startswith("[")
            is_logged = is_open and (FRAME.match(line) is not None or not LOGGER.search(line))
        elif not FRAME.match(line) and not FRAME.match(following):
            yield line
