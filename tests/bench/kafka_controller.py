"""An Apache Kafka broker whose controller is measured: with the JVM options of Kafka's own start script.

The brokers that the tests start are made to fit beside others: they have a small heap and the quick compiler only.
"""

import os
from collections.abc import Iterator
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
"""Source: Kafka 2.8, bin/kafka-server-start.sh and kafka-run-class.sh."""
LOG4J = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={folder}/server.log
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
"""No line for each partition and request, which would be a large part of what is measured."""


class KafkaControllerProcess:
    """The process of the broker. Args: pid: its process id."""

    def __init__(self, pid: int) -> None:
        self._stat = Path(f"/proc/{pid}/stat")

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        after_name = self._stat.read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def kafka_controller(spec: KafkaBrokerSpec, kafka: KafkaInstallation | None = None) -> Iterator[KafkaControllerProcess]:
    """Start a broker of Kafka, and end it with the context. Args: kafka: None: that of `make kafka`."""
    installation = kafka or find_kafka(None)
    guarded = GuardedProcesses(what="kafka-bench")
    try:
        folder = guarded.directory
        properties, log4j = folder / "server.properties", folder / "log4j.properties"
        own = server_properties(spec, free_ports(1)[0], [folder / "data"], installation.version)
        properties.write_text(properties_text(own))
        log4j.write_text(LOG4J.format(folder=folder))
        options = [*AS_IN_KAFKA_RUN_CLASS, f"-Dlog4j.configuration={log4j.as_uri()}"]
        jars = os.pathsep.join(map(str, installation.jars()))
        java = str(installation.java.executable)
        pid = guarded.start("kafka", [java, *options, "-cp", jars, MAIN_CLASS, str(properties)], folder / "console")
        yield KafkaControllerProcess(pid)
    finally:
        guarded.close()
