"""The JVM that Spark's driver runs in, started by us: on any Java 17 or newer, also one that lacks a module Spark asks for.

PySpark starts it through a shell script, which insists on the module jdk.incubator.vector. The runtime that pip brings has
none, and Spark does without (it serves linear algebra). So we ask Spark's own launcher, a small Java program, for the
command line, leave the module out, and start that; PySpark is told by environment variables where to find it, a way that is
meant for those who start it themselves. The module is left out everywhere: it makes a JVM say on stderr that it is there.

Spark says on stderr what goes wrong in it, at length. So does the exception that Python gets, and our commands make a
sentence of it (job_errors.py): Spark's log is off. KCSIM_SPARK_LOG=warn (error, info, debug) turns it on.
"""

import contextlib
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kcsim.zk.servers.java import Java

LOG_VARIABLE = "KCSIM_SPARK_LOG"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
START_SECONDS = 60.0
STOP_SECONDS = 10.0
LOOK_EVERY_SECONDS = 0.02
GONE_SINCE_24 = "--add-opens=java.base/sun.security.action="
"""A package that Spark wants to look into, and that newer Java has no more."""


class DriverError(Exception):
    """Spark's JVM did not start, or is not there: says why."""


class DriverJvm:
    """A running JVM with Spark's classes in it, which ends with this process, however that ends.

    Attributes:
        port, secret: what PySpark needs to know of it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", directory: Path, port: int, secret: str) -> None:
        self.port, self.secret = port, secret
        self._process = process
        self._directories = [directory]

    def owns(self, directory: Path) -> None:
        """Remove that too when it is stopped."""
        self._directories.append(directory)

    def stop(self) -> None:
        """End it and wait; no later than STOP_SECONDS from now it is gone, and with it whatever it had on disk."""
        self._process.terminate()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)


def start_driver(java: Java, spark_home: Path, settings: Mapping[str, str], only_loopback: bool) -> DriverJvm:
    """Start the JVM.

    Args:
        settings: those that Spark needs to know before there is a session, as the driver's memory and the class path.
        only_loopback: whether nobody from outside need reach it.

    Raises: DriverError.
    """
    environment = {**os.environ, "SPARK_HOME": str(spark_home), "SPARK_SCALA_VERSION": _scala_version(spark_home)}
    if only_loopback:
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # else it looks for the machine's name, and complains of what it finds
    submitted = shlex.split(environment.pop("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    arguments = [*(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")), *submitted]
    command = _command(java, spark_home, arguments, environment)
    directory = Path(tempfile.mkdtemp(prefix="kcsim-spark-"))
    connection = directory / "connection"
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(connection)
    try:
        # It watches its stdin, and ends when that does. A session of its own keeps Ctrl-C from it: that is for us to hear.
        process = subprocess.Popen(
            _adapted(command, java, directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        try:
            return DriverJvm(process, directory, *_connection(process, connection))
        except BaseException:
            process.kill()
            process.wait()
            raise
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _scala_version(spark_home: Path) -> str:
    """As 2.13: what the launcher has to be told, and the names of the jars tell."""
    jar = next((spark_home / "jars").glob("spark-launcher_*.jar"), None)
    if jar is None:
        raise DriverError(f"{spark_home} is no Spark: there is no launcher in its jars")
    return jar.name.removeprefix("spark-launcher_").partition("-")[0]


def _command(java: Java, spark_home: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command line that Spark's launcher would start."""
    launcher = [str(java.executable), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    launcher += ["-cp", str(spark_home / "jars" / "*")]
    launcher += ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    asked = subprocess.run([*launcher, *arguments], capture_output=True, text=True, env=environment, check=False)
    # What comes before the command is for people; it begins after a zero byte, and each of its words ends with one.
    _, begins, words = asked.stdout.partition("\0\n")
    if asked.returncode or not begins:
        reason = (asked.stderr.strip().splitlines() or ["no reason was given"])[0]
        raise DriverError(f"Spark's launcher in {spark_home} on {java.executable} failed: {reason}")
    command: list[str] = words.split("\0")[:-1]
    return command


def _adapted(command: Sequence[str], java: Java, directory: Path) -> list[str]:
    """The same on our Java, without what it would complain of, with our settings of the log, and all that is temporary in
    a folder of its own, unless the user's settings, which come later, say otherwise."""
    options = [f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", f"-Djava.io.tmpdir={directory}"]
    if java.version >= 23:
        options.append("--sun-misc-unsafe-memory-access=allow")  # newer Sparks say so themselves
    left_out = ("--add-modules=", GONE_SINCE_24) if java.version >= 24 else ("--add-modules=",)
    return [str(java.executable), *options, *(word for word in command[1:] if not word.startswith(left_out))]


def _connection(process: "subprocess.Popen[bytes]", file: Path) -> tuple[int, str]:
    """Port and secret, as soon as the JVM has written them."""
    for _ in range(int(START_SECONDS / LOOK_EVERY_SECONDS)):
        if file.is_file():  # it is moved there when it is complete
            told = file.read_bytes()
            port, length = struct.unpack_from(">ii", told)
            return port, told[8 : 8 + length].decode()
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(LOOK_EVERY_SECONDS)
            raise DriverError(f"Spark's JVM ended with status {status} as it began; {LOG_VARIABLE}=warn tells more")
    raise DriverError(f"Spark's JVM did not say within {START_SECONDS:.0f} s where it can be reached")
