"""Commands of kcsim, one after the other, in one Spark session: as a program, from JSON on stdin to JSON on stdout."""

import json
import sys
from typing import Any

from typer.testing import CliRunner

from kcsim.scenarios.analysis.tables.spark_session import spark_session
from kcsim.scenarios.cli.app import app
from tests.scenarios.analysis.conftest import SMALL


def main() -> None:
    """Run the commands in the order of the list `commands`, with Spark's settings `conf`."""
    job = json.load(sys.stdin)
    spark = spark_session("local[2]", {**SMALL, **job["conf"]})
    done = [run(command) for command in job["commands"]]
    spark.stop()
    print(json.dumps(done))


def run(command: list[str]) -> list[Any]:
    """Return exit status, stdout and stderr of a command."""
    result = CliRunner().invoke(app, command)
    return [result.exit_code, result.stdout, result.stderr or repr(result.exception)]


if __name__ == "__main__":
    main()
