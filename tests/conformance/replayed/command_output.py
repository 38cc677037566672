"""A command's output without the parts that differ between any two runs, or that only Java prints.

Left out are stack traces, entries of a log, and the table of all options below a wrong one; the addresses of servers and the
ids of topics; and blanks before and after the whole output, which the authors of the recordings removed.
"""

import re
from collections.abc import Iterator, Sequence

WHAT_JAVA_PRINTS = "what-java-prints"
"""The reason's name in FIDELITY.md."""
FRAME = re.compile(r"\s+at \S|\s+\.\.\. \d+ more$|Caused by: |\s+Suppressed: ")
"""A line of a stack trace that is not its first."""
LOG_ENTRY = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\] |log4j:|SLF4J:")
LOGGER = re.compile(r"\(\S+\)$")
"""End of a log entry, which may be several lines after its beginning."""
OPTION_TABLE = re.compile(r"Option\s+Description\s*$")
TOPIC_ID = re.compile(r"(TopicId: )\S+")
ADDRESS = re.compile(r"(--zookeeper|--bootstrap-server)[ =]\S+")


def comparable_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines that two runs of a command have in common."""
    kept = [TOPIC_ID.sub(r"\1…", ADDRESS.sub(r"\1 …", line)) for line in _without_java(lines)]
    text = "\n".join(kept).strip()
    return tuple(text.split("\n")) if text else ()


def _without_java(lines: Sequence[str]) -> Iterator[str]:
    is_logged = False
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if OPTION_TABLE.match(line):
            return
        if is_logged or LOG_ENTRY.match(line):
            # The entry ends with its logger's name, after a stack trace if there is one; log4j's own entries are one line
            # each.
            is_open = is_logged or line.startswith("[")
            is_logged = is_open and (FRAME.match(line) is not None or not LOGGER.search(line))
        elif not FRAME.match(line) and not FRAME.match(following):
            yield line
