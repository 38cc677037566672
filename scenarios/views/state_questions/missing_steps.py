"""What would have had to happen for a state to end, and did not: who is not eligible, what is waited for, and since when.

What the controller would decide is asked of the controller's own decision functions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcsim.controller.decisions.election import elect_offline
from kcsim.controller.decisions.topic_config import MIN_INSYNC_REPLICAS
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.state_questions.cluster_evidence import ClusterEvidence, since
from kcsim.scenarios.views.state_questions.question import StateForm, StateQuestion
from kcsim.text import format_ids
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import paths

UNCLEAN_SETTING = "unclean.leader.election.enable"
NOT_ENOUGH_REPLICAS = frozenset({"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"})


@dataclass(frozen=True, slots=True)
class MissingStep:
    """One thing that did not happen, with the seqs of the events that show why."""

    text: str
    evidence: tuple[int, ...] = ()


def _step(text: str, *events: Event | None) -> MissingStep:
    return MissingStep(text, tuple(event.seq for event in events if event is not None))


@dataclass(frozen=True, slots=True)
class MissingSteps:
    """Finds the missing steps at one point of a trace.

    Attributes:
        seen: the cluster at that point.
        ends_of_sessions: session id -> the event, after that point, by which the session ends.
        next_partition_change: partition -> the first event after that point that changes its leader or ISR.
    """

    seen: ClusterEvidence
    ends_of_sessions: Mapping[str, Event]
    next_partition_change: Mapping[TopicPartition, Event]

    def of(self, question: StateQuestion) -> list[MissingStep]:
        """Return what did not happen, the most direct first."""
        return list(dict.fromkeys(self._steps(question)))

    def _steps(self, question: StateQuestion) -> Iterator[MissingStep]:
        partition, broker = question.partition, question.broker
        match question.form:
            case StateForm.OFFLINE if partition:
                yield from self._no_leader(partition)
            case StateForm.UNDER_REPLICATED if partition:
                assignment = self.seen.state.of_topics.assignment(partition)
                for replica in assignment.origin_replicas if assignment else ():
                    yield from self._not_in_isr(partition, replica)
            case StateForm.PRODUCE_PENDING if partition:
                yield from self._not_acknowledged(partition)
            case StateForm.REASSIGNMENT_PENDING if partition:
                yield from self._not_reassigned(partition)
            case StateForm.NO_CONTROLLER:
                yield from self._no_controller()
            case StateForm.IN_ISR if partition and broker is not None:
                yield from self._still_in_isr(partition, broker)
            case StateForm.NOT_IN_ISR if partition and broker is not None:
                yield from self._not_in_isr(partition, broker)
            case StateForm.LEADS if partition and broker is not None and not self.seen.serves(broker):
                yield from self._no_leader(partition)
            case StateForm.NOT_LEADER if partition and broker is not None:
                yield from self._not_leader(partition, broker)
            case StateForm.DEAD | StateForm.FROZEN | StateForm.NOT_REGISTERED | StateForm.SESSION_EXPIRED:
                yield from self._broker_is_away(broker or 0)
            case StateForm.NOT_DELETED:
                yield from self._not_deleted(question.topic or "")
            case StateForm.OWNS_NOTHING:
                yield from self._owns_nothing(question.node)
            case _:
                return

    # --- brokers and sessions

    def _process_trouble(self, broker: int) -> str | None:
        """Return "frozen since …" for a broker that does not run; None for one that runs."""
        node = f"broker-{broker}"
        adjective = self.seen.state.not_running(node)
        return None if adjective is None else adjective + since(self.seen.processes.get(node))

    def _open_session(self, broker: int) -> MissingStep | None:
        """Return that ZooKeeper still has the session of a broker that is registered and does not run."""
        znode = self.seen.state.znodes.get(paths.broker_id(BrokerId(broker)))
        if znode is None or self.seen.is_running(broker):
            return None
        end = self.ends_of_sessions.get(znode.session_id or "")
        when = f"it ends at {end.t_ms / 1000:.3f} s (#{end.seq})" if end else "the trace does not show its end"
        return _step(
            f"ZooKeeper has not expired the session of broker-{broker} yet ({when}): until then broker-{broker} stays"
            " registered, and the controller takes it for alive",
            self.seen.processes.get(f"broker-{broker}"),
        )

    def _broker_is_away(self, broker: int) -> Iterator[MissingStep]:
        node = f"broker-{broker}"
        process = self.seen.processes.get(node)
        if (trouble := self._process_trouble(broker)) is not None:
            verb = "resumed" if self.seen.state.processes.get(node) == "paused" else "started again"
            yield _step(f"{node} is {trouble}; it has not been {verb}", process)
        if (session := self._open_session(broker)) is not None:
            yield session
        elif broker not in self.seen.state.registered and trouble is None:
            yield _step(f"{node} has not registered with a new session", self.seen.registrations.get(broker))

    # --- the controller

    def _no_controller(self) -> Iterator[MissingStep]:
        seen = self.seen
        if seen.state.working_controller is not None:
            return
        named = seen.state.controller_id
        if named is None:
            yield _step(
                f"no broker has won an election: /controller does not exist{since(seen.controller)}", seen.controller
            )
            return
        node = f"broker-{named}"
        if (trouble := self._process_trouble(named)) is not None:
            yield _step(f"{node}, which /controller names, is {trouble}: it handles no event", seen.processes.get(node))
            if (session := self._open_session(named)) is not None:
                yield session
                yield MissingStep(f"no election is held while /controller still names {node}")
            return
        link = seen.state.links.get(node)
        if link is not None and link.state != "connected":
            yield MissingStep(f"{node}, which /controller names, is not connected to ZooKeeper: its session is {link.state}")
        elif node not in seen.state.ready:
            yield _step(f"{node} was elected and has not completed its failover", seen.controller)
        else:
            yield _step(f"{node} is fenced: /controller_epoch has changed since its election", seen.controller)

    # --- leaders

    def _no_leader(self, partition: TopicPartition) -> Iterator[MissingStep]:
        seen, topics = self.seen, self.seen.state.of_topics
        stored, leader = topics.states.get(partition), topics.leader(partition)
        if stored is None:
            yield MissingStep(f"{partition} has never had a leader: the controller has not written its first state")
            yield from self._no_controller()
            return
        if leader is not None:
            node = f"broker-{leader}"
            if (trouble := self._process_trouble(leader)) is not None:
                yield _step(f"its leader {node} is {trouble}", seen.processes.get(node))
            if leader in seen.state.registered:
                if (session := self._open_session(leader)) is not None:
                    yield session
                    yield MissingStep("no election is held before that: the controller acts when a registration is gone")
                yield from self._no_controller()
                return
            yield _step(f"{node} is not registered{since(seen.registrations.get(leader))}", seen.registrations.get(leader))
        yield from self._nobody_eligible(partition)
        yield from self._no_controller()

    def _nobody_eligible(self, partition: TopicPartition) -> Iterator[MissingStep]:
        seen, topics = self.seen, self.seen.state.of_topics
        assignment, stored = topics.assignment(partition), topics.states.get(partition)
        if assignment is None or stored is None:
            return
        allowed, origin = self._unclean_election(partition.topic)
        online = [BrokerId(broker) for broker in seen.state.registered]
        election = elect_offline(assignment.replicas, stored.leader_and_isr, online, bool(allowed))
        if election.elected is not None and allowed is not None:
            yield _step(f"by the controller's rule it could elect {election}; it has not done so yet")
            return
        held = seen.elections.get(partition)
        if held is not None and held.leader is None:
            yield _step(f"the election #{held.seq}, {held.t_ms / 1000:.3f} s, found nobody eligible", held)
        yield MissingStep(f"by the controller's rule there is {election}")
        for replica in assignment.replicas:
            yield self._why_not_eligible(partition, replica)
        if allowed is None:
            yield MissingStep(f"the trace does not say whether {UNCLEAN_SETTING} is true")
        elif not allowed:
            yield MissingStep(f"unclean election is disabled ({UNCLEAN_SETTING}=false, {origin})")

    def _unclean_election(self, topic: str) -> tuple[bool | None, str]:
        own = self.seen.topic_setting(topic, UNCLEAN_SETTING)
        if own is not None:
            return own == "true", "the topic's setting"
        return self.seen.unclean_default, "the controller's setting"

    def _why_not_eligible(self, partition: TopicPartition, replica: int) -> MissingStep:
        seen, node = self.seen, f"broker-{replica}"
        reasons, shown = [], []
        if (trouble := self._process_trouble(replica)) is not None:
            reasons.append(trouble)
            shown.append(seen.processes.get(node))
        elif replica not in seen.state.registered:
            reasons.append(f"not registered{since(seen.registrations.get(replica))}")
            shown.append(seen.registrations.get(replica))
        if replica not in seen.state.of_topics.isr(partition):
            left = seen.isr_exits.get((partition, replica))
            reasons.append(f"not in the ISR{since(left)}")
            shown.append(left)
        return _step(f"{node} is not eligible: {' and '.join(reasons)}" if reasons else f"{node} is eligible", *shown)

    def _not_leader(self, partition: TopicPartition, broker: int) -> Iterator[MissingStep]:
        assignment = self.seen.state.of_topics.assignment(partition)
        if assignment is None or broker not in assignment.replicas:
            replicas = format_ids(assignment.replicas) if assignment else "[]"
            yield MissingStep(f"broker-{broker} is no replica of {partition}, whose replicas are {replicas}")
            return
        step = self._why_not_eligible(partition, broker)
        if not step.text.endswith("is eligible"):
            yield step
        elif assignment.replicas[0] == broker:
            yield MissingStep(
                f"broker-{broker} is the preferred leader and eligible; no preferred election has been held since"
            )
        else:
            yield MissingStep(f"broker-{broker} is eligible; a leader that works is replaced by its preferred leader only")
        if not self.seen.serves(self.seen.state.of_topics.leader(partition)):
            yield from self._no_leader(partition)

    # --- in-sync replicas

    def _not_in_isr(self, partition: TopicPartition, broker: int) -> Iterator[MissingStep]:
        seen, topics = self.seen, self.seen.state.of_topics
        if broker in topics.isr(partition):
            return
        node, assignment = f"broker-{broker}", topics.assignment(partition)
        if assignment is None or broker not in assignment.replicas:
            yield MissingStep(f"{node} is no replica of {partition}")
            return
        left = seen.isr_exits.get((partition, broker))
        if (trouble := self._process_trouble(broker)) is not None:
            yield _step(f"{node} is {trouble}: it fetches nothing", seen.processes.get(node), left)
            return
        leader = topics.leader(partition)
        if not seen.serves(leader):
            yield _step(f"no working leader could add {node} to the ISR", left)
            yield from self._no_leader(partition)
            return
        exit_trouble = seen.exit_troubles.get((partition, broker))
        if exit_trouble is not None:
            yield _step(f"when {node} left the ISR, the network was disturbed: {exit_trouble[0]}", exit_trouble[1])
        link = self.seen.link_trouble(leader, broker)
        if link is not None:
            yield _step(f"{node} has not caught up with the leader broker-{leader}: {link[0]}", link[1], left)
        else:
            yield _step(
                f"the leader broker-{leader} has not added {node} to the ISR{since(left)}: {node} has to reach"
                " the leader's log end first",
                left,
            )

    def _still_in_isr(self, partition: TopicPartition, broker: int) -> Iterator[MissingStep]:
        """Return why a replica that does not follow is still in the ISR; nothing for one that does."""
        seen, topics = self.seen, self.seen.state.of_topics
        node, leader = f"broker-{broker}", topics.leader(partition)
        trouble = self._process_trouble(broker)
        link = self.seen.link_trouble(leader, broker)
        if trouble is None and link is None:
            return
        shown = seen.processes.get(node) if trouble is not None else link[1] if link else None
        yield _step(f"{node} is in the ISR and {trouble if trouble is not None else link[0] if link else ''}", shown)
        if len(topics.isr(partition)) == 1:
            yield MissingStep(
                f"{node} is the last member: the last member stays in the ISR, so that it is known who has the data"
            )
            return
        change = self.next_partition_change.get(partition)
        when = f"the next change is at {change.t_ms / 1000:.3f} s (#{change.seq})" if change else "the trace shows no change"
        if seen.serves(leader):
            yield _step(
                f"the leader broker-{leader} has not removed {node} from the ISR: it does so when {node} has not been"
                f" caught up for replica.lag.time.max.ms; {when}",
                change,
            )
        if (session := self._open_session(broker)) is not None:
            yield session

    # --- records

    def _not_acknowledged(self, partition: TopicPartition) -> Iterator[MissingStep]:
        seen, topics = self.seen, self.seen.state.of_topics
        leader, isr = topics.leader(partition), topics.isr(partition)
        if not seen.serves(leader):
            yield MissingStep(f"no broker serves {partition}, so nobody answers the producer")
            yield from self._no_leader(partition)
        waiting = seen.records.pending(partition)
        refused = [records.refused for records in waiting.values() if records.refused is not None]
        for event in refused:
            yield _step(
                f"the latest attempt of {event.node} was refused with {event.error}"
                f" (#{event.seq}, {event.t_ms / 1000:.3f} s)",
                event,
            )
        minimum = seen.topic_setting(partition.topic, MIN_INSYNC_REPLICAS)
        if any(event.error in NOT_ENOUGH_REPLICAS for event in refused):
            wanted = f"{minimum} (the topic's setting)" if minimum else "a broker's setting, which the trace does not have"
            yield MissingStep(
                f"{MIN_INSYNC_REPLICAS} is not met: it is {wanted}, and the ISR {format_ids(isr)} has {len(isr)}"
            )
            assignment = topics.assignment(partition)
            for replica in assignment.replicas if assignment else ():
                yield from self._not_in_isr(partition, replica)
        if any(records.unanswered for records in waiting.values()):
            for replica in isr:
                if replica != leader:
                    yield from self._still_in_isr(partition, replica)

    # --- reassignment, deletion, consumers

    def _not_reassigned(self, partition: TopicPartition) -> Iterator[MissingStep]:
        topics = self.seen.state.of_topics
        assignment = topics.assignment(partition)
        yield from self._no_controller()
        if assignment is None:
            return
        for replica in assignment.adding_replicas:
            yield from self._not_in_isr(partition, replica)
        if set(assignment.adding_replicas) <= set(topics.isr(partition)):
            last = self.seen.reassignments.get(partition)
            step = f": its last step is {last.step}{since(last)}" if last else ""
            yield _step(f"all new replicas are in the ISR; the controller has not completed the reassignment{step}", last)

    def _not_deleted(self, topic: str) -> Iterator[MissingStep]:
        seen, topics = self.seen, self.seen.state.of_topics
        yield from self._no_controller()
        last = seen.deletions.get(topic)
        if last is not None:
            reason = last.detail or f"deletion of topic {topic} {last.step}"
            yield _step(f"the controller's last word{since(last).replace(' since', ' is')}: {reason}", last)
        known = topics.topics.get(topic)
        assignments = known.assignments.values() if known else ()
        for broker in sorted({broker for assignment in assignments for broker in assignment.replicas}):
            if (trouble := self._process_trouble(broker)) is not None:
                yield _step(
                    f"broker-{broker} has a replica and is {trouble}: it has not confirmed that the replica is deleted",
                    seen.processes.get(f"broker-{broker}"),
                )
        for number, assignment in sorted(known.assignments.items()) if known else ():
            if assignment.is_being_reassigned:
                yield MissingStep(f"{topic}-{number} is being reassigned, and the deletion waits for that")

    def _owns_nothing(self, node: str) -> Iterator[MissingStep]:
        seen, consumers = self.seen, self.seen.state.of_consumers
        process = seen.processes.get(node)
        adjective = seen.state.not_running(node)
        if adjective is not None:
            yield _step(f"{node} is {adjective}{since(process)}", process)
        group = consumers.group_of.get(node)
        history = consumers.groups.get(group or "")
        if group is None or history is None:
            yield _step(
                f"{node} has had no assignment yet: no generation of a group has ended its join phase with it", process
            )
            return
        if adjective is None and history.state != "Stable":
            yield MissingStep(f"group {group} is not stable ({history.state}): a rebalance has to end first", ())
        elif adjective is None:
            others = {name: len(owned) for name, owned in sorted(consumers.owned.items()) if owned and name != node}
            spread = ", ".join(f"{name} {count}" for name, count in others.items()) or "none"
            yield MissingStep(
                f"the assignment of generation {history.generation} of group {group} gave {node} no partition;"
                f" others own: {spread}"
            )
