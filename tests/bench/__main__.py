"""Run every benchmark, or those named: python -m tests.bench [NAME …]."""

import sys

from tests.bench import (
    assignment,
    elections,
    failover,
    groups,
    kafka_logs,
    library,
    logs,
    loss_of_a_broker,
    partition_states,
    simulated,
    spark_analyses,
    spark_replay,
    zk_files,
)
from tests.bench.report import print_environment

BENCHMARKS = {
    "partition-states": partition_states.main,
    "failover": failover.main,
    "elections": elections.main,
    "assignment": assignment.main,
    "groups": groups.main,
    "simulated": simulated.main,
    "logs": logs.main,
    "zk-files": zk_files.main,
    "kafka-logs": kafka_logs.main,
    "library": library.main,
    "loss-of-a-broker": loss_of_a_broker.main,
    "spark-replay": spark_replay.main,
    "spark-analyses": spark_analyses.main,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 64
    print_environment()
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
