"""The cluster of an incident, as far as its logs show it.

Pure.
"""

import json

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.vocabulary import TopicPartition, TopicState
from kcsim.znodes import paths

TOPIC_CONFIGS = paths.topic_config("")


class LoggedCluster:
    """The brokers and topics that logs name.

    Attributes:
        brokers: those that registered, or have a replica.
        before, end: the state before the first finding, and at the end of the logs.
        topics: topic -> partition -> its replicas before the first finding, or the first ones, if it was created later.
        created_ms: topic -> when it is in the logs for the first time.
        growth: partitions that a topic got after the first finding: when, the topic, partition -> replicas.
        configs: topic -> its configuration, as far as it is known.
    """

    def __init__(self, logs: IncidentLogs, first_ms: int) -> None:
        self._first_ms = first_ms
        self.before, self.end = ClusterState(), ClusterState()
        self.topics: dict[str, dict[int, list[int]]] = {}
        self.created_ms: dict[str, int] = {}
        self.growth: list[tuple[int, str, dict[int, list[int]]]] = []
        self.configs: dict[str, dict[str, str]] = {}
        self.brokers: set[int] = set()
        self._grown: set[TopicPartition] = set()
        for event in logs.events:
            if event.t_ms < first_ms:
                self.before.apply(event)
            self.end.apply(event)
            self._note(event)
        for tp in self.before.of_topics.states:
            self.topics.setdefault(tp.topic, {}).setdefault(tp.partition, list(self.before.of_topics.isr(tp)))

    def _note(self, event: Event) -> None:
        if event.kind is EventKind.BROKER_REGISTERED and event.broker_id is not None:
            self.brokers.add(event.broker_id)
        path = event.path or ""
        if (
            event.data
            and path.startswith(TOPIC_CONFIGS)
            and event.kind in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED)
        ):
            self.configs[path.rpartition("/")[2]] = json.loads(event.data).get("config", {})
        for topic, state in self.end.of_topics.topics.items():
            self._note_topic(event.t_ms, topic, state)
        if event.kind is EventKind.LEADER_ELECTION and (event.rule or "").startswith("unclean") and event.topic:
            self.configs.setdefault(event.topic, {})["unclean.leader.election.enable"] = "true"

    def _note_topic(self, t_ms: int, topic: str, state: TopicState) -> None:
        """Note the assignment of a topic: the one before the first fault, or the first one of a topic or partition."""
        known, is_known = self.topics.setdefault(topic, {}), topic in self.created_ms
        grown: dict[int, list[int]] = {}
        for partition, assignment in sorted(state.assignments.items()):
            replicas = list(map(int, assignment.replicas))
            if t_ms < self._first_ms or not is_known:
                known[partition] = replicas
            elif partition not in known and TopicPartition(topic, partition) not in self._grown:
                grown[partition] = replicas
            self.brokers.update(replicas)
        self.created_ms.setdefault(topic, t_ms)
        if grown:
            self._grown.update(TopicPartition(topic, partition) for partition in grown)
            self.growth.append((t_ms, topic, grown))

    def is_early(self, topic: str) -> bool:
        """Return whether a topic was created before the first finding."""
        return self.created_ms.get(topic, 0) < self._first_ms
