"""Commands of transcripts: one a line, each an action on the harness, listed in tests/controller/transcripts/README.md."""

from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kcsim import znodes
from kcsim.controller.errors import NotControllerError
from kcsim.controller.events import AutoPreferredReplicaLeaderElection, ElectionType
from kcsim.controller.requests import AllocateProducerIdsRequest, AlterIsrRequest, ApiError, ErrorCode
from kcsim.errors import TimedOutError
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.operations import Create, DataRead, Delete, GetData, SetData
from kcsim.znodes import paths
from tests.controller.controller_harness import ControllerHarness, configured, listening
from tests.controller.transcript_recorder import ids

Words = deque[str]


class UnknownCommandError(Exception):
    """A line of a transcript is not a command."""


class Commands:
    """Executor of commands on a harness, which returns the results of each."""

    def __init__(self, harness: ControllerHarness) -> None:
        self._harness = harness

    async def carry_out(self, line: str) -> list[str]:
        """Carry out a line, wait until everything that follows from it is done, and return what the controllers did.

        Raises: UnknownCommandError.
        """
        words = deque(line.split())
        if words[0] == "rounds":
            words.popleft()
            return await self._rounds(int(words.popleft()), words)
        answers = await self._do(words)
        self._harness.hold_after_elections = None
        await self._harness.settle()
        return [*self._harness.recorder.take(), *answers]

    async def carry_out_meanwhile(self, line: str) -> None:
        """Carry out a line without waiting: for an action in the middle of another."""
        await self._do(deque(line.split()))

    async def _rounds(self, count: int, words: Words) -> list[str]:
        """Carry out a line that leads to endless elections, and return what happened until `count` of them were won.

        The last elected controller stands still until the next line is carried out: it would meet the same error again, any
        number of times on a real server.
        """
        recorder = self._harness.recorder
        self._harness.hold_after_elections = last = recorder.elections + count
        await self._do(words)
        lines: list[str] = []

        def waiting() -> str | None:
            if recorder.elections < last:
                return f"{recorder.elections} of {last} elections"
            lines[:] = lines or recorder.take()
            return None

        await self._harness.until(waiting)
        return [*lines, "and so on"]

    async def _do(self, words: Words) -> list[str]:
        name = words.popleft()
        command = getattr(self, "do_" + name.replace("-", "_"), None)
        if command is None:
            raise UnknownCommandError(f"there is no command {name!r}")
        return await command(words) or []

    # --- brokers and controllers

    async def do_brokers(self, words: Words) -> None:
        await self._harness.start_brokers(_brokers(words.popleft()))

    async def do_controller(self, words: Words) -> None:
        broker = _broker(words.popleft())
        await self._harness.start_module(broker, configured(_settings(words)))

    async def do_die(self, words: Words) -> None:
        await self._harness.kill_brokers(_brokers(words.popleft()))

    async def do_bounce(self, words: Words) -> None:
        await self._harness.bounce_broker(_broker(words.popleft()))

    async def do_listen_at(self, words: Words) -> None:
        broker, host = _broker(words.popleft()), words.popleft()
        await self._harness.write(SetData(paths.broker_id(broker), znodes.encode_broker(listening(broker, host))))

    async def do_expire_session(self, words: Words) -> None:
        await self._harness.sessions[_broker(words.popleft())].expire()

    async def do_hang(self, words: Words) -> None:
        self._harness.stubs.brokers[_broker(words.popleft())].is_up = False

    async def do_answer(self, words: Words) -> None:
        self._harness.stubs.brokers[_broker(words.popleft())].is_up = True

    # --- topics

    async def do_topic(self, words: Words) -> None:
        """Create a topic as the tools do: the settings first, then the topic."""
        topic = words.popleft()
        settings = _settings(word for word in words if "=" in word)
        state = _assigned(word for word in words if "=" not in word)
        await self._harness.write(Create(paths.topic_config(topic), znodes.encode_config(settings)))
        await self._harness.write(Create(paths.topic(topic), znodes.encode_topic(state)))

    async def do_partitions(self, words: Words) -> None:
        topic = words.popleft()
        await self._harness.write(SetData(paths.topic(topic), znodes.encode_topic(_assigned(words))))

    async def do_delete_topic(self, words: Words) -> None:
        await self._harness.write(*(Create(paths.delete_topic(topic)) for topic in words))

    async def do_unable_to_delete(self, words: Words) -> None:
        self._harness.stubs.brokers[_broker(words.popleft())].fails_to_delete = set(map(_partition, words))

    # --- what leaders and brokers write

    async def do_isr(self, words: Words) -> None:
        """Write an ISR as the leader does; with `notified`, notify the controller too."""
        tp, isr = _partition(words.popleft()), _brokers(words.popleft())
        stored = await self._stored_state(tp)
        before = stored.leader_and_isr
        state = znodes.encode_partition_state(PartitionState(replace(before, isr=isr), stored.controller_epoch))
        await self._harness.write(SetData(paths.topic_partition_state(tp), state, before.zk_version))
        if words:
            await self._notify([tp])

    async def _stored_state(self, tp: TopicPartition) -> PartitionState:
        path = paths.topic_partition_state(tp)
        (read,) = await self._harness.ask(GetData(path))
        assert isinstance(read, DataRead), read
        stored = znodes.decode_partition_state(path, read.data, read.stat.version, _no_report)
        assert stored is not None
        return stored

    async def do_alter_isr(self, words: Words) -> list[str]:
        """Ask the controller for ISRs as a leader does, which knows the state znode, or another version or leader epoch."""
        broker = _broker(words.popleft())
        asked: dict[TopicPartition, LeaderAndIsr] = {}
        for tp, isr in (word.split(":") for word in words if ":" in word):
            stored = await self._stored_state(_partition(tp))
            known = dict(word.split("=") for word in words if "=" in word)
            asked[_partition(tp)] = replace(
                stored.leader_and_isr,
                isr=_brokers(isr),
                leader_epoch=LeaderEpoch(int(known.get("leader_epoch", stored.leader_and_isr.leader_epoch))),
                zk_version=ZkVersion(int(known.get("zk_version", stored.leader_and_isr.zk_version))),
            )
        controller = self._harness.active
        epoch = controller.context.broker_epochs.get(broker, BrokerEpoch(-1))
        request = AlterIsrRequest(broker, BrokerEpoch(epoch - 1) if "stale" in words else epoch, asked)
        response = await controller.alter_isr(request, None)
        if response.error:
            return [f"answer {response.error.name}"]
        return [
            f"answer {tp} {result.name}"
            if isinstance(result, ErrorCode)
            else f"answer {tp} leader {result.leader} epoch {result.leader_epoch} isr {ids(result.isr)} v{result.zk_version}"
            for tp, result in response.partitions.items()
        ]

    async def do_allocate_producer_ids(self, words: Words) -> list[str]:
        """Ask the controller for a block of producer ids, as a broker does."""
        broker = _broker(words.popleft())
        controller = self._harness.active
        epoch = controller.context.broker_epochs.get(broker, BrokerEpoch(-1))
        request = AllocateProducerIdsRequest(broker, BrokerEpoch(epoch - 1) if "stale" in words else epoch)
        response = await controller.allocate_producer_ids(request, None)
        ids = f"{response.first} to {response.first + response.count - 1}"
        return [f"answer {response.error.name if response.error else ids}"]

    async def do_notify(self, words: Words) -> None:
        """Notify the controller of changed ISRs; slashes separate several notifications of one transaction."""
        parts = " ".join(words).split("/")
        await self._notify(*([_partition(word) for word in part.split()] for part in parts))

    async def _notify(self, *notifications: Sequence[TopicPartition]) -> None:
        contents = map(znodes.encode_partitions, notifications)
        await self._harness.write(*(Create(paths.ISR_CHANGE_PREFIX, content, sequential=True) for content in contents))

    async def do_fail_dir(self, words: Words) -> None:
        """Fail a broker's log directory with these partitions."""
        broker = _broker(words.popleft())
        self._harness.stubs.brokers[broker].failed_dirs = set(map(_partition, words))
        await self._harness.write(Create(paths.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(broker), sequential=True))

    async def do_repair_dirs(self, words: Words) -> None:
        self._harness.stubs.brokers[_broker(words.popleft())].failed_dirs = set()

    # --- reassignments

    async def do_reassign(self, words: Words) -> None:
        """Request a reassignment through /admin/reassign_partitions."""
        plans = {tp: target or () for tp, target in _targets(words).items()}
        await self._harness.write(Create(paths.REASSIGN_PARTITIONS, znodes.encode_reassignment(plans)))

    async def do_api_reassign(self, words: Words) -> list[str]:
        controller = self._harness.active
        return await self._answer(controller.alter_partition_reassignments(_targets(words), None))

    async def do_list_reassignments(self, words: Words) -> list[str]:
        wanted = [_partition(word) for word in words] or None
        listed = await self._harness.active.list_partition_reassignments(wanted, None)
        return [
            f"answer {tp} {ids(a.replicas)} adding {ids(a.adding_replicas)} removing {ids(a.removing_replicas)}"
            for tp, a in listed.items()
        ] or ["answer none"]

    # --- elections

    async def do_preferred(self, words: Words) -> None:
        """Request a preferred election through /admin/preferred_replica_election."""
        asked = znodes.encode_partitions([_partition(word) for word in words])
        await self._harness.write(Create(paths.PREFERRED_REPLICA_ELECTION, asked))

    async def do_elect(self, words: Words) -> list[str]:
        kind = ElectionType(words.popleft().upper())
        wanted = [_partition(word) for word in words] or list(self._harness.active.context.leadership)
        return await self._answer(self._error_codes(self._harness.active.elect_leaders(kind, wanted, None)))

    async def _error_codes(
        self, asked: Coroutine[Any, Any, Mapping[TopicPartition, ApiError]]
    ) -> Mapping[TopicPartition, ErrorCode]:
        return {tp: result.error for tp, result in (await asked).items()}

    async def do_auto_rebalance(self, words: Words) -> None:
        self._harness.active.event_manager.put(AutoPreferredReplicaLeaderElection(), None)

    async def do_unclean(self, words: Words) -> None:
        """Enable unclean.leader.election.enable, for `default` or for a topic."""
        if words[0] == "default":
            self._harness.active.enable_default_unclean_leader_election(None)
            return
        settings = znodes.encode_config({"unclean.leader.election.enable": "true"})
        await self._harness.put(paths.topic_config(words[0]), settings)
        self._harness.active.enable_topic_unclean_leader_election(words[0], None)

    async def do_controlled_shutdown(self, words: Words) -> None:
        """Request a controlled shutdown under the broker's present epoch, or under a given one."""
        broker = _broker(words.popleft())
        known = self._harness.active.context.broker_epochs.get(broker, BrokerEpoch(-1))
        epoch = BrokerEpoch(known - 1) if "stale" in words else BrokerEpoch(1) if "unknown" in words else known
        await self._harness.active.controlled_shutdown(broker, epoch, None)

    # --- znodes by hand

    async def do_set(self, words: Words) -> None:
        """Create a znode, with its missing ancestors, or change it."""
        await self._harness.put(words.popleft(), _data(words))

    async def do_topic_with_state(self, words: Words) -> None:
        """Create a topic of one partition together with its state, in one transaction."""
        topic, assigned = words.popleft(), _assigned([words.popleft()])
        state = paths.topic_partition_state(TopicPartition(topic, 0))
        between = [Create(path) for path in paths.lineage(state) if path.startswith(paths.topic(topic) + "/")]
        await self._harness.write(
            Create(paths.topic(topic), znodes.encode_topic(assigned)), *between[:-1], Create(state, _data(words))
        )

    async def do_delete(self, words: Words) -> None:
        await self._harness.write(*map(Delete, reversed(await self._harness.tree(words.popleft()))))

    async def do_before_write_of(self, words: Words) -> None:
        """Carry out a command once, between the controller's decision to write a state, or any znode, and the write."""
        what = words.popleft()
        path = what if what.startswith("/") else paths.topic_partition_state(_partition(what))
        commands = " ".join(words).split(" & ")

        async def act() -> None:
            for command in commands:
                await self.carry_out_meanwhile(command)

        self._harness.before_write_of(path, act)

    # --- the controller's state

    async def do_states(self, words: Words) -> list[str]:
        """Return the states of a topic's partitions and replicas in the controller's machines."""
        context = self._harness.active.context
        partitions = [f"{tp} {state}" for tp, state in sorted(context.partition_states.items()) if tp.topic in words]
        replicas = [
            f"{tp} on {broker} {state}"
            for broker, hosted in sorted(context.replica_states.items())
            for tp, state in sorted(hosted.items())
            if tp.topic in words
        ]
        return [*partitions, *replicas]

    async def do_metrics(self, words: Words) -> list[str]:
        """Return the gauges of type=KafkaController that are not 0, and unclean elections."""
        return [f"{name} {value}" for name, value in self._harness.active.metrics.gauges().items() if value]

    # --- answers

    async def _answer(self, asked: Coroutine[Any, Any, Mapping[TopicPartition, Any]]) -> list[str]:
        try:
            return [f"answer {tp} {error.name}" for tp, error in (await asked).items()]
        except (TimedOutError, NotControllerError) as error:
            return [f"no answer: {type(error).__name__}"]


def _broker(word: str) -> BrokerId:
    return BrokerId(int(word))


def _brokers(word: str) -> tuple[BrokerId, ...]:
    """Parse 1,2,3; or - for none."""
    return () if word == "-" else tuple(map(_broker, word.split(",")))


def _partition(word: str) -> TopicPartition:
    topic, _, partition = word.rpartition("-")
    return TopicPartition(topic, int(partition))


def _assigned(words: Iterable[str]) -> TopicState:
    """Parse 0:1,2 1:2,3: the replicas of each partition."""
    pairs = (word.split(":") for word in words)
    return TopicState({int(partition): ReplicaAssignment(_brokers(replicas)) for partition, replicas in pairs})


def _targets(words: Words) -> dict[TopicPartition, tuple[BrokerId, ...] | None]:
    """Parse targets: t-0:3,4 moves; t-0:cancel cancels."""
    pairs = (word.split(":") for word in words)
    return {_partition(tp): None if target == "cancel" else _brokers(target) for tp, target in pairs}


def _settings(words: Iterable[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def _data(words: Words) -> bytes | None:
    """Return the rest of the line; `null` for null data, `empty` for empty data."""
    text = " ".join(words)
    return {"null": None, "empty": b""}.get(text, text.encode())


def _no_report(path: str, reason: str) -> None:
    raise AssertionError(f"{path}: {reason}")
