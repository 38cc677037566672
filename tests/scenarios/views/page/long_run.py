"""A synthetic run of any length, for report pages and for measuring them."""

from collections.abc import Iterator

from kcsim.eventlog.events import Event, EventKind


def long_run(count: int) -> Iterator[Event]:
    """Yield a run with `count` events; a tenth are changes of partition states, and some are elections."""
    yield Event(0, 0, "scenario", EventKind.RUN_STARTED, scenario="long", seed=1)
    for broker in range(1, 7):
        yield Event(broker, 0, f"broker-{broker}", EventKind.PROCESS_STATE, 0, state="running")
    numbers = ",".join(f'"{number}":[1,2,3]' for number in range(100))
    topic = f'{{"version":2,"partitions":{{{numbers}}},"adding_replicas":{{}},"removing_replicas":{{}}}}'
    yield Event(7, 0, "zookeeper", EventKind.ZNODE_CREATED, 0, path="/brokers/topics/t", data=topic, zxid=1)
    for seq in range(8, count):
        broker, number = 1 + seq % 6, seq // 10 % 100
        node, path = f"broker-{broker}", f"/brokers/topics/t/partitions/{number}/state"
        if seq % 10 == 0:
            data = f'{{"controller_epoch":1,"leader":{broker},"version":1,"leader_epoch":{seq},"isr":[{broker},2]}}'
            kind = EventKind.ZNODE_CREATED if seq < 1010 else EventKind.ZNODE_CHANGED
            yield Event(seq, seq, "zookeeper", kind, seq - 1, path=path, data=data, zxid=seq, zk_version=seq // 1000)
        elif seq % 2000 == 1:
            yield Event(seq, seq, "scenario", EventKind.FAULT, fault="kill", target=node)
        else:
            done = EventKind.CONTROLLER_EVENT_DONE
            yield Event(seq, seq, node, done, seq - 1, event="TopicChange", detail=f"number {seq}")
