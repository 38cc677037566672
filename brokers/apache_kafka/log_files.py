"""Logging of a Kafka process: its log4j configuration, its JVM options, and the reason for its end, taken from its log.

The three files are those of Kafka's own configuration, in its layout, but all times are UTC, and state changes are logged at
TRACE, as is the controller. For log4j 1.2 or reload4j, one of which is in every download of Kafka 2.4 to 3.9.
"""

import re
from pathlib import Path

CONTROLLER_LOG, STATE_CHANGE_LOG, SERVER_LOG = "controller.log", "state-change.log", "server.log"
CONSOLE = "console.log"
"""The output of the JVM: for a broker, only what is not written to a log."""

DIRECTORY_PROPERTY = "kcsim.logs"
LAYOUT = "[%d] %p %m (%c)%n"


def file_appender(name: str, file: str) -> str:
    return f"""\
log4j.appender.{name}=org.apache.log4j.FileAppender
log4j.appender.{name}.File=${{{DIRECTORY_PROPERTY}}}/{file}
log4j.appender.{name}.layout=org.apache.log4j.PatternLayout
log4j.appender.{name}.layout.ConversionPattern={LAYOUT}
"""


BROKER_LOG4J = f"""\
log4j.rootLogger=INFO, server
log4j.logger.kafka.controller=TRACE, controller
log4j.additivity.kafka.controller=false
log4j.logger.state.change.logger=TRACE, stateChange
log4j.additivity.state.change.logger=false
{file_appender("server", SERVER_LOG)}{file_appender("controller", CONTROLLER_LOG)}\
{file_appender("stateChange", STATE_CHANGE_LOG)}"""

COMMAND_LOG4J = f"""\
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern={LAYOUT}
"""


def jvm_options(log4j: Path, heap_mb: int) -> list[str]:
    """Return the options of every Kafka JVM: quick start, small heap, times in UTC.

    Without perf data, a killed JVM leaves no file in the system's directory for temporary files.
    """
    return [
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-XX:-UsePerfData",
        f"-Xmx{heap_mb}m",
        "-Duser.timezone=UTC",
        "-Djava.awt.headless=true",
        f"-Dlog4j.configuration={log4j.as_uri()}",
    ]


STAMP = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] "
RECORD_START = re.compile(rf"^(?={STAMP})", re.MULTILINE)
ERROR = re.compile(rf"{STAMP}(?:ERROR|FATAL) (.*)", re.DOTALL)
FRAME = re.compile(r"\s+at |\s*\.\.\. \d+ more")


def reason_in(log: str) -> str:
    """Return in one line why a broker ended, from its log since its start: its last exception, last error or last lines."""
    errors = [found[1].splitlines() for record in RECORD_START.split(log) if (found := ERROR.match(record))]
    for error in reversed(errors):
        if exception := [line.strip() for line in error[1:] if line.strip() and not FRAME.match(line)]:
            return " ".join(exception)
    if errors:
        return errors[-1][0]
    return " | ".join(message_lines(log)[-3:]) or "its logs are empty"


def message_lines(log: str) -> list[str]:
    """Return the lines of a log, without stack frames and empty lines."""
    return [line.rstrip() for line in log.splitlines() if line.strip() and not FRAME.match(line)]
