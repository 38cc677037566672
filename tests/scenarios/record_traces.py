"""Run several scenarios in one process, in virtual time, and write their event logs: python -m … DIRECTORY SEED NAME…"""

import sys
from pathlib import Path

from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app


def main(directory: str, seed: str, *names: str) -> None:
    for name in names:
        trace = Path(directory, f"{name}.jsonl")
        arguments = ["run", name, "--zookeeper", "simulated", "--seed", seed, "--trace", str(trace)]
        done = CliRunner().invoke(app, arguments)
        if done.exit_code:
            sys.exit(f"{name}: {done.exit_code}\n{done.output}")


if __name__ == "__main__":
    main(*sys.argv[1:])
