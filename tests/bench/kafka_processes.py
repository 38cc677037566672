"""Apache Kafka brokers that are measured or loaded: logged as by default, without a line for each partition and request.

The brokers that the tests start write such lines, which would be a large part of what is measured.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kcsim.brokers.apache_kafka.broker_process import MAIN_CLASS
from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec, properties_text, server_properties
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.servers.guarded_processes import GuardedProcesses

AS_IN_KAFKA_RUN_CLASS = (
    "-Xmx4G",  # instead of 1G, so that a large cluster is not short of memory
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""For a broker whose controller is measured. Source: Kafka 2.8, bin/kafka-server-start.sh and kafka-run-class.sh."""
SERVER_LOG = "server.log"
LOG4J = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={folder}/{server_log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class ProcessTimes:
    """The processor time of a process. Args: pid: its process id."""

    def __init__(self, pid: int) -> None:
        self._stat = Path(f"/proc/{pid}/stat")

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        after_name = self._stat.read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def start_kafka(
    guarded: GuardedProcesses,
    name: str,
    spec: KafkaBrokerSpec,
    kafka: KafkaInstallation,
    jvm_options: Sequence[str] = AS_IN_KAFKA_RUN_CLASS,
) -> ProcessTimes:
    """Start a broker whose files are in a folder of its name below that of the guard. Its log has times in UTC."""
    folder = guarded.directory / name
    folder.mkdir(exist_ok=True)
    properties, log4j = folder / "server.properties", folder / "log4j.properties"
    own = server_properties(spec, free_ports(1)[0], [folder / "data"], kafka.version)
    properties.write_text(properties_text(own))
    log4j.write_text(LOG4J.format(folder=folder, server_log=SERVER_LOG))
    options = [*jvm_options, "-Duser.timezone=UTC", f"-Dlog4j.configuration={log4j.as_uri()}"]
    jars = os.pathsep.join(map(str, kafka.jars()))
    java = str(kafka.java.executable)
    pid = guarded.start(name, [java, *options, "-cp", jars, MAIN_CLASS, str(properties)], folder / "console")
    return ProcessTimes(pid)


@contextmanager
def kafka_controller(spec: KafkaBrokerSpec, kafka: KafkaInstallation | None = None) -> Iterator[ProcessTimes]:
    """Start a broker of Kafka, and end it with the context. Args: kafka: None: that of `make kafka`."""
    guarded = GuardedProcesses(what="kafka-bench")
    try:
        yield start_kafka(guarded, "kafka", spec, kafka or find_kafka(None))
    finally:
        guarded.close()
