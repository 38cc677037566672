"""All generators of random steps; each draws one step as in a scenario file.

A generator draws the target and the parameters of a step, and records the state that the cluster is then assumed to have.
None: there is no possible target. A generator's name is the step's verb, with a suffix where one verb has several variants
that need a weight of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.scenarios.engine.steps.step_spec import Absent
from kcsim.scenarios.explore.generator_state import GeneratorState, one_or_list
from kcsim.scenarios.explore.znode_corruption import corrupt_znode
from kcsim.scenarios.language import consumer_steps, network_steps, steps, topic_steps, workload_steps
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.znodes import paths

StepDict = dict[str, Any]
StepGenerator = Callable[[GeneratorState], StepDict | None]

WRITTEN_BY_CONTROLLERS = (
    *(
        paths.CONTROLLER,
        paths.CONTROLLER_EPOCH,
        paths.BROKER_TOPICS,
        paths.REASSIGN_PARTITIONS,
        paths.ISR_CHANGE_NOTIFICATION,
    ),
    *(None, None, None),  # any write
)
SHORTEST_FAULT_MS, LONGEST_FAULT_MS = 100, 8_000
ERRORS_TO_INJECT = {
    "Produce": ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH"),
    "Metadata": ("LEADER_NOT_AVAILABLE",),
    "JoinGroup": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "Heartbeat": ("NOT_COORDINATOR", "REBALANCE_IN_PROGRESS"),
    "OffsetCommit": ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"),
}
"""The requests of clients, and errors after which they try again."""
REQUESTS_TO_BREAK = ("LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown", "Fetch", "Produce")


def _fault_time(s: GeneratorState) -> str:
    return s.ms(SHORTEST_FAULT_MS, LONGEST_FAULT_MS)


def _to_victim(s: GeneratorState, verb: str, state: list[str] | None) -> StepDict:
    who, alias = s.victim()
    if state is not None:
        s.note(alias or who, state)
    return {verb: who} | ({"as": alias} if alias else {})


def _at_write(s: GeneratorState, step: StepDict) -> StepDict:
    path = s.choose(WRITTEN_BY_CONTROLLERS)
    nth = s.choose((1, 1, 1, 2, 3, 5))
    timing = {"at-write": s.choose(("before", "after"))}
    return step | timing | ({"path": path} if path else {}) | ({"nth": nth} if nth > 1 else {})


# --- brokers ---------------------------------------------------------------------------------------------------------------


def start(s: GeneratorState) -> StepDict | None:
    if not s.gone:
        return None
    who = s.choose(s.gone)
    s.note(who, s.up)
    return {"start": who}


def stop(s: GeneratorState) -> StepDict:
    return _to_victim(s, "stop", s.gone)


def restart(s: GeneratorState) -> StepDict:
    return _to_victim(s, "restart", s.up)


def start_upgraded(s: GeneratorState) -> StepDict | None:
    gone = [name for name in s.names if name in s.gone]
    return _upgraded(s, "start", s.choose(gone)) if gone else None


def restart_upgraded(s: GeneratorState) -> StepDict | None:
    return _upgraded(s, "restart", s.any_broker([name for name in s.names if name in s.up]))


def _upgraded(s: GeneratorState, verb: str, who: str) -> StepDict | None:
    upgrades = s.upgrades
    if not upgrades.releases:
        return None
    s.note(who, s.up)
    version = s.choose(upgrades.versions[upgrades.versions.index(upgrades.version_of[who]) :])
    upgrades.version_of[who] = version
    return {verb: who, "release": s.choose(upgrades.releases), "settings": {PROTOCOL_VERSION: version}}


def kill(s: GeneratorState) -> StepDict:
    return _to_victim(s, "kill", s.gone)


def kill_rack(s: GeneratorState) -> StepDict | None:
    if not s.racks:
        return None
    rack = s.rng.randrange(s.racks)
    victims = [f"broker-{broker}" for broker in s.brokers if (broker - 1) % s.racks == rack and f"broker-{broker}" in s.up]
    for name in victims:
        s.note(name, s.gone)
    return {"kill": one_or_list(victims)} if victims else None


def kill_at_write(s: GeneratorState) -> StepDict:
    return _at_write(s, _to_victim(s, "kill", s.gone))


def pause(s: GeneratorState) -> StepDict:
    return _to_victim(s, "pause", s.paused)


def pause_at_write(s: GeneratorState) -> StepDict:
    return _at_write(s, _to_victim(s, "pause", s.paused))


def resume(s: GeneratorState) -> StepDict | None:
    if not s.paused:
        return None
    who = s.choose(s.paused)
    s.note(who, s.up)
    return {"resume": who}


def expire(s: GeneratorState) -> StepDict:
    return _to_victim(s, "expire", None)


def disconnect(s: GeneratorState) -> StepDict:
    step = _to_victim(s, "disconnect", None)
    if s.chance(0.7):
        return step | {"for": _fault_time(s)}
    s.disconnected.append(step.get("as") or step["disconnect"])
    return step


def reconnect(s: GeneratorState) -> StepDict | None:
    if not s.disconnected:
        return None
    who = s.choose(s.disconnected)
    s.disconnected.remove(who)
    return {"reconnect": who}


def slow_follower(s: GeneratorState) -> StepDict:
    who = s.any_broker()
    return {"slow-follower": who} if s.chance(0.3) else {"slow-follower": who, "rate": s.choose((0, 1, 5, 20, 100))}


def fail_log_dir(s: GeneratorState) -> StepDict:
    step: StepDict = {"fail-log-dir": s.any_broker()}
    partitions = s.partitions()
    return step | {"partitions": s.choose(partitions)} if partitions and s.chance(0.6) else step


# --- the network -----------------------------------------------------------------------------------------------------------


def _side(s: GeneratorState, besides: Sequence[str] = ()) -> list[str]:
    nodes = [*s.names, *(f"producer-{name}" for name in s.producers), *(f"consumer-{name}" for name in s.consumers)]
    free = [name for name in nodes if name not in besides]
    # Brokers are twice as likely as their clients.
    chosen = s.choose([*(name for name in free if name in s.names), *free])
    more = s.choose([name for name in free if name != chosen] or [chosen])
    return [chosen, more] if more != chosen and s.chance(0.2) and len(free) > 2 else [chosen]


def _links(s: GeneratorState) -> StepDict:
    if s.chance(0.15):
        return {"between": s.any_broker(), "and": "all"}
    some = _side(s)
    others = _side(s, some)
    keys = ("between", "and") if s.chance(0.6) else ("from", "to")
    return {keys[0]: one_or_list(some), keys[1]: one_or_list(others)}


def _for_a_while(s: GeneratorState, step: StepDict) -> StepDict:
    return step | {"for": _fault_time(s)} if s.chance(0.7) else step


def partition(s: GeneratorState) -> StepDict:
    links = _links(s)
    return _for_a_while(s, {"partition": links | {"refuse": True} if s.chance(0.2) else links})


def slow_link(s: GeneratorState) -> StepDict:
    delay = s.choose((20, 100, 300, 1_000, 3_000))
    links = _links(s) | {"delay": f"{delay}ms"}
    return _for_a_while(s, {"slow-link": links | {"jitter": f"{delay // 2}ms"} if s.chance(0.5) else links})


def lossy_link(s: GeneratorState) -> StepDict:
    how = s.choose(({"loss": "20%"}, {"break": "20%"}, {"loss": "5%", "break": "5%"}, {"loss": "60%"}))
    return _for_a_while(s, {"lossy-link": _links(s) | how})


def break_connections(s: GeneratorState) -> StepDict:
    links = _links(s)
    return {"break-connections": links | ({"once-delivered": s.choose(REQUESTS_TO_BREAK)} if s.chance(0.6) else {})}


def inject_error(s: GeneratorState) -> StepDict:
    request = s.choose(list(ERRORS_TO_INJECT))
    error = {"request": request, "error": s.choose(ERRORS_TO_INJECT[request]), "count": s.choose([1, 2, 5])}
    return {"inject-error": error | ({"carried-out": True} if s.chance(0.2) else {}), "if-possible": True}


def heal(s: GeneratorState) -> StepDict:
    return {"heal": "all"}


# --- ZooKeeper's servers ---------------------------------------------------------------------------------------------------


def _server(s: GeneratorState, verb: str) -> StepDict | None:
    there = [f"member-{n}" for n in range(1, s.members + 1) if f"member-{n}" not in s.servers_away]
    if not there:
        return None
    name = s.choose(there)
    s.servers_away[name] = verb
    return {"zookeeper": {verb: name}}


def _server_back(s: GeneratorState, verb: str, back: str) -> StepDict | None:
    away = [name for name, how in s.servers_away.items() if how == verb]
    if not away:
        return None
    name = s.choose(away)
    del s.servers_away[name]
    return {"zookeeper": {back: name}}


def zookeeper_kill(s: GeneratorState) -> StepDict | None:
    return _server(s, "kill")


def zookeeper_pause(s: GeneratorState) -> StepDict | None:
    return _server(s, "pause")


def zookeeper_start(s: GeneratorState) -> StepDict | None:
    return _server_back(s, "kill", "start")


def zookeeper_resume(s: GeneratorState) -> StepDict | None:
    return _server_back(s, "pause", "resume")


# --- admin actions ---------------------------------------------------------------------------------------------------------


def create_topic(s: GeneratorState) -> StepDict | None:
    missing = [topic for topic in s.topics if topic not in s.created]
    if not missing:
        return None
    topic = s.choose(missing)
    s.created.append(topic)
    return {"create-topic": topic}


def delete_topic(s: GeneratorState) -> StepDict:
    topic = s.topic()
    if topic in s.created:
        s.created.remove(topic)
    return {"delete-topic": topic}


def add_partitions(s: GeneratorState) -> StepDict:
    topic = s.topic()
    there = s.topics[topic]
    like = len(there[0])
    there.append(s.replicas(like))
    return {"add-partitions": {topic: {len(there) - 1: there[-1]}}}


def reassign(s: GeneratorState) -> StepDict:
    targets = {partition: s.replicas() for partition in s.some_partitions()}
    return {"reassign": targets} | ({"via": "api"} if s.chance(0.5) else {})


def cancel_reassignment(s: GeneratorState) -> StepDict:
    return {"cancel-reassignment": "all" if s.chance(0.6) else one_or_list(s.some_partitions())}


def _which(s: GeneratorState) -> Any:
    return "all" if s.chance(0.4) else one_or_list(s.some_partitions())


def elect_preferred(s: GeneratorState) -> StepDict:
    return {"elect-preferred": _which(s)} | ({"via": "api"} if s.chance(0.5) else {})


def elect_unclean(s: GeneratorState) -> StepDict:
    return {"elect-unclean": _which(s)}


def set_config(s: GeneratorState) -> StepDict:
    settings: Sequence[tuple[str, Sequence[Any]]] = (
        ("min.insync.replicas", (1, 2, 3)),
        ("retention.ms", (1_000, 60_000)),
        ("segment.bytes", (2_000, 100_000)),
    )
    name, values = s.choose(settings)
    return {"set-config": {"topics": {s.topic(): {name: s.choose(values)}}}}


def set_unclean(s: GeneratorState) -> StepDict:
    change = {"unclean.leader.election.enable": s.choose((True, False, None))}
    return {"set-config": {"broker-defaults": change} if s.chance(0.3) else {"topics": {s.topic(): change}}}


def zk_delete_controller(s: GeneratorState) -> StepDict:
    return {"zk-delete": paths.CONTROLLER}


# --- clients ---------------------------------------------------------------------------------------------------------------


def produce(s: GeneratorState) -> StepDict | None:
    return {"produce": s.choose(s.producers), "records": s.choose((1, 10, 100))} if s.producers else None


def start_workload(s: GeneratorState) -> StepDict | None:
    return {"start-workload": s.choose(s.producers)} if s.producers else None


def stop_workload(s: GeneratorState) -> StepDict | None:
    return {"stop-workload": s.choose(s.producers)} if s.producers else None


def _to_consumer(verb: str) -> StepGenerator:
    return lambda s: {verb: s.choose(s.consumers)} if s.consumers else None


def stall_consumers(s: GeneratorState) -> StepDict | None:
    return {"stall-consumers": s.choose(s.consumers), "for": _fault_time(s)} if s.consumers else None


GENERATORS_OF: Mapping[type[ScenarioStep], Mapping[str, StepGenerator] | Absent] = {
    steps.StartStep: {"start": start, "start-upgraded": start_upgraded},
    steps.StopStep: {"stop": stop},
    steps.RestartStep: {"restart": restart, "restart-upgraded": restart_upgraded},
    steps.RollingRestartStep: Absent("it waits for replicas that other faults may keep out of sync"),
    steps.KillStep: {"kill": kill, "kill-rack": kill_rack, "kill-at-write": kill_at_write},
    steps.PauseStep: {"pause": pause, "pause-at-write": pause_at_write},
    steps.ResumeStep: {"resume": resume},
    steps.ExpireStep: {"expire": expire},
    steps.DisconnectStep: {"disconnect": disconnect},
    steps.ReconnectStep: {"reconnect": reconnect},
    steps.SlowFollowerStep: {"slow-follower": slow_follower},
    steps.FailLogDirStep: {"fail-log-dir": fail_log_dir},
    network_steps.NetworkPartitionStep: {"partition": partition},
    network_steps.SlowLinkStep: {"slow-link": slow_link},
    network_steps.LossyLinkStep: {"lossy-link": lossy_link},
    network_steps.BreakConnectionsStep: {"break-connections": break_connections},
    network_steps.InjectErrorStep: {"inject-error": inject_error},
    network_steps.HealStep: {"heal": heal},
    steps.ServersStep: {
        "zookeeper-kill": zookeeper_kill,
        "zookeeper-start": zookeeper_start,
        "zookeeper-pause": zookeeper_pause,
        "zookeeper-resume": zookeeper_resume,
    },
    topic_steps.CreateTopicStep: {"create-topic": create_topic},
    topic_steps.DeleteTopicStep: {"delete-topic": delete_topic},
    topic_steps.AddPartitionsStep: {"add-partitions": add_partitions},
    topic_steps.ReassignStep: {"reassign": reassign},
    topic_steps.CancelReassignmentStep: {"cancel-reassignment": cancel_reassignment},
    topic_steps.ElectPreferredStep: {"elect-preferred": elect_preferred},
    topic_steps.ElectUncleanStep: {"elect-unclean": elect_unclean},
    topic_steps.SetConfigStep: {"set-config": set_config, "set-unclean": set_unclean},
    steps.ZkDeleteStep: {"zk-delete-controller": zk_delete_controller},
    steps.ZkSetStep: {"zk-wrong-znode": corrupt_znode},
    steps.ZkCreateStep: Absent("zk-wrong-znode draws it as well"),
    steps.ZkRecreateStep: Absent("zk-wrong-znode overwrites znodes, with the same effect on those that Kafka reads"),
    workload_steps.ProduceStep: {"produce": produce},
    workload_steps.StartWorkloadStep: {"start-workload": start_workload},
    workload_steps.StopWorkloadStep: {"stop-workload": stop_workload},
    consumer_steps.StartConsumersStep: {"start-consumers": _to_consumer("start-consumers")},
    consumer_steps.StopConsumersStep: {"stop-consumers": _to_consumer("stop-consumers")},
    consumer_steps.CrashConsumersStep: {"crash-consumers": _to_consumer("crash-consumers")},
    consumer_steps.PauseConsumersStep: {"pause-consumers": _to_consumer("pause-consumers")},
    consumer_steps.ResumeConsumersStep: {"resume-consumers": _to_consumer("resume-consumers")},
    consumer_steps.StallConsumersStep: {"stall-consumers": stall_consumers},
    steps.WaitStep: Absent("it would wait for what does not happen; random steps have pauses between them instead"),
}
"""The class of a step -> its generators, by the name that they have in profiles and --weight.

A new generator changes the scenarios of all seeds of the profiles that have a weight for it.
"""
STEP_GENERATORS: Mapping[str, StepGenerator] = {
    name: generator
    for generators in GENERATORS_OF.values()
    if not isinstance(generators, Absent)
    for name, generator in generators.items()
}
"""Name, as in profiles and --weight, -> generator of the step."""
