"""Race of 200 brokers for /controller on the model, in virtual time: how much real time the race takes."""

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.events import EventKind
from tests.bench.report import measure, print_table
from tests.brokers.cluster.environments import WITHIN_MS, find, play, until_found

FEW, MANY = 20, 200


async def race(cluster: Cluster) -> None:
    """Start all brokers at once, and wait until all brokers but the winner have lost the election."""
    await cluster.start(cluster.broker_names)
    others = len(cluster.broker_names) - 1
    await cluster.wait_until(until_found(cluster.log, EventKind.ELECTION_LOST, at_least=others), WITHIN_MS)
    assert len(find(cluster.log, EventKind.ELECTION_WON)) == 1


def main() -> None:
    """Print the time of a small and of a large race, per broker."""
    few = measure(f"{FEW} brokers", FEW, lambda: play(race, brokers=FEW))
    many = measure(f"{MANY} brokers", MANY, lambda: play(race, brokers=MANY))
    print_table("Brokers racing for /controller on the model (brokers a second of real time)", few, many)
