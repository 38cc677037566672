"""The end of a broker's log yields one line on why the broker ended."""

from kcsim.brokers.apache_kafka.log_files import BROKER_LOG4J, reason_in

LINE = "[2026-11-21 05:13:36,328] {} {} (kafka.server.KafkaServer)\n"
STACK = "\tat kafka.server.KafkaServer.startup(KafkaServer.scala:223)\n\tat kafka.Kafka.main(Kafka.scala)\n"


def test_the_exception_of_the_last_error_that_has_one() -> None:
    """The lines after it, about the broker's shutdown, are not relevant."""
    log = (
        LINE.format("INFO", "starting")
        + LINE.format("ERROR", "Fatal error during KafkaServer startup.")
        + "java.lang.IllegalStateException: no\n\tand more of it\n"
        + STACK
        + "Caused by: java.io.IOException: disk full\n\t... 3 more\n"
        + LINE.format("INFO", "shutting down")
        + LINE.format("ERROR", "Exiting Kafka.")
    )
    assert reason_in(log) == "java.lang.IllegalStateException: no and more of it Caused by: java.io.IOException: disk full"


def test_without_an_exception_it_is_the_last_error() -> None:
    log = LINE.format("ERROR", "one") + LINE.format("FATAL", "two") + LINE.format("INFO", "shutting down")
    assert reason_in(log) == "two (kafka.server.KafkaServer)"


def test_without_an_error_it_is_what_was_written_last() -> None:
    """For example when the JVM itself refuses to start."""
    assert reason_in("Error: A\n\nError: B\nError: C\nError: D\n") == "Error: B | Error: C | Error: D"
    assert reason_in("") == "its logs are empty"


def test_each_file_has_its_loggers_and_no_copies_of_the_others() -> None:
    lines = dict(line.split("=", 1) for line in BROKER_LOG4J.splitlines())
    assert lines["log4j.rootLogger"] == "INFO, server"
    assert lines["log4j.logger.kafka.controller"] == "TRACE, controller"
    assert lines["log4j.logger.state.change.logger"] == "TRACE, stateChange"
    assert lines["log4j.additivity.kafka.controller"] == lines["log4j.additivity.state.change.logger"] == "false"
    assert lines["log4j.appender.stateChange.File"] == "${kcsim.logs}/state-change.log"
