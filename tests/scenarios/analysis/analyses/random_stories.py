"""Random histories: any history that can be written down, whether or not a controller would ever produce it."""

import random

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.folding.trigger import Trigger
from tests.scenarios.analysis.analyses.stories import Story

BROKERS = range(1, 6)
RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}  # broker 5 has no rack
PARTITIONS = [("orders", 0), ("orders", 1), ("logs", 0)]
END_MS = 80
STEPS = 60


def random_story(seed: int) -> Story:
    """A run of 80 ms in which brokers, settings and states change at random, several within a millisecond at times."""
    chance = random.Random(seed)
    story = Story(f"seed-{seed}")
    registered: set[int] = set()
    there: set[tuple[str, int]] = set()
    for b in BROKERS:
        if chance.random() < 0.7:
            story.registers(0, b, rack=RACKS.get(b))
            registered.add(b)
    zxid, has_controller = 1, False
    for t_ms in sorted(chance.randrange(END_MS) for _ in range(STEPS)):
        what = chance.random()
        if what < 0.2:
            _change_a_broker(story, chance, t_ms, registered)
        elif what < 0.25:
            story.topic_config(t_ms, chance.choice(PARTITIONS)[0], chance.choice([None, 1, 2, 3]))
        elif what < 0.3:
            story.deletion(t_ms, chance.choice(PARTITIONS)[0], chance.random() < 0.5)
        elif what < 0.35:
            zxid += 1
            story.controller(
                t_ms, None if has_controller else chance.choice(BROKERS), zxid, None if has_controller else zxid
            )
            has_controller = not has_controller
        else:
            _change_a_state(story, chance, t_ms, there)
    story.ends(END_MS)
    return story


def _change_a_broker(story: Story, chance: random.Random, t_ms: int, registered: set[int]) -> None:
    b = chance.choice(BROKERS)
    if chance.random() < 0.4:
        story.process(t_ms, b, chance.choice(["running", "running", "dead", "paused"]))
    elif b in registered:
        story.unregisters(t_ms, b)
        registered.discard(b)
    else:
        story.registers(t_ms, b, rack=RACKS.get(b))
        registered.add(b)


def _change_a_state(story: Story, chance: random.Random, t_ms: int, there: set[tuple[str, int]]) -> None:
    topic, partition = place = chance.choice(PARTITIONS)
    what = chance.random()
    if place in there and what < 0.08:
        story.gone(t_ms, topic, partition)
        there.discard(place)
        return
    replicas = chance.sample(BROKERS, chance.randint(1, 4))
    among = BROKERS if chance.random() < 0.05 else replicas  # an ISR written by hand can contain any broker
    isr = chance.sample(among, chance.randint(0, len(replicas)))
    adding = replicas[:1] if len(replicas) > 2 and chance.random() < 0.3 else []
    if what < 0.16:  # no leader could be elected: the state stays as it was
        known = story.latest.get(place)
        as_it_was = known if known is not None and place in there else {"isr": [], "replicas": replicas, "adding": []}
        story.state(
            t_ms, topic, partition, None, as_it_was["isr"], replicas=as_it_was["replicas"], adding=as_it_was["adding"]
        )
        there.add(place)
        return
    there.add(place)
    kind = chance.choice([EventKind.LEADER_ELECTION, EventKind.ISR_SHRUNK, EventKind.ISR_EXPANDED, EventKind.ZNODE_CHANGED])
    trigger = Trigger.LEADER if kind in (EventKind.ISR_SHRUNK, EventKind.ISR_EXPANDED) else Trigger.UNKNOWN
    leader = chance.choice([-1, *replicas])
    clean = chance.random() < 0.8 if kind is EventKind.LEADER_ELECTION else None
    story.state(
        t_ms, topic, partition, leader, isr, replicas=replicas, adding=adding, kind=kind, trigger=trigger, clean=clean
    )
