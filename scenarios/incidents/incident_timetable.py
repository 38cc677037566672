"""The timetable of a scenario that reproduces an incident: the start of the cluster, its faults and requests.

Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.incidents.diagnosis import Diagnosis
from kcsim.scenarios.incidents.findings import FaultKind, IncidentFinding
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.incidents.logged_cluster import LoggedCluster
from kcsim.znodes import paths

FIRST_FAULT_MS = 20_000
"""When the first fault happens in the scenario; until then the cluster comes up."""
AFTER_THE_END_MS = 20_000
PREFERRED = "PREFERRED"
WRITER = "writer"
RESTART_WITHIN, RESTART_MS = "10m", 500
"""How long a broker that comes back may have to wait for the end of its session; the time from then until it starts."""


@dataclass
class IncidentTimetable:
    """Makes the steps of a scenario.

    Attributes:
        first_ms: when the first finding is in the logs, ms after their first event: FIRST_FAULT_MS in the scenario.
        assumed: gets what the logs do not show, and the steps assume.
    """

    logs: IncidentLogs
    diagnosis: Diagnosis
    cluster: LoggedCluster
    first_ms: int
    assumed: list[str]

    def steps(self) -> list[dict[str, Any]]:
        return [*self._setup(), *self._incident()]

    def _setup(self) -> Iterator[dict[str, Any]]:
        registered = sorted(self.cluster.before.registered) or sorted(self.cluster.brokers)
        controller = self.cluster.before.controller_id
        if controller in registered:
            yield {"start": f"broker-{controller}"}
            yield {"wait": {"controller": f"broker-{controller}"}, "within": "1m"}
        others = [f"broker-{broker}" for broker in registered if broker != controller]
        if others:
            yield {"start": others if len(others) > 1 else others[0]}
        every = [f"broker-{broker}" for broker in registered]
        yield {"wait": {"registered": every, "controller": "any"}, "within": "1m"}
        topics = [
            topic for topic in sorted(self.cluster.topics) if self.cluster.topics[topic] and self.cluster.is_early(topic)
        ]
        if topics:
            yield {"create-topic": topics if len(topics) > 1 else topics[0]}
            absent = {b for topic in topics for replicas in self.cluster.topics[topic].values() for b in replicas} - set(
                registered
            )
            if not absent:
                yield {"wait": {"in-sync": "all"}, "within": "1m"}
            else:
                self.assumed.append(f"replicas on {_names(absent)}, not registered then, were not in sync")
        if is_under_load(self.diagnosis):
            yield {"start-workload": WRITER}
            self.assumed.append("producers wrote all the time: what they did, the logs do not show")

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
                elif is_behind(finding):
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
        for topic, t_ms in sorted(self.cluster.created_ms.items()):
            if not self.cluster.is_early(topic) and self.cluster.topics.get(topic):
                yield t_ms, {"create-topic": topic}
        for t_ms, topic, partitions in self.cluster.growth:
            if len({len(replicas) for replicas in (*partitions.values(), *self.cluster.topics[topic].values())}) == 1:
                yield t_ms, {"add-partitions": {topic: partitions}}
            else:
                self.assumed.append(f"{topic} got no more partitions: those of the logs have another number of replicas")

    def _late_brokers(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the starts of brokers that register after the first fault for the first time."""
        known = set(self.cluster.before.registered)
        if not known:
            return
        for event in self.logs.events:
            if event.kind is EventKind.BROKER_REGISTERED and event.broker_id is not None and event.broker_id not in known:
                known.add(event.broker_id)
                if event.t_ms >= self.first_ms:
                    yield event.t_ms, {"start": f"broker-{event.broker_id}"}


def is_under_load(diagnosis: Diagnosis) -> bool:
    """Return whether producers have to write: only of a log that grows can a follower be behind."""
    return any(is_behind(one) for one in diagnosis.findings)


def is_behind(finding: IncidentFinding) -> bool:
    """Return whether a broker was removed from ISRs although it kept its registration."""
    return any(candidate.kind is FaultKind.BEHIND for candidate in finding.candidates)


def _names(brokers: Sequence[int] | set[int]) -> str:
    return ", ".join(f"broker-{broker}" for broker in sorted(brokers))
