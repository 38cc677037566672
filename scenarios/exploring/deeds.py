"""Everything that a random timetable can do, each deed one step as a scenario file has it.

A deed draws whom it is done to and how, and notes what is to be believed of the cluster then. None: nothing to do it to.
Its name is the step's verb, with more words where one verb has several ways that are worth a weight of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcsim.scenarios.exploring.situation import Situation, one_or_list
from kcsim.scenarios.exploring.wrong_znodes import a_wrong_znode
from kcsim.zk import paths

Step = dict[str, Any]
Deed = Callable[[Situation], Step | None]

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
REQUESTS_TO_BREAK = ("LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown", "Fetch", "Produce")


def _fault_time(s: Situation) -> str:
    return s.ms(SHORTEST_FAULT_MS, LONGEST_FAULT_MS)


def _to_victim(s: Situation, verb: str, state: list[str] | None) -> Step:
    who, alias = s.victim()
    if state is not None:
        s.note(alias or who, state)
    return {verb: who} | ({"as": alias} if alias else {})


def _at_write(s: Situation, step: Step) -> Step:
    path = s.one(WRITTEN_BY_CONTROLLERS)
    nth = s.one((1, 1, 1, 2, 3, 5))
    struck = {"at-write": s.one(("before", "after"))}
    return step | struck | ({"path": path} if path else {}) | ({"nth": nth} if nth > 1 else {})


# --- brokers ---------------------------------------------------------------------------------------------------------------


def start(s: Situation) -> Step | None:
    if not s.gone:
        return None
    who = s.one(s.gone)
    s.note(who, s.up)
    return {"start": who}


def stop(s: Situation) -> Step:
    return _to_victim(s, "stop", s.gone)


def kill(s: Situation) -> Step:
    return _to_victim(s, "kill", s.gone)


def kill_rack(s: Situation) -> Step | None:
    if not s.racks:
        return None
    rack = s.numbers.randrange(s.racks)
    struck = [f"broker-{broker}" for broker in s.brokers if (broker - 1) % s.racks == rack and f"broker-{broker}" in s.up]
    for name in struck:
        s.note(name, s.gone)
    return {"kill": one_or_list(struck)} if struck else None


def kill_at_write(s: Situation) -> Step:
    return _at_write(s, _to_victim(s, "kill", s.gone))


def pause(s: Situation) -> Step:
    return _to_victim(s, "pause", s.paused)


def pause_at_write(s: Situation) -> Step:
    return _at_write(s, _to_victim(s, "pause", s.paused))


def resume(s: Situation) -> Step | None:
    if not s.paused:
        return None
    who = s.one(s.paused)
    s.note(who, s.up)
    return {"resume": who}


def expire(s: Situation) -> Step:
    return _to_victim(s, "expire", None)


def disconnect(s: Situation) -> Step:
    step = _to_victim(s, "disconnect", None)
    if s.is_so(0.7):
        return step | {"for": _fault_time(s)}
    s.cut.append(step.get("as") or step["disconnect"])
    return step


def reconnect(s: Situation) -> Step | None:
    if not s.cut:
        return None
    who = s.one(s.cut)
    s.cut.remove(who)
    return {"reconnect": who}


def slow_follower(s: Situation) -> Step:
    who = s.somebody()
    return {"slow-follower": who} if s.is_so(0.3) else {"slow-follower": who, "rate": s.one((0, 1, 5, 20, 100))}


def fail_log_dir(s: Situation) -> Step:
    step: Step = {"fail-log-dir": s.somebody()}
    partitions = s.partitions()
    return step | {"partitions": s.one(partitions)} if partitions and s.is_so(0.6) else step


# --- the network -----------------------------------------------------------------------------------------------------------


def _side(s: Situation, besides: Sequence[str] = ()) -> list[str]:
    nodes = [*s.names, *(f"producer-{name}" for name in s.producers), *(f"consumer-{name}" for name in s.consumers)]
    free = [name for name in nodes if name not in besides]
    # Brokers twice as often as their clients.
    chosen = s.one([*(name for name in free if name in s.names), *free])
    more = s.one([name for name in free if name != chosen] or [chosen])
    return [chosen, more] if more != chosen and s.is_so(0.2) and len(free) > 2 else [chosen]


def _links(s: Situation) -> Step:
    if s.is_so(0.15):
        return {"between": s.somebody(), "and": "all"}
    some = _side(s)
    others = _side(s, some)
    keys = ("between", "and") if s.is_so(0.6) else ("from", "to")
    return {keys[0]: one_or_list(some), keys[1]: one_or_list(others)}


def _for_a_while(s: Situation, step: Step) -> Step:
    return step | {"for": _fault_time(s)} if s.is_so(0.7) else step


def partition(s: Situation) -> Step:
    links = _links(s)
    return _for_a_while(s, {"partition": links | {"refuse": True} if s.is_so(0.2) else links})


def slow_link(s: Situation) -> Step:
    delay = s.one((20, 100, 300, 1_000, 3_000))
    links = _links(s) | {"delay": f"{delay}ms"}
    return _for_a_while(s, {"slow-link": links | {"jitter": f"{delay // 2}ms"} if s.is_so(0.5) else links})


def lossy_link(s: Situation) -> Step:
    how = s.one(({"loss": "20%"}, {"break": "20%"}, {"loss": "5%", "break": "5%"}, {"loss": "60%"}))
    return _for_a_while(s, {"lossy-link": _links(s) | how})


def break_connections(s: Situation) -> Step:
    links = _links(s)
    return {"break-connections": links | ({"once-delivered": s.one(REQUESTS_TO_BREAK)} if s.is_so(0.6) else {})}


def heal(s: Situation) -> Step:
    return {"heal": "all"}


# --- ZooKeeper's servers ---------------------------------------------------------------------------------------------------


def _server(s: Situation, verb: str) -> Step | None:
    there = [f"member-{n}" for n in range(1, s.members + 1) if f"member-{n}" not in s.servers_away]
    if not there:
        return None
    name = s.one(there)
    s.servers_away[name] = verb
    return {"zookeeper": {verb: name}}


def _server_back(s: Situation, verb: str, back: str) -> Step | None:
    away = [name for name, how in s.servers_away.items() if how == verb]
    if not away:
        return None
    name = s.one(away)
    del s.servers_away[name]
    return {"zookeeper": {back: name}}


def zookeeper_kill(s: Situation) -> Step | None:
    return _server(s, "kill")


def zookeeper_pause(s: Situation) -> Step | None:
    return _server(s, "pause")


def zookeeper_start(s: Situation) -> Step | None:
    return _server_back(s, "kill", "start")


def zookeeper_resume(s: Situation) -> Step | None:
    return _server_back(s, "pause", "resume")


# --- admin acts ------------------------------------------------------------------------------------------------------------


def create_topic(s: Situation) -> Step | None:
    missing = [topic for topic in s.topics if topic not in s.created]
    if not missing:
        return None
    topic = s.one(missing)
    s.created.append(topic)
    return {"create-topic": topic}


def delete_topic(s: Situation) -> Step:
    topic = s.topic()
    if topic in s.created:
        s.created.remove(topic)
    return {"delete-topic": topic}


def add_partitions(s: Situation) -> Step:
    topic = s.topic()
    there = s.topics[topic]
    like = len(there[0])
    there.append(s.replicas(like))
    return {"add-partitions": {topic: {len(there) - 1: there[-1]}}}


def reassign(s: Situation) -> Step:
    targets = {partition: s.replicas() for partition in s.some_partitions()}
    return {"reassign": targets} | ({"via": "api"} if s.is_so(0.5) else {})


def cancel_reassignment(s: Situation) -> Step:
    return {"cancel-reassignment": "all" if s.is_so(0.6) else one_or_list(s.some_partitions())}


def _which(s: Situation) -> Any:
    return "all" if s.is_so(0.4) else one_or_list(s.some_partitions())


def elect_preferred(s: Situation) -> Step:
    return {"elect-preferred": _which(s)} | ({"via": "api"} if s.is_so(0.5) else {})


def elect_unclean(s: Situation) -> Step:
    return {"elect-unclean": _which(s)}


def set_config(s: Situation) -> Step:
    settings: Sequence[tuple[str, Sequence[Any]]] = (
        ("min.insync.replicas", (1, 2, 3)),
        ("retention.ms", (1_000, 60_000)),
        ("segment.bytes", (2_000, 100_000)),
    )
    name, values = s.one(settings)
    return {"set-config": {"topics": {s.topic(): {name: s.one(values)}}}}


def set_unclean(s: Situation) -> Step:
    change = {"unclean.leader.election.enable": s.one((True, False, None))}
    return {"set-config": {"broker-defaults": change} if s.is_so(0.3) else {"topics": {s.topic(): change}}}


def zk_delete_controller(s: Situation) -> Step:
    return {"zk-delete": paths.CONTROLLER}


# --- clients ---------------------------------------------------------------------------------------------------------------


def produce(s: Situation) -> Step | None:
    return {"produce": s.one(s.producers), "records": s.one((1, 10, 100))} if s.producers else None


def start_workload(s: Situation) -> Step | None:
    return {"start-workload": s.one(s.producers)} if s.producers else None


def stop_workload(s: Situation) -> Step | None:
    return {"stop-workload": s.one(s.producers)} if s.producers else None


def _to_consumer(verb: str) -> Deed:
    return lambda s: {verb: s.one(s.consumers)} if s.consumers else None


def stall_consumers(s: Situation) -> Step | None:
    return {"stall-consumers": s.one(s.consumers), "for": _fault_time(s)} if s.consumers else None


DEEDS: Mapping[str, Deed] = {
    "start": start,
    "stop": stop,
    "kill": kill,
    "kill-rack": kill_rack,
    "kill-at-write": kill_at_write,
    "pause": pause,
    "pause-at-write": pause_at_write,
    "resume": resume,
    "expire": expire,
    "disconnect": disconnect,
    "reconnect": reconnect,
    "slow-follower": slow_follower,
    "fail-log-dir": fail_log_dir,
    "partition": partition,
    "slow-link": slow_link,
    "lossy-link": lossy_link,
    "break-connections": break_connections,
    "heal": heal,
    "zookeeper-kill": zookeeper_kill,
    "zookeeper-start": zookeeper_start,
    "zookeeper-pause": zookeeper_pause,
    "zookeeper-resume": zookeeper_resume,
    "create-topic": create_topic,
    "delete-topic": delete_topic,
    "add-partitions": add_partitions,
    "reassign": reassign,
    "cancel-reassignment": cancel_reassignment,
    "elect-preferred": elect_preferred,
    "elect-unclean": elect_unclean,
    "set-config": set_config,
    "set-unclean": set_unclean,
    "zk-delete-controller": zk_delete_controller,
    "zk-wrong-znode": a_wrong_znode,
    "produce": produce,
    "start-workload": start_workload,
    "stop-workload": stop_workload,
    "start-consumers": _to_consumer("start-consumers"),
    "stop-consumers": _to_consumer("stop-consumers"),
    "crash-consumers": _to_consumer("crash-consumers"),
    "pause-consumers": _to_consumer("pause-consumers"),
    "resume-consumers": _to_consumer("resume-consumers"),
    "stall-consumers": stall_consumers,
}
"""Name, as profiles and --weight have it, -> what draws the step."""
