"""A scenario that reproduces an incident in the simulated world: the cluster of the logs, and its faults at their times.

The scenario begins with the cluster as it was before the first finding, as far as a new cluster can be like it: the same
brokers and assignments, the same controller, every replica in sync and every preferred replica the leader. From then on
faults and requests come at the times that they have in the logs, relative to the first one. Its expectations are what the
logs say of the end.

Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.config import SETTING_TYPES, SettingError, parse_setting
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.incidents.diagnosis import Diagnosis
from kcsim.scenarios.incidents.findings import FaultKind, IncidentFinding
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.incidents.incident_timetable import WRITER, IncidentTimetable, is_behind, is_under_load
from kcsim.scenarios.incidents.logged_cluster import LoggedCluster
from kcsim.scenarios.incidents.lost_brokers import DEFAULT_SESSION_TIMEOUT_MS
from kcsim.scenarios.language.scenario_file import LoadedScenario, ScenarioFileError, load_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.views.narration.story_words import duration

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
SHORTEST_SESSION_MS = 1_000


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
    made = _ScenarioText(logs, diagnosis, first_ms)
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


class _ScenarioText:
    """Attributes: assumed: what the logs do not show, and the scenario assumes."""

    def __init__(self, logs: IncidentLogs, diagnosis: Diagnosis, first_ms: int) -> None:
        self._logs, self._diagnosis, self._first_ms = logs, diagnosis, first_ms
        self._cluster = LoggedCluster(logs, first_ms)
        self.assumed: list[str] = []

    def text(self) -> str:
        if not self._cluster.brokers:
            raise NotReproducibleError("no broker is named in these logs")
        steps = IncidentTimetable(self._logs, self._diagnosis, self._cluster, self._first_ms, self.assumed).steps()
        tree: dict[str, Any] = {"name": NAME, "description": self._description(), "cluster": self._cluster_tree()}
        if is_under_load(self._diagnosis):
            topics = sorted(filter(self._cluster.is_early, self._cluster.topics))
            tree["workload"] = {"producers": {WRITER: {"topics": topics, "rate": 20, "settings": {"acks": 1}}}}
        tree |= {"timetable": steps, "expect": list(self._expectations())}
        if any(finding.fault is FaultKind.WRITTEN for finding in self._diagnosis.findings):
            tree["invariants"] = "none"  # what was written by hand need not be what Kafka writes
        return yaml_text(tree)

    def _description(self) -> str:
        first = self._diagnosis.first or self._diagnosis.findings[0]
        fault = first.fault or first.possible[0].kind if first.possible else None
        what = f"{first.subject} {fault.value}" if fault else f"{first.subject} {first.seen}"
        return f"An incident in a real cluster, reproduced from its logs in {self._logs.source}. {what}."

    def _cluster_tree(self) -> dict[str, Any]:
        ids = sorted(self._cluster.brokers)
        topics = {
            topic: {
                "assignment": dict(sorted(of.items())),
                **({"config": config} if (config := self._config(topic)) else {}),
            }
            for topic, of in sorted(self._cluster.topics.items())
            if of
        }
        return {
            "brokers": len(ids) if ids == list(range(1, len(ids) + 1)) else [{"id": broker} for broker in ids],
            "settings": self._settings(),
            **({"topics": topics} if topics else {}),
        }

    def _config(self, topic: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self._cluster.configs.get(topic, {}).items():
            if name in ("unclean.leader.election.enable", "min.insync.replicas"):
                found[name] = {"true": True, "false": False}.get(value, value)
                if isinstance(found[name], str) and found[name].isdecimal():
                    found[name] = int(found[name])
        return found

    def _settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {NO_BALANCING: False}
        for name in OF_INTEREST:
            if name in SETTING_TYPES and (value := self._logs.settings.get(name)) not in (None, "null"):
                try:
                    found[name] = parse_setting(name, value)
                except SettingError:
                    continue
        if (granted_ms := self._logs.session_timeout_ms) is not None:
            found["zookeeper.session.timeout.ms"] = granted_ms
        elif "zookeeper.session.timeout.ms" not in found:
            found["zookeeper.session.timeout.ms"] = timeout_ms = self._shortest_session_ms()
            self.assumed.append(f"the session time-out is {duration(timeout_ms)}: no log shows it, nor a longer one")
        if is_under_load(self._diagnosis) and "replica.lag.time.max.ms" not in found:
            shrunk = [one for one in self._diagnosis.findings if is_behind(one)]
            lag_ms = max(100, min(one.seen_ms - one.began_ms for one in shrunk) * 2 // 3)
            found["replica.lag.time.max.ms"] = lag_ms
            text = f"replica.lag.time.max.ms is {lag_ms}: the logs show only that it is not much more than that"
            self.assumed.append(text)
        return found

    def _shortest_session_ms(self) -> int:
        """Return the shortest time from a fault to the end of the session, at most Kafka's default."""
        lost = [one.seen_ms - one.began_ms for one in self._diagnosis.findings if one.is_expired]
        return max(SHORTEST_SESSION_MS, min([*lost, DEFAULT_SESSION_TIMEOUT_MS]))

    def _expectations(self) -> Iterator[dict[str, Any]]:
        """Yield what the logs say of the end."""
        end = self._cluster.end
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
        return 1 + sum(e.kind is EventKind.ELECTION_WON and e.t_ms >= self._first_ms for e in self._logs.events)
