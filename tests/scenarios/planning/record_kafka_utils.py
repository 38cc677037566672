"""Record what kafka-utils 4.1.0 plans for clusters drawn from seeds.

Run it with the Python of a virtual environment that has kafka-utils; the project does not need it:
`PYTHON tests/scenarios/planning/record_kafka_utils.py tests/vectors/kafka-utils/plans.jsonl.gz`.
"""

import gzip
import json
import random
import sys
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

CLUSTER_INFO = "kafka_utils.kafka_cluster_manager.cluster_info"
GENETIC = "--num-gens 100 --max-pop 20 --max-exploration 600"
"""A twentieth of the states that are explored by default. The tool needs a second for a cluster instead of a minute."""
NEW_BROKER = 99
UNLIMITED = 1000
CLUSTERS = 72

Assignment = dict[str, list[int]]


class Measurements:
    """Measures each partition by its bytes. Attributes: sizes: topic, number -> bytes."""

    def __init__(self, sizes: dict[tuple[str, int], int]) -> None:
        self.sizes = sizes

    def get_weight(self, partition: tuple[str, int]) -> int:
        """Return what a broker is loaded with."""
        return self.sizes[partition]

    def get_size(self, partition: tuple[str, int]) -> int:
        """Return what a move copies."""
        return self.sizes[partition]


def drawn_cluster(seed: int) -> dict[str, Any]:
    """Return the racks of brokers, and the replicas and bytes of partitions. Every third cluster has even replicas."""
    numbers = random.Random(seed)
    brokers = list(range(1, numbers.randint(3, 12) + 1))
    rack_names = "abc"[: numbers.randint(1, 3)]
    racks = [rack_names[place] if place < len(rack_names) else numbers.choice(rack_names) for place in range(len(brokers))]
    factors = [numbers.randint(1, 3) for _ in range(numbers.randint(1, 3))]
    replicas: Assignment = {}
    placed = 0
    for number in range(numbers.randint(5, 80)):
        topic = number % len(factors)
        if seed % 3 == 0:
            chosen = sorted(brokers[(placed + place) % len(brokers)] for place in range(factors[topic]))
            placed += factors[topic]
        else:
            chosen = []
            while len(chosen) < factors[topic]:
                chosen += [one for one in numbers.choices(brokers, weights=brokers) if one not in chosen]
        replicas[f"t{topic}-{number // len(factors)}"] = chosen
    sizes = {name: numbers.choice([1, numbers.randint(1, 999)]) for name in replicas}
    return {
        "seed": seed,
        "racks": dict(zip(map(str, brokers), racks, strict=True)),
        "replicas": replicas,
        "sizes": sizes,
        "leaving": sorted(numbers.sample(brokers, 1 if len(brokers) < 6 else 2)),
        "factor": numbers.randint(1, 3),
    }


def with_balancer(change: Callable[[Any, Any], None], **options: object) -> Callable[[dict[str, Any], str], Assignment]:
    """Return a function that plans one change of a cluster with the balancer of a name."""

    def plan(cluster: dict[str, Any], balancer: str) -> Assignment:
        cluster_info = {
            name: import_module(f"{CLUSTER_INFO}.{name}") for name in ("cluster_topology", f"{balancer}_balancer")
        }
        names = {name: (name.split("-")[0], int(name.split("-")[1])) for name in cluster["replicas"]}
        racks = {**{int(one): rack for one, rack in cluster["racks"].items()}}
        if options.get("new_broker"):
            racks[NEW_BROKER] = racks[cluster["leaving"][0]]
        topology = cluster_info["cluster_topology"].ClusterTopology(
            {names[name]: list(replicas) for name, replicas in cluster["replicas"].items()},
            {broker: {"host": "h"} for broker in racks},
            Measurements({names[name]: size for name, size in cluster["sizes"].items()}),
            lambda broker: racks[broker.id],
        )
        size = None if balancer == "partition_count" else sum(cluster["sizes"].values()) * UNLIMITED
        limits = {"max_partition_movements": UNLIMITED, "max_leader_changes": UNLIMITED, "max_movement_size": size}
        arguments = Namespace(
            replication_groups=options.get("replication_groups", False),
            brokers=options.get("brokers", False),
            leaders=options.get("leaders", False),
            balancer_args=[] if balancer == "partition_count" else [GENETIC],
            **limits,
        )
        class_name = "".join(part.title() for part in balancer.split("_")) + "Balancer"
        change(getattr(cluster_info[f"{balancer}_balancer"], class_name)(topology, arguments), cluster)
        return {f"{topic}-{number}": replicas for (topic, number), replicas in topology.assignment.items()}

    return plan


def set_factor(balancer: Any, cluster: dict[str, Any]) -> None:
    """Change the replication factor of topic t0, partition by partition, as kafka-utils' command does."""
    topology, factor = balancer.cluster_topology, cluster["factor"]
    for partition in sorted(topology.topics["t0"].partitions, key=lambda one: int(one.partition_id)):
        difference = factor - len(partition.replicas)
        if difference > 0:
            balancer.add_replica(partition.name, difference)
        elif difference < 0:
            balancer.remove_replica(partition.name, set(), -difference)


def decommission(balancer: Any, cluster: dict[str, Any]) -> None:
    balancer.decommission_brokers(cluster["leaving"])


def replace(balancer: Any, cluster: dict[str, Any]) -> None:
    balancer.cluster_topology.replace_broker(cluster["leaving"][0], NEW_BROKER)


def rebalance(balancer: Any, cluster: dict[str, Any]) -> None:
    del cluster
    balancer.rebalance()


COUNT, BYTES = "partition_count", "genetic"
PLANS = {
    "decommission": (COUNT, with_balancer(decommission)),
    "decommission, genetic": (BYTES, with_balancer(decommission)),
    "rebalance brokers": (COUNT, with_balancer(rebalance, brokers=True)),
    "rebalance brokers, leaders": (COUNT, with_balancer(rebalance, brokers=True, leaders=True)),
    "rebalance leaders": (COUNT, with_balancer(rebalance, leaders=True)),
    "rebalance groups": (COUNT, with_balancer(rebalance, replication_groups=True)),
    "rebalance groups, genetic": (BYTES, with_balancer(rebalance, replication_groups=True)),
    "rebalance all": (COUNT, with_balancer(rebalance, replication_groups=True, brokers=True, leaders=True)),
    "replication factor": (COUNT, with_balancer(set_factor)),
    "replication factor, genetic": (BYTES, with_balancer(set_factor)),
    "replace": (COUNT, with_balancer(replace, new_broker=True)),
    "rebalance brokers, genetic": (BYTES, with_balancer(rebalance, brokers=True, leaders=True)),
}


def answers(cluster: dict[str, Any]) -> dict[str, Assignment | str]:
    """Return for each kind of plan the partitions that change, or the error."""
    found: dict[str, Assignment | str] = {}
    for name, (balancer, plan) in PLANS.items():
        try:
            after = plan(cluster, balancer)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        else:
            found[name] = {one: replicas for one, replicas in after.items() if replicas != cluster["replicas"][one]}
    return found


def main() -> None:
    """Write a line of JSON for each cluster to the file that is named, compressed."""
    clusters = [drawn_cluster(seed) for seed in range(CLUSTERS)]
    lines = [json.dumps({**cluster, "plans": answers(cluster)}, separators=(",", ":")) for cluster in clusters]
    Path(sys.argv[1]).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


if __name__ == "__main__":
    main()
