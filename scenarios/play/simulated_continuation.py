"""A simulated cluster that goes on from the state of one in real time.

It is brought into the state that the znodes have at that moment; a broker that is registered and does not run is killed or
paused then. What the znodes do not say is not carried over: see NOT_CARRIED_OVER.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, as_tree
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.played_pages import PlayedPages
from kcsim.scenarios.play.run_processes import RunProcesses
from kcsim.scenarios.snapshots.control_znodes import ControlZnodes, NotAKafkaClusterError, snapshot_of
from kcsim.scenarios.snapshots.past_znodes import znodes_of_state
from kcsim.scenarios.snapshots.simulated_state import NO_BALANCING
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.narration.story_words import duration

NOT_CARRIED_OVER = (
    "Not carried over: the contents of the logs, the ids of sessions, running producers, the members of groups, faults of "
    "links and disks, settings with which single brokers were restarted, and znodes that are not Kafka's."
)
REACHED_MS = 10_000
"""The virtual time at which the cluster has long been in the state: it is shown from then on."""
VERBS = {"dead": "kill", "paused": "pause"}
"""The state of a process -> the step that makes it so."""
WATCHED: Mapping[str, Any] = {
    "name": "simulated",
    "description": "A cluster as its ZooKeeper shows it.",
    "cluster": {"settings": dict(NO_BALANCING)},
}
"""The scenario of a cluster of which only the znodes are known, without its brokers."""


class CannotContinueError(Exception):
    """A cluster in real time is in a state that is not simulated. The message says why."""


class LiveState(NamedTuple):
    """The state of a cluster in real time, to be simulated.

    Attributes:
        at_ms: the time of the run at which it was in this state.
        origin: what it was, and when, for people.
    """

    scenario: Scenario
    snapshot: ControlPlaneSnapshot
    first: Sequence[Act]
    at_ms: int
    origin: str


def live_state(title: str, at_ms: int, state: ClusterState, declared: Scenario | None, done: Sequence[Act]) -> LiveState:
    """Return the state of a cluster at a moment of its run.

    Args:
        title: the cluster, for people.
        declared: its scenario; None: only what its znodes say is known.
        done: the acts so far: what they declare can be named in the simulated cluster, too.

    Raises: CannotContinueError.
    """
    control = ControlZnodes(title, duration(at_ms), znodes_of_state(state))
    try:
        snapshot = snapshot_of(control)
    except NotAKafkaClusterError as error:
        raise CannotContinueError(str(error)) from None
    if snapshot.kraft_controller is not None:
        raise CannotContinueError(f"the KRaft controller {snapshot.kraft_controller} decides in this cluster")
    if not snapshot.registered_ids:
        raise CannotContinueError("no broker is registered")
    states = {broker: state.processes.get(f"broker-{broker}") for broker in snapshot.registered_ids}
    first = [Act(REACHED_MS, f"{VERBS[seen]}: broker-{broker}") for broker, seen in states.items() if seen in VERBS]
    tree = WATCHED if declared is None else as_tree(declared, done)
    cluster = _with_brokers(tree["cluster"], declared, snapshot)
    try:
        scenario = Scenario.model_validate({**tree, "cluster": cluster, "timetable": [{"start": "all"}]})
    except ValidationError as error:
        raise CannotContinueError(error.errors(include_url=False)[0]["msg"]) from None
    begun = f"Within the first {REACHED_MS // 1000} s it was brought into this state"
    origin = f"A simulated cluster in the state that {title} had after {duration(at_ms)}. {begun}."
    return LiveState(scenario, snapshot, first, at_ms, origin)


def _with_brokers(cluster: Mapping[str, Any], declared: Scenario | None, snapshot: ControlPlaneSnapshot) -> dict[str, Any]:
    """Return the cluster of a scenario with its own brokers, and with all others that the snapshot names."""
    own = [] if declared is None else declared.cluster.members()
    racks = {broker.id: broker.rack for broker in snapshot.brokers}
    others = sorted({*racks, *snapshot.absent_ids}.difference(broker.id for broker in own))
    listed = [broker.model_dump(exclude_none=True) for broker in own]
    listed += [{"id": broker} if racks.get(broker) is None else {"id": broker, "rack": racks[broker]} for broker in others]
    return {**{key: value for key, value in cluster.items() if key != "racks"}, "brokers": listed}


class SimulatedContinuation:
    """One simulated cluster, with its pages and with processes of its own. It waits at the beginning.

    Args:
        seed: of everything random.

    Attributes:
        begun_ms: the time of the run in real time from whose state it goes on.

    Raises: RunFailedError, if it cannot be brought into the state.
    """

    def __init__(self, begun: LiveState, seed: int) -> None:
        self.begun_ms = begun.at_ms
        self._processes = RunProcesses()
        try:
            cluster = PlayedCluster(begun.scenario, seed, begun.first, self._processes, begun.snapshot)
            cluster.go_on_to(REACHED_MS)
            cluster.finish_passing()
        except BaseException:
            self._processes.close()
            raise
        self.pages = PlayedPages(cluster, f"{begun.origin} {NOT_CARRIED_OVER}")

    def close(self) -> None:
        """End the cluster with all its futures."""
        self._processes.close()
