"""Generator of random plans for a cluster: steps of which most are possible, many of them in the middle of others.

Steps are drawn from a seed and from an assumption of which brokers run and which topics exist. The player leaves out a step
that turns out to be impossible. Steps that only matter in a race are not drawn: a reassignment stays in progress because its
new replica is on a broker that is down, not because the next step is fast enough.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.conformance.replayed.recording import Recording, Step

T = TypeVar("T")
Do = dict[str, Any]

TOPICS = ("orders", "clicks", "payments")
GHOST = "ghost"
STRANGER = 9
"""Id of a broker that never exists."""
BROKERS = (3, 3, 4)
STEPS = (8, 13)
AT_ONCE = 0.2
"""Share of the writes by hand that are followed by the next step at once, before their consequences."""
TRIES = 50
EXPIRED_AFTER_S = 5
"""After this time the session of a frozen broker has ended, and everything that follows from that has been done."""
DISK_NOTICED_AFTER_S = 6
SETTINGS: Sequence[tuple[str, str | int | bool, float]] = (
    ("unclean.leader.election.enable", True, 0.15),
    ("controlled.shutdown.enable", False, 0.1),
    ("delete.topic.enable", False, 0.05),
)
"""Settings with their values and probabilities."""
TWO_DIRS: Mapping[str, str | int | bool] = {
    "two.dirs": True,
    "log.flush.offset.checkpoint.interval.ms": 1000,
    "replica.high.watermark.checkpoint.interval.ms": 1000,
}
LONG_SESSION_MS = 9_000
"""Long enough that a killed broker is back before its session ends."""


@dataclass
class Belief:
    """Assumed state of the cluster, as far as it is known beforehand; and the random numbers from which everything is drawn.

    Attributes:
        controller: the broker that was elected first, until a step may have ended its role.
        topics: topic -> its partitions' replicas.
        gone: topics that were deleted, or are being deleted.
        is_spoilt: a znode was written by hand, so that a new topic may get no states.
    """

    numbers: random.Random
    brokers: list[int]
    controller: int | None
    has_two_dirs: bool
    has_long_sessions: bool
    up: list[int] = field(default_factory=list)
    paused: list[int] = field(default_factory=list)
    topics: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    is_spoilt: bool = False

    def one(self, among: Sequence[T]) -> T:
        return among[self.numbers.randrange(len(among))]

    def is_so(self, probability: float) -> bool:
        return self.numbers.random() < probability

    @property
    def down(self) -> list[int]:
        return [b for b in self.brokers if b not in self.up and b not in self.paused]

    def victim(self) -> int | None:
        """Return a broker for a fault, the controller more often than others; None if too few are left."""
        if len(self.up) < 2:
            return None
        if self.controller in self.up and self.is_so(0.4):
            return self.controller
        return self.one(self.up)

    def take_down(self, *brokers: int) -> None:
        for broker in brokers:
            self.up.remove(broker)
            if broker == self.controller:
                self.controller = None

    def replicas(self, factor: int) -> list[int]:
        return self.numbers.sample(self.brokers, min(factor, len(self.brokers)))

    def partition(self) -> tuple[str, int] | None:
        if not self.topics:
            return None
        topic = self.one(sorted(self.topics))
        return topic, self.one(sorted(self.topics[topic]))

    def partitions(self, count: int) -> list[tuple[str, int]]:
        drawn = [p for p in (self.partition() for _ in range(count)) if p is not None]
        return list(dict.fromkeys(drawn))

    def has_live_replica(self, topic: str) -> bool:
        return all(set(replicas) & set(self.up) for replicas in self.topics[topic].values())


def plan(seed: int) -> Recording:
    """Return a random plan: a recording without writes."""
    numbers = random.Random(f"conformance {seed}")
    brokers = list(range(1, numbers.choice(BROKERS) + 1))
    has_two_dirs, has_long_sessions = numbers.random() < 0.15, numbers.random() < 0.15
    settings = {name: value for name, value, often in SETTINGS if numbers.random() < often}
    if has_two_dirs:
        settings |= TWO_DIRS
    if has_long_sessions:
        settings["zookeeper.session.timeout.ms"] = LONG_SESSION_MS
    belief = Belief(numbers, brokers, brokers[0], has_two_dirs, has_long_sessions, up=list(brokers))
    steps = [_topic(belief), _topic(belief)] if belief.is_so(0.5) else [_topic(belief)]
    steps += [_random_step(belief) for _ in range(numbers.randint(*STEPS))]
    drawn = [do for do in steps if do is not None]
    drawn[-1] = {key: value for key, value in drawn[-1].items() if key != "settle"}  # else it is chance where the run ends
    return Recording(
        name=f"random-{seed}",
        source=f"drawn from seed {seed}",
        brokers=tuple(brokers),
        racks={},
        settings=settings,
        steps=tuple(map(Step, drawn)),
        alive=None,
        final=None,
    )


def _random_step(belief: Belief) -> Do | None:
    """Return a step that is possible under the assumed state; None if none was found."""
    for _ in range(TRIES):
        (draw,) = belief.numbers.choices([*WEIGHTS], [*WEIGHTS.values()])
        if (do := draw(belief)) is not None:
            belief.is_spoilt |= any(key.startswith("zk_") for key in do)
            return {**do, "settle": False} if belief.is_so(AT_ONCE) and _is_written(do) else do
    return None


def _is_written(do: Do) -> bool:
    """Return whether the step ends when a znode is written, without waiting."""
    written = ("delete", "grow", "prefer", "reassign_if_free")
    return any(key in written or key.startswith("zk_") for key in do) or do.get("wait_state") is False


# --- topics ----------------------------------------------------------------------------------------------------------------


def _topic(belief: Belief) -> Do | None:
    free = [topic for topic in TOPICS if topic not in belief.topics]
    if not free:
        return None
    topic = belief.one(free)
    factor = belief.one((1, 2, 2, 3, 3))
    assignment = {number: belief.replicas(factor) for number in range(belief.one((1, 2, 2, 3)))}
    belief.topics[topic] = assignment
    config = {"unclean.leader.election.enable": "true"} if belief.is_so(0.15) else {}
    # A topic that is still being deleted cannot be created; one without any live replica gets no state.
    waits = belief.has_live_replica(topic) and topic not in belief.gone and not belief.is_spoilt
    texts = {str(number): replicas for number, replicas in assignment.items()}
    return {"topic": topic, "assignment": texts, "config": config, "wait_state": waits}


def _delete(belief: Belief) -> Do | None:
    if not belief.topics:
        return None
    topic = belief.one(sorted(belief.topics))
    del belief.topics[topic]
    belief.gone.append(topic)
    return {"delete": topic}


def _grow(belief: Belief) -> Do | None:
    topics = sorted([*belief.topics, *belief.gone])
    if not topics:
        return None
    topic = belief.one(topics)
    known = belief.topics.get(topic, {0: [1]})
    added = {number: belief.replicas(len(known[min(known)])) for number in (max(known) + 1, max(known) + 2)}
    if topic in belief.topics:
        belief.topics[topic] |= added
    return {"grow": [topic, {str(number): replicas for number, replicas in added.items()}]}


def _produce(belief: Belief) -> Do | None:
    live = [topic for topic in sorted(belief.topics) if belief.has_live_replica(topic)]
    return {"produce": belief.one(live)} if live and not belief.down else None


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _fault_on_one(verb: str, **circumstances: Any) -> Callable[[Belief], Do | None]:
    def draw(belief: Belief) -> Do | None:
        victim = belief.victim()
        if victim is None:
            return None
        belief.take_down(victim)
        return {verb: victim, **circumstances}

    return draw


def _fault_on_two(verb: str) -> Callable[[Belief], Do | None]:
    def draw(belief: Belief) -> Do | None:
        if len(belief.up) < 3:
            return None
        victims = belief.numbers.sample(belief.up, 2)
        belief.take_down(*victims)
        return {verb: victims}

    return draw


def _start(belief: Belief) -> Do | None:
    if not belief.down:
        return None
    broker = belief.one(belief.down)
    belief.up.append(broker)
    return {"start": broker}


def _pause(belief: Belief) -> Do | None:
    do = _fault_on_one("pause", sleep=EXPIRED_AFTER_S)(belief)
    if do is not None:
        belief.paused.append(do["pause"])
    return do


def _resume(belief: Belief) -> Do | None:
    if not belief.paused:
        return None
    broker = belief.paused.pop()
    belief.up.append(broker)
    return {"resume": broker, "sleep": 2}


def _expire(belief: Belief) -> Do | None:
    victim = belief.victim()
    if victim is not None and victim == belief.controller:
        belief.controller = None
    return None if victim is None else {"expire": victim}


def _bounce(belief: Belief) -> Do | None:
    victim = belief.victim() if belief.has_long_sessions else None
    if victim is None:
        return None
    belief.take_down(victim)  # its former registration is in the way
    return {"bounce": victim}


def _break_dir(belief: Belief) -> Do | None:
    """Break a directory of a broker with replicas: Kafka does not notice the loss of an empty directory until it uses it."""
    placed = [replicas for topic in belief.topics.values() for replicas in topic.values()]
    hosts = [broker for broker in belief.up if any(broker in replicas for replicas in placed)]
    if not belief.has_two_dirs or not hosts:
        return None
    belief.has_two_dirs = False
    return {"break_dir": belief.one(hosts), "sleep": DISK_NOTICED_AFTER_S}


# --- moves and elections ---------------------------------------------------------------------------------------------------


def _targets(belief: Belief) -> dict[str, list[int]]:
    """Return moves of one partition or a few, often to brokers that are not running yet."""
    moves: dict[str, list[int]] = {}
    for topic, number in belief.partitions(belief.one((1, 1, 2, 3))):
        replicas = belief.replicas(belief.one((1, 2, 2, 3)))
        if belief.down and belief.is_so(0.5) and belief.down[0] not in replicas:
            replicas[belief.numbers.randrange(len(replicas))] = belief.down[0]
        moves[f"{topic}-{number}"] = replicas
    return moves


def _reassign(belief: Belief) -> Do | None:
    moves = _targets(belief)
    if moves and belief.is_so(0.1):
        moves[belief.one((f"{GHOST}-0", f"{min(moves)[:-1]}7"))] = belief.replicas(2)
    if moves and belief.is_so(0.1):
        moves[min(moves)] = [*moves[min(moves)], STRANGER]
    return {"reassign_if_free": moves} if moves else None


def _alter(belief: Belief) -> Do | None:
    moves: Mapping[str, list[int] | None] = _targets(belief)
    if belief.is_so(0.4):
        moves = dict.fromkeys(moves)
    return {"alter": moves} if moves else None


def _prefer(belief: Belief) -> Do | None:
    chosen = [f"{topic}-{number}" for topic, number in belief.partitions(3) if belief.has_live_replica(topic)]
    if chosen and belief.is_so(0.1):
        chosen.append(f"{GHOST}-0")
    return {"prefer": chosen} if chosen else None


def _elect(belief: Belief) -> Do | None:
    drawn = belief.partition()
    if drawn is None:
        return None
    kind = belief.one(("unclean", "unclean", "preferred"))
    of = ["--topic", drawn[0], "--partition", str(drawn[1])]
    return {"tool": ["kafka.admin.LeaderElectionCommand", "--bootstrap-server", "BS", "--election-type", kind, *of]}


def _configure(belief: Belief) -> Do | None:
    if not belief.topics:
        return None
    topic, value = belief.one(sorted(belief.topics)), belief.one(("true", "true", "false"))
    what = ["--entity-type", "topics", "--entity-name", topic]
    added = ["--add-config", f"unclean.leader.election.enable={value}"]
    return {"tool": ["kafka.admin.ConfigCommand", "--zookeeper", "ZK", "--alter", *what, *added]}


def _describe(belief: Belief) -> Do | None:
    address = belief.one((["--zookeeper", "ZK"], ["--bootstrap-server", "BS"]))
    return {"tool": ["kafka.admin.TopicCommand", *address, "--describe"]} if belief.topics else None


# --- by hand ---------------------------------------------------------------------------------------------------------------


def _state_by_hand(belief: Belief) -> Do | None:
    drawn = belief.partition()
    if drawn is None:
        return None
    path = f"/brokers/topics/{drawn[0]}/partitions/{drawn[1]}/state"
    if belief.is_so(0.3):
        return {"zk_delete": path}
    replicas = belief.topics[drawn[0]][drawn[1]]
    isr = belief.numbers.sample(replicas, belief.numbers.randint(1, len(replicas)))
    state = {
        "controller_epoch": belief.one((1, 1, 2, 50)),
        "leader": belief.one([*isr, -1]),
        "version": 1,
        "leader_epoch": belief.one((0, 3, 20)),
        "isr": isr,
    }
    return {"zk_set": [path, belief.one((_text(state), _text(state), "nonsense", ""))]}


def _topic_by_hand(belief: Belief) -> Do | None:
    if not belief.topics:
        return None
    topic = belief.one(sorted(belief.topics))
    path, partitions = f"/brokers/topics/{topic}", {str(n): r for n, r in belief.topics[topic].items()}
    if belief.is_so(0.3):
        belief.gone.append(topic)
        del belief.topics[topic]
        return {"zk_delete_tree": path}
    number = belief.one(sorted(partitions))
    replicas = belief.replicas(len(partitions[number]))
    how = belief.one(("moved", "adding", "removing", "lost", "twice", "id"))
    adding = {number: [replicas[-1]]} if how == "adding" else {}
    removing = {number: [replicas[0]]} if how == "removing" else {}
    content = {"version": 2, "partitions": {**partitions, number: replicas}, "adding_replicas": adding}
    content["removing_replicas"] = removing
    if how == "lost":
        content["partitions"] = {other: to for other, to in partitions.items() if other != number}
    if how == "twice":
        content["partitions"] = {**partitions, number: [*replicas, replicas[0]]}
    if how == "id":
        content |= {"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    return {"zk_set": [path, _text(content)]}


def _admin_by_hand(belief: Belief) -> Do | None:
    deleted = belief.one([f"/admin/delete_topics/{topic}" for topic in TOPICS])
    empty = '{"version":1,"partitions":[]}'
    acts: Sequence[Do] = (
        {"zk_delete": "/admin/reassign_partitions"},
        {"zk_delete": "/admin/reassign_partitions"},
        {"zk_delete": deleted},
        {"zk_create": [f"/admin/delete_topics/{GHOST}", None]},
        {"zk_create": ["/admin/reassign_partitions", belief.one(("", "nonsense", empty))]},
        {"zk_set": ["/admin/reassign_partitions", empty]},
        {"zk_delete": f"/config/topics/{belief.one(TOPICS)}"},
        {"zk_set": [f"/config/topics/{belief.one(TOPICS)}", belief.one(("", "nonsense", '{"version":1}'))]},
        {"zk_delete_tree": f"/brokers/topics/{belief.one(TOPICS)}/partitions"},
    )
    return belief.one(acts)


def _role_by_hand(belief: Belief) -> Do | None:
    belief.controller = None
    broker = belief.one(belief.brokers)
    acts: Sequence[Do] = (
        {"zk_delete": "/controller"},
        {"zk_delete": "/controller"},
        {"zk_delete": "/controller"},
        {"zk_touch": "/controller"},
        {"zk_set": ["/controller", "nonsense"]},
        {"zk_set": ["/controller", _text({"version": 1, "brokerid": broker, "timestamp": "1"})]},
        {"zk_touch": f"/brokers/ids/{broker}"},
        {"zk_delete": f"/brokers/ids/{broker}"},
        {"zk_recreate": f"/brokers/ids/{broker}"},
        {"zk_set": ["/controller_epoch", belief.one(("2", "5", "40"))]},
    )
    return belief.one(acts)


def _notification_by_hand(belief: Belief) -> Do | None:
    drawn = belief.partition()
    if drawn is None:
        return None
    if belief.is_so(0.4):
        failed = _text({"version": 1, "broker": belief.one(belief.brokers), "event": 1})
        name = f"log_dir_event_{belief.numbers.randrange(10**10):010}"
        return {"zk_create": [f"/log_dir_event_notification/{name}", failed]}
    content = _text({"version": 1, "partitions": [{"topic": drawn[0], "partition": drawn[1]}]})
    name = f"isr_change_{belief.numbers.randrange(10**10):010}"
    return {"zk_create": [f"/isr_change_notification/{name}", belief.one((content, content, "nonsense", ""))]}


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


WEIGHTS: Mapping[Callable[[Belief], Do | None], float] = {
    _topic: 5,
    _delete: 8,
    _grow: 5,
    _produce: 0.7,
    _fault_on_one("kill"): 8,
    _fault_on_two("kill_together"): 3,
    _fault_on_one("term"): 5,
    _fault_on_two("term_together"): 2,
    _start: 16,
    _pause: 2,
    _resume: 8,
    _expire: 4,
    _bounce: 20,
    _break_dir: 12,
    _reassign: 14,
    _alter: 5,
    _prefer: 4,
    _elect: 2,
    _configure: 2,
    _describe: 0.5,
    _state_by_hand: 6,
    _topic_by_hand: 7,
    _admin_by_hand: 7,
    _role_by_hand: 9,
    _notification_by_hand: 2.5,
}
"""The generators of steps, each with its weight among those that are possible."""
