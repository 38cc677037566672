"""Run every benchmark, or those named: python -m tests.bench [NAME[=SIZE] …].

A SIZE is in the unit of its benchmark: partitions (cluster-snapshot, failover-versions, kafka-brokers, simulated), megabytes
(zk-files, kafka-logs), events (spark-replay, spark-growth, spark-analyses, page, play-page), events per second (streaming).
Instead of a size, spark-analyses takes the path of a dataset with transitions.
"""

import sys
from collections.abc import Callable, Mapping

from tests.bench import (
    assignment,
    clients,
    cluster_snapshot,
    elections,
    explore,
    failover,
    failover_over_tcp,
    failover_versions,
    groups,
    kafka_brokers,
    kafka_logs,
    library,
    logs,
    loss_of_a_broker,
    model_server,
    page,
    partition_states,
    play_page,
    simulated,
    spark_analyses,
    spark_growth,
    spark_replay,
    start_up,
    streaming,
    zk_files,
)
from tests.bench.report import print_environment

BENCHMARKS: Mapping[str, Callable[[], None]] = {
    "partition-states": partition_states.main,
    "failover": failover.main,
    "failover-over-tcp": failover_over_tcp.main,
    "elections": elections.main,
    "explore": explore.main,
    "assignment": assignment.main,
    "groups": groups.main,
    "logs": logs.main,
    "library": library.main,
    "loss-of-a-broker": loss_of_a_broker.main,
    "start-up": start_up.main,
    "model-server": model_server.main,
    "clients": clients.main,
}
SIZED: Mapping[str, Callable[[str | None], None]] = {
    "failover-versions": failover_versions.main,
    "simulated": simulated.main,
    "cluster-snapshot": cluster_snapshot.main,
    "kafka-brokers": kafka_brokers.main,
    "zk-files": zk_files.main,
    "kafka-logs": kafka_logs.main,
    "page": page.main,
    "play-page": play_page.main,
    "spark-replay": spark_replay.main,
    "spark-growth": spark_growth.main,
    "spark-analyses": spark_analyses.main,
    "streaming": streaming.main,
}


def main(arguments: list[str]) -> int:
    """Run what the arguments name and return the exit status: 64 for an unknown name, or a size where none is accepted."""
    chosen = [argument.partition("=") for argument in arguments or (*BENCHMARKS, *SIZED)]
    if unknown := [name for name, _, _ in chosen if name not in BENCHMARKS and name not in SIZED]:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join((*BENCHMARKS, *SIZED))}", file=sys.stderr)
        return 64
    if unsized := [name for name, _, size in chosen if size and name in BENCHMARKS]:
        print(f"{', '.join(unsized)} has no size", file=sys.stderr)
        return 64
    print_environment()
    for name, _, size in chosen:
        if name in SIZED:
            SIZED[name](size or None)
        else:
            BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
