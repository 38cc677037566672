"""A scenario that reproduces an incident in the simulated world: the cluster of the logs, and its faults at their times.

The scenario begins with the cluster as it was before the first finding, as far as a new cluster can be like it: the same
brokers and assignments, the same controller, every replica in sync and every preferred replica the leader. From then on
faults and requests come at the times that they have in the logs, relative to the first one. Its expectations are what the
logs say of the end.

Pure.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcsim.brokers.config import SETTING_TYPES, SettingError, parse_setting
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.incidents.diagnosis import Diagnosis
from kcsim.scenarios.incidents.findings import FaultKind, IncidentFinding
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.incidents.lost_brokers import DEFAULT_SESSION_TIMEOUT_MS
from kcsim.scenarios.language.scenario_file import LoadedScenario, ScenarioFileError, load_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.vocabulary import TopicPartition, TopicState
from kcsim.znodes import paths

FIRST_FAULT_MS = 20_000
"""When the first fault happens in the scenario; until then the cluster comes up."""
AFTER_THE_END_MS = 20_000
NAME = "incident"
OF_INTEREST = (
    "zookeeper.session.timeout.ms",
    "replica.lag.time.max.ms",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "controlled.shutdown.enable",
    "controlled.shutdown.max.retries",
)
"""Settings that are taken from the logs, where they show them."""
NO_BALANCING = "auto.leader.rebalance.enable"
PREFERRED = "PREFERRED"
WRITER = "writer"
SHORTEST_SESSION_MS = 1_000
TOPIC_CONFIGS = paths.topic_config("")
RESTART_WITHIN, RESTART_MS = "10m", 500
"""How long a broker that comes back may have to wait for the end of its session; the time from then until it starts."""


class NotReproducibleError(Exception):
    """The logs have too little of the cluster for a scenario. The message is one line that says what is missing."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The scenario of an incident.

    Attributes:
        text: of its file.
        first_ms: when the first finding is in the logs, ms after their first event: FIRST_FAULT_MS in the scenario.
        assumed: what the logs do not show, and the scenario assumes: whole sentences without a full stop.
    """

    text: str
    first_ms: int
    assumed: tuple[str, ...]

    def loaded(self) -> LoadedScenario:
        return load_text(self.text, f"{NAME}.yaml")


def reproduce(logs: IncidentLogs, diagnosis: Diagnosis) -> Reproduction:
    """Return the scenario of an incident. Raises: NotReproducibleError."""
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is None:
        raise NotReproducibleError("there is nothing to reproduce: nothing departed from normal")
    first_ms = _first_ms(logs, first)
    made = _Scenario(logs, diagnosis, first_ms)
    text = made.text()
    try:
        load_text(text, f"{NAME}.yaml")
    except ScenarioFileError as error:
        raise NotReproducibleError(f"the scenario of these logs is not valid: {str(error).splitlines()[0]}") from None
    return Reproduction(text, first_ms, tuple(made.assumed))


def _first_ms(logs: IncidentLogs, first: IncidentFinding) -> int:
    """Return the time of the first finding, but not one before the cluster had come up.

    A fault that shows by the end of a session may have happened in any of the seconds before.
    """
    known: set[int | None] = set()
    up_ms = 0
    for event in logs.events:
        is_new = event.kind is EventKind.BROKER_REGISTERED and event.broker_id not in known
        is_first = event.kind is EventKind.ELECTION_WON and None not in known
        if event.t_ms < first.seen_ms and (is_new or is_first):
            up_ms = event.t_ms + 1
            known.add(event.broker_id if is_new else None)
    return max(first.began_ms, min(up_ms, first.seen_ms))


@dataclass
class _Scenario:
    logs: IncidentLogs
    diagnosis: Diagnosis
    first_ms: int
    assumed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._before, self._end = ClusterState(), ClusterState()
        self._topics: dict[str, dict[int, list[int]]] = {}  # as they were when the scenario needs them first
        self._created_ms: dict[str, int] = {}
        self._grown: set[TopicPartition] = set()
        self._growth: list[tuple[int, str, dict[int, list[int]]]] = []  # partitions that a topic got after the first fault
        self._configs: dict[str, dict[str, str]] = {}
        self._brokers: set[int] = set()
        for event in self.logs.events:
            if event.t_ms < self.first_ms:
                self._before.apply(event)
            self._end.apply(event)
            self._note(event)
        for tp in self._before.of_topics.states:
            self._topics.setdefault(tp.topic, {}).setdefault(tp.partition, list(self._before.of_topics.isr(tp)))

    def _note(self, event: Event) -> None:
        if event.kind is EventKind.BROKER_REGISTERED and event.broker_id is not None:
            self._brokers.add(event.broker_id)
        path = event.path or ""
        if (
            event.data
            and path.startswith(TOPIC_CONFIGS)
            and event.kind in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED)
        ):
            self._configs[path.rpartition("/")[2]] = json.loads(event.data).get("config", {})
        for topic, state in self._end.of_topics.topics.items():
            self._note_topic(event.t_ms, topic, state)
        if event.kind is EventKind.LEADER_ELECTION and (event.rule or "").startswith("unclean") and event.topic:
            self._configs.setdefault(event.topic, {})["unclean.leader.election.enable"] = "true"

    def _note_topic(self, t_ms: int, topic: str, state: TopicState) -> None:
        """Note the assignment of a topic: the one before the first fault, or the first one of a topic or partition."""
        known, is_known = self._topics.setdefault(topic, {}), topic in self._created_ms
        grown: dict[int, list[int]] = {}
        for partition, assignment in sorted(state.assignments.items()):
            replicas = list(map(int, assignment.replicas))
            if t_ms < self.first_ms or not is_known:
                known[partition] = replicas
            elif partition not in known and TopicPartition(topic, partition) not in self._grown:
                grown[partition] = replicas
            self._brokers.update(replicas)
        self._created_ms.setdefault(topic, t_ms)
        if grown:
            self._grown.update(TopicPartition(topic, partition) for partition in grown)
            self._growth.append((t_ms, topic, grown))

    # --- the file

    def text(self) -> str:
        if not self._brokers:
            raise NotReproducibleError("no broker is named in these logs")
        steps = [*self._setup(), *self._incident()]
        tree: dict[str, Any] = {"name": NAME, "description": self._description(), "cluster": self._cluster()}
        if self._is_under_load:
            tree["workload"] = {
                "producers": {WRITER: {"topics": self._loaded_topics(), "rate": 20, "settings": {"acks": 1}}}
            }
        tree |= {"timetable": steps, "expect": list(self._expectations())}
        if any(finding.fault is FaultKind.WRITTEN for finding in self.diagnosis.findings):
            tree["invariants"] = "none"  # what was written by hand need not be what Kafka writes
        return yaml_text(tree)

    def _description(self) -> str:
        first = self.diagnosis.first or self.diagnosis.findings[0]
        fault = first.fault or first.possible[0].kind if first.possible else None
        what = f"{first.subject} {fault.value}" if fault else f"{first.subject} {first.seen}"
        return f"An incident in a real cluster, reproduced from its logs in {self.logs.source}. {what}."

    def _cluster(self) -> dict[str, Any]:
        ids = sorted(self._brokers)
        topics = {
            topic: {
                "assignment": dict(sorted(of.items())),
                **({"config": config} if (config := self._config(topic)) else {}),
            }
            for topic, of in sorted(self._topics.items())
            if of
        }
        return {
            "brokers": len(ids) if ids == list(range(1, len(ids) + 1)) else [{"id": broker} for broker in ids],
            "settings": self._settings(),
            **({"topics": topics} if topics else {}),
        }

    def _config(self, topic: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self._configs.get(topic, {}).items():
            if name in ("unclean.leader.election.enable", "min.insync.replicas"):
                found[name] = {"true": True, "false": False}.get(value, value)
                if isinstance(found[name], str) and found[name].isdecimal():
                    found[name] = int(found[name])
        return found

    def _settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {NO_BALANCING: False}
        for name in OF_INTEREST:
            if name in SETTING_TYPES and (value := self.logs.settings.get(name)) not in (None, "null"):
                try:
                    found[name] = parse_setting(name, value)
                except SettingError:
                    continue
        if (granted_ms := self.logs.session_timeout_ms) is not None:
            found["zookeeper.session.timeout.ms"] = granted_ms
        elif "zookeeper.session.timeout.ms" not in found:
            found["zookeeper.session.timeout.ms"] = timeout_ms = self._shortest_session_ms()
            self.assumed.append(f"the session time-out is {duration(timeout_ms)}: no log shows it, nor a longer one")
        if self._is_under_load and "replica.lag.time.max.ms" not in found:
            shrunk = [one for one in self.diagnosis.findings if _is_behind(one)]
            lag_ms = max(100, min(one.seen_ms - one.began_ms for one in shrunk) * 2 // 3)
            found["replica.lag.time.max.ms"] = lag_ms
            text = f"replica.lag.time.max.ms is {lag_ms}: the logs show only that it is not much more than that"
            self.assumed.append(text)
        return found

    def _shortest_session_ms(self) -> int:
        """Return the shortest time from a fault to the end of the session, at most Kafka's default."""
        lost = [one.seen_ms - one.began_ms for one in self.diagnosis.findings if one.is_expired]
        return max(SHORTEST_SESSION_MS, min([*lost, DEFAULT_SESSION_TIMEOUT_MS]))

    @property
    def _is_under_load(self) -> bool:
        return any(_is_behind(one) for one in self.diagnosis.findings)

    def _loaded_topics(self) -> list[str]:
        """Return the topics that records are written to: only of a log that grows can a follower be behind."""
        return sorted(topic for topic in self._topics if self._is_early(topic))

    def _is_early(self, topic: str) -> bool:
        return self._created_ms.get(topic, 0) < self.first_ms

    def _setup(self) -> Iterator[dict[str, Any]]:
        registered = sorted(self._before.registered) or sorted(self._brokers)
        controller = self._before.controller_id
        if controller in registered:
            yield {"start": f"broker-{controller}"}
            yield {"wait": {"controller": f"broker-{controller}"}, "within": "1m"}
        others = [f"broker-{broker}" for broker in registered if broker != controller]
        if others:
            yield {"start": others if len(others) > 1 else others[0]}
        every = [f"broker-{broker}" for broker in registered]
        yield {"wait": {"registered": every, "controller": "any"}, "within": "1m"}
        topics = [topic for topic in sorted(self._topics) if self._topics[topic] and self._is_early(topic)]
        if topics:
            yield {"create-topic": topics if len(topics) > 1 else topics[0]}
            absent = {b for topic in topics for replicas in self._topics[topic].values() for b in replicas} - set(registered)
            if not absent:
                yield {"wait": {"in-sync": "all"}, "within": "1m"}
            else:
                self.assumed.append(f"replicas on {_names(absent)}, not registered then, were not in sync")
        if self._is_under_load:
            yield {"start-workload": WRITER}
            self.assumed.append("producers wrote all the time: what they did, the logs do not show")

    # --- the incident

    def _incident(self) -> Iterator[dict[str, Any]]:
        steps = [step for finding in self.diagnosis.findings for step in self._steps_of(finding)]
        steps += [*self._elections(), *self._late_topics(), *self._late_brokers()]
        last_ms = max(event.t_ms for event in self.logs.events)
        for t_ms, step in sorted(steps, key=lambda one: one[0]):
            yield step if "after" in step else {**step, "at": self._at(t_ms)}
        # A wait that is true at once: the run goes on until then.
        yield {"wait": {"event": {"kind": EventKind.RUN_STARTED.value}}, "at": self._at(last_ms + AFTER_THE_END_MS)}

    def _at(self, t_ms: int) -> str:
        at_ms = max(0, t_ms - self.first_ms) + FIRST_FAULT_MS
        return f"{at_ms}ms" if at_ms % 1000 else f"{at_ms // 1000}s"

    def _steps_of(self, finding: IncidentFinding) -> Iterator[tuple[int, dict[str, Any]]]:
        kind = finding.fault or (finding.possible[0].kind if finding.possible else None)
        if finding.fault is None and kind is not None:
            self.assumed.append(f"{finding.subject} {kind.value}, the first of the faults that the logs leave")
        began_ms, ended_ms, subject = finding.began_ms, finding.ended_ms, finding.subject
        match kind:
            case FaultKind.KILLED | FaultKind.STOPPED | FaultKind.DISK_LOST:
                verb = {FaultKind.KILLED: "kill", FaultKind.STOPPED: "stop"}.get(kind, "fail-log-dir")
                yield began_ms, {verb: subject}
                if ended_ms is not None:
                    # Kafka refuses to start while the session of the broker's last process is not over.
                    back_ms = (finding.back_ms or ended_ms) - RESTART_MS
                    yield back_ms, {"wait": {"unregistered": subject}, "within": RESTART_WITHIN}
                    yield back_ms, {"start": subject, "after": f"{RESTART_MS}ms"}
            case FaultKind.FROZEN | FaultKind.BEHIND:
                yield began_ms, {"pause": subject}
                if ended_ms is not None:
                    yield ended_ms, {"resume": subject}
                elif _is_behind(finding):
                    self.assumed.append(f"{subject} stays frozen until the end")
            case FaultKind.ZOOKEEPER_AWAY:
                names = [f"broker-{broker}" for broker in sorted(finding.brokers)]
                self.assumed.append("ZooKeeper itself is not stopped: the brokers are cut off from it instead")
                yield began_ms, {"disconnect": names}
                yield finding.seen_ms, {"reconnect": names}
            case FaultKind.CUT_OFF:
                yield began_ms, {"disconnect": subject}
                if ended_ms is not None:
                    yield ended_ms, {"reconnect": subject}
            case FaultKind.EXPIRED:
                yield began_ms, {"expire": subject}
            case FaultKind.UNREGISTERED:
                yield began_ms, {"zk-delete": f"{paths.BROKER_IDS}/{finding.brokers[0]}"}
            case FaultKind.CONTROLLER_DELETED:
                yield began_ms, {"zk-delete": paths.CONTROLLER}
            case FaultKind.REASSIGNED:
                yield began_ms, {"reassign": {subject: self._target_of(subject, finding.seen_ms)}}
            case FaultKind.TOPIC_DELETED:
                yield began_ms, {"delete-topic": subject}
            case FaultKind.WRITTEN:
                yield from self._write_of(finding)
            case None:
                self.assumed.append(f"{subject} {finding.seen}: left out, because nothing explains it")
            case _:
                self.assumed.append(f"{subject} {finding.seen}: left out")

    def _target_of(self, subject: str, t_ms: int) -> list[int]:
        targets = [
            event.target_replicas or ()
            for event in self.logs.events
            if event.kind is EventKind.PARTITION_REASSIGNMENT
            and f"{event.topic}-{event.partition}" == subject
            and event.t_ms == t_ms
        ]
        return list(map(int, targets[0])) if targets else []

    def _write_of(self, finding: IncidentFinding) -> Iterator[tuple[int, dict[str, Any]]]:
        acts = [
            e
            for e in self.logs.events
            if e.kind is EventKind.ADMIN_ACT and e.path == finding.subject and e.t_ms == finding.seen_ms
        ]
        for act in acts:
            change = next((e for e in self.logs.events if e.cause == act.seq and e.path == act.path), None)
            data = {} if change is None or change.data is None else {"data": change.data}
            if act.op == "delete":
                yield act.t_ms, {"zk-delete": act.path}
            elif act.op == "create":
                yield act.t_ms, {"zk-create": {"path": act.path, **data}}
            else:
                yield act.t_ms, {"zk-set": {"path": act.path, "data": data.get("data", "")}}

    def _elections(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the preferred elections of the logs, whether they were asked for or automatic."""
        wanted: dict[int, list[str]] = {}
        for event in self.logs.events:
            is_preferred = event.kind is EventKind.LEADER_ELECTION and (event.rule or "").startswith(PREFERRED)
            if is_preferred and event.t_ms >= self.first_ms:
                wanted.setdefault(event.t_ms, []).append(f"{event.topic}-{event.partition}")
        if wanted:
            self.assumed.append("preferred leaders were elected at the times of the logs, on request")
        for t_ms, partitions in sorted(wanted.items()):
            yield t_ms, {"elect-preferred": partitions}

    def _late_topics(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for topic, t_ms in sorted(self._created_ms.items()):
            if not self._is_early(topic) and self._topics.get(topic):
                yield t_ms, {"create-topic": topic}
        for t_ms, topic, partitions in self._growth:
            if len({len(replicas) for replicas in (*partitions.values(), *self._topics[topic].values())}) == 1:
                yield t_ms, {"add-partitions": {topic: partitions}}
            else:
                self.assumed.append(f"{topic} got no more partitions: those of the logs have another number of replicas")

    def _late_brokers(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the starts of brokers that register after the first fault for the first time."""
        known = set(self._before.registered)
        if not known:
            return
        for event in self.logs.events:
            if event.kind is EventKind.BROKER_REGISTERED and event.broker_id is not None and event.broker_id not in known:
                known.add(event.broker_id)
                if event.t_ms >= self.first_ms:
                    yield event.t_ms, {"start": f"broker-{event.broker_id}"}

    def _expectations(self) -> Iterator[dict[str, Any]]:
        """Yield what the logs say of the end."""
        end = self._end
        if end.controller_id is not None:
            yield {
                "claim": "The controller is the one of the logs.",
                "controller": f"broker-{end.controller_id}",
                "as-recorded": True,
            }
        leaders, isrs = dict[str, Any](), dict[str, list[int]]()
        for tp in end.of_topics.partitions():
            if tp in end.of_topics.states:
                leader = end.of_topics.leader(tp)
                leaders[str(tp)] = "none" if leader is None else f"broker-{leader}"
                isrs[str(tp)] = list(map(int, end.of_topics.isr(tp)))
        if leaders:
            yield {"claim": "The leaders are those of the logs.", "leader": leaders, "as-recorded": True}
            yield {"claim": "The ISRs are those of the logs.", "isr": isrs, "as-recorded": True}
        yield {
            "claim": "As many controllers were elected as in the logs.",
            "events": {"of": {"kind": EventKind.ELECTION_WON.value}, "exactly": self._controllers()},
        }

    def _controllers(self) -> int:
        """Return how many elections a run of the scenario should have: the first one, and those after the first fault."""
        return 1 + sum(e.kind is EventKind.ELECTION_WON and e.t_ms >= self.first_ms for e in self.logs.events)


def _is_behind(finding: IncidentFinding) -> bool:
    """Return whether a broker was removed from ISRs although it kept its registration."""
    return any(candidate.kind is FaultKind.BEHIND for candidate in finding.candidates)


def _names(brokers: Sequence[int] | set[int]) -> str:
    return ", ".join(f"broker-{broker}" for broker in sorted(brokers))
