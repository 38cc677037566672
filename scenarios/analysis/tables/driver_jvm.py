"""The JVM of Spark's driver, started by this module: on any Java 17 or newer, even without a module that Spark asks for.

PySpark starts the JVM through a shell script, which requires the module jdk.incubator.vector. The Java runtime that pip
installs does not have it, and Spark works without it (it serves linear algebra). So this module asks Spark's own launcher, a
small Java program, for the command line, leaves the module out, and starts that command. PySpark finds the JVM by
environment variables, an interface meant for programs that start the JVM themselves. The module is left out everywhere,
because a JVM with an incubator module prints a warning to stderr.

Spark logs its errors to stderr, at length. Python gets them as exceptions, too, and our commands make a sentence of them
(job_errors.py). Therefore Spark's log is off. KCSIM_SPARK_LOG=warn (error, info, debug) turns it on.
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
"""The option for a package that Spark accesses, and that Java 24 and newer do not have."""


class DriverError(Exception):
    """Spark's JVM did not start, or was not found. The message says why."""


class DriverJvm:
    """A running JVM with Spark's classes. It ends with this process, however this process ends.

    Attributes:
        port, secret: what PySpark needs to connect to it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", directory: Path, port: int, secret: str) -> None:
        self.port, self.secret = port, secret
        self._process = process
        self._directories = [directory]

    def owns(self, directory: Path) -> None:
        """Remove this directory, too, when the JVM is stopped."""
        self._directories.append(directory)

    def stop(self) -> None:
        """End the JVM and wait. After at most STOP_SECONDS it has ended, and its directories are removed."""
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
        settings: those that Spark needs before there is a session, such as the driver's memory and the class path.
        only_loopback: whether no other machine needs to connect to it.

    Raises: DriverError.
    """
    environment = {**os.environ, "SPARK_HOME": str(spark_home), "SPARK_SCALA_VERSION": _scala_version(spark_home)}
    if only_loopback:
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # else Spark resolves the host's name, and warns about the result
    submitted = shlex.split(environment.pop("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    arguments = [*(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")), *submitted]
    command = _command(java, spark_home, arguments, environment)
    directory = Path(tempfile.mkdtemp(prefix="kcsim-spark-"))
    connection = directory / "connection"
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(connection)
    try:
        # The JVM watches its stdin, and ends when stdin closes. In its own session it gets no Ctrl-C; this process gets it.
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
    """Return the Scala version, such as 2.13, which the launcher needs. The names of Spark's jars contain it."""
    jar = next((spark_home / "jars").glob("spark-launcher_*.jar"), None)
    if jar is None:
        raise DriverError(f"{spark_home} is no Spark: there is no launcher in its jars")
    return jar.name.removeprefix("spark-launcher_").partition("-")[0]


def _command(java: Java, spark_home: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command line that Spark's launcher would start."""
    launcher = [str(java.executable), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    launcher += ["-cp", str(spark_home / "jars" / "*")]
    launcher += ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    launched = subprocess.run([*launcher, *arguments], capture_output=True, text=True, env=environment, check=False)
    # The launcher prints messages first. The command begins after a zero byte, and each of its words ends with one.
    _, begins, words = launched.stdout.partition("\0\n")
    if launched.returncode or not begins:
        reason = (launched.stderr.strip().splitlines() or ["no reason was given"])[0]
        raise DriverError(f"Spark's launcher in {spark_home} on {java.executable} failed: {reason}")
    command: list[str] = words.split("\0")[:-1]
    return command


def _adapted(command: Sequence[str], java: Java, directory: Path) -> list[str]:
    """Return the command for our Java, with our settings.

    Options that this Java would warn about are removed. The log has our settings, and temporary files have a folder of their
    own. The user's settings come later, and take precedence.
    """
    options = [f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", f"-Djava.io.tmpdir={directory}"]
    if java.version >= 23:
        options.append("--sun-misc-unsafe-memory-access=allow")  # newer versions of Spark set it themselves
    left_out = ("--add-modules=", GONE_SINCE_24) if java.version >= 24 else ("--add-modules=",)
    return [str(java.executable), *options, *(word for word in command[1:] if not word.startswith(left_out))]


def _connection(process: "subprocess.Popen[bytes]", file: Path) -> tuple[int, str]:
    """Return port and secret, as soon as the JVM has written them."""
    for _ in range(int(START_SECONDS / LOOK_EVERY_SECONDS)):
        if file.is_file():  # the JVM moves the file there when it is complete
            content = file.read_bytes()
            port, length = struct.unpack_from(">ii", content)
            return port, content[8 : 8 + length].decode()
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(LOOK_EVERY_SECONDS)
            raise DriverError(f"Spark's JVM ended with status {status} as it began; {LOG_VARIABLE}=warn shows more")
    raise DriverError(f"Spark's JVM did not say within {START_SECONDS:.0f} s where it can be reached")
