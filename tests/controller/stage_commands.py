"""The commands of transcripts: one a line, each a deed on the stage. tests/controller/transcripts/README.md lists them."""

from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from kcsim.controller.errors import NotControllerError
from kcsim.controller.events import AutoPreferredReplicaLeaderElection, ElectionType
from kcsim.zk import paths, znodes
from kcsim.zk.errors import TimedOutError
from kcsim.zk.operations import Create, DataRead, Delete, GetData, SetData
from kcsim.zk.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderAndIsr,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
)
from tests.controller.stage import Stage, configured, listening
from tests.controller.stage_notes import ids

Words = deque[str]


class UnknownCommandError(Exception):
    """A line of a transcript that is no command."""


class Commands:
    """Carries commands out on a stage, and says what came of each."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def carry_out(self, line: str) -> list[str]:
        """Do what a line says, wait until everything that follows from it is done, and return what the controllers did.

        Raises: UnknownCommandError.
        """
        words = deque(line.split())
        if words[0] == "rounds":
            words.popleft()
            return await self._rounds(int(words.popleft()), words)
        answers = await self._do(words)
        await self._stage.settle()
        self._stage.notebook.until_elections = None
        return [*self._stage.notebook.take(), *answers]

    async def carry_out_meanwhile(self, line: str) -> None:
        """Do what a line says, and do not wait: for what happens in the middle of something else."""
        await self._do(deque(line.split()))

    async def _rounds(self, count: int, words: Words) -> list[str]:
        """Do something that ends in elections without end, and return what happened until so many were won."""
        notebook = self._stage.notebook
        notebook.until_elections = last = notebook.elections + count
        await self._do(words)
        lines: list[str] = []

        def waiting() -> str | None:
            if notebook.elections < last:
                return f"{notebook.elections} of {last} elections"
            lines[:] = lines or notebook.take()
            return None

        await self._stage.until(waiting)
        return [*lines, "and so on"]

    async def _do(self, words: Words) -> list[str]:
        name = words.popleft()
        deed = getattr(self, "do_" + name.replace("-", "_"), None)
        if deed is None:
            raise UnknownCommandError(f"there is no command {name!r}")
        return await deed(words) or []

    # --- brokers and controllers

    async def do_brokers(self, words: Words) -> None:
        await self._stage.start_brokers(_brokers(words.popleft()))

    async def do_controller(self, words: Words) -> None:
        broker = _broker(words.popleft())
        await self._stage.start_module(broker, configured(_settings(words)))

    async def do_die(self, words: Words) -> None:
        await self._stage.kill_brokers(_brokers(words.popleft()))

    async def do_bounce(self, words: Words) -> None:
        await self._stage.bounce_broker(_broker(words.popleft()))

    async def do_listen_at(self, words: Words) -> None:
        broker, host = _broker(words.popleft()), words.popleft()
        await self._stage.write(SetData(paths.broker_id(broker), znodes.encode_broker(listening(broker, host))))

    async def do_expire_session(self, words: Words) -> None:
        await self._stage.sessions[_broker(words.popleft())].expire()

    async def do_hang(self, words: Words) -> None:
        self._stage.stubs.brokers[_broker(words.popleft())].is_up = False

    async def do_answer(self, words: Words) -> None:
        self._stage.stubs.brokers[_broker(words.popleft())].is_up = True

    # --- topics

    async def do_topic(self, words: Words) -> None:
        """As the tools do it: the settings first, then the topic."""
        topic = words.popleft()
        settings = _settings(word for word in words if "=" in word)
        state = _assigned(word for word in words if "=" not in word)
        await self._stage.write(Create(paths.topic_config(topic), znodes.encode_config(settings)))
        await self._stage.write(Create(paths.topic(topic), znodes.encode_topic(state)))

    async def do_partitions(self, words: Words) -> None:
        topic = words.popleft()
        await self._stage.write(SetData(paths.topic(topic), znodes.encode_topic(_assigned(words))))

    async def do_delete_topic(self, words: Words) -> None:
        await self._stage.write(*(Create(paths.delete_topic(topic)) for topic in words))

    async def do_unable_to_delete(self, words: Words) -> None:
        self._stage.stubs.brokers[_broker(words.popleft())].fails_to_delete = set(map(_partition, words))

    # --- what leaders and brokers write

    async def do_isr(self, words: Words) -> None:
        """The leader writes an ISR; with `notified`, it tells the controller too."""
        tp, isr = _partition(words.popleft()), _brokers(words.popleft())
        path = paths.topic_partition_state(tp)
        (read,) = await self._stage.ask(GetData(path))
        assert isinstance(read, DataRead), read
        stored = znodes.decode_partition_state(path, read.data, read.stat.version, _no_report)
        assert stored is not None
        before = stored.leader_and_isr
        after = LeaderAndIsr(before.leader, before.leader_epoch, isr, before.zk_version)
        state = znodes.encode_partition_state(PartitionState(after, stored.controller_epoch))
        await self._stage.write(SetData(path, state, before.zk_version))
        if words:
            await self._notify([tp])

    async def do_notify(self, words: Words) -> None:
        """Tell of changed ISRs; with slashes in between, in several notifications of one transaction."""
        parts = " ".join(words).split("/")
        await self._notify(*([_partition(word) for word in part.split()] for part in parts))

    async def _notify(self, *notifications: Sequence[TopicPartition]) -> None:
        contents = map(znodes.encode_partitions, notifications)
        await self._stage.write(*(Create(paths.ISR_CHANGE_PREFIX, content, sequential=True) for content in contents))

    async def do_fail_dir(self, words: Words) -> None:
        """A broker's log directory with these partitions fails."""
        broker = _broker(words.popleft())
        self._stage.stubs.brokers[broker].failed_dirs = set(map(_partition, words))
        await self._stage.write(Create(paths.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(broker), sequential=True))

    async def do_repair_dirs(self, words: Words) -> None:
        self._stage.stubs.brokers[_broker(words.popleft())].failed_dirs = set()

    # --- reassignments

    async def do_reassign(self, words: Words) -> None:
        """Through /admin/reassign_partitions."""
        plans = {tp: target or () for tp, target in _targets(words).items()}
        await self._stage.write(Create(paths.REASSIGN_PARTITIONS, znodes.encode_reassignment(plans)))

    async def do_api_reassign(self, words: Words) -> list[str]:
        controller = self._stage.active
        return await self._answer(controller.alter_partition_reassignments(_targets(words), None))

    async def do_list_reassignments(self, words: Words) -> list[str]:
        wanted = [_partition(word) for word in words] or None
        listed = await self._stage.active.list_partition_reassignments(wanted, None)
        return [
            f"answer {tp} {ids(a.replicas)} adding {ids(a.adding_replicas)} removing {ids(a.removing_replicas)}"
            for tp, a in listed.items()
        ] or ["answer none"]

    # --- elections

    async def do_preferred(self, words: Words) -> None:
        """Through /admin/preferred_replica_election."""
        asked = znodes.encode_partitions([_partition(word) for word in words])
        await self._stage.write(Create(paths.PREFERRED_REPLICA_ELECTION, asked))

    async def do_elect(self, words: Words) -> list[str]:
        kind = ElectionType(words.popleft().upper())
        wanted = [_partition(word) for word in words] or None
        return await self._answer(self._stage.active.elect_leaders(kind, wanted, None))

    async def do_auto_rebalance(self, words: Words) -> None:
        self._stage.active.event_manager.put(AutoPreferredReplicaLeaderElection(), None)

    async def do_unclean(self, words: Words) -> None:
        """unclean.leader.election.enable is switched on, for `default` or for a topic."""
        if words[0] == "default":
            self._stage.active.enable_default_unclean_leader_election(None)
            return
        settings = znodes.encode_config({"unclean.leader.election.enable": "true"})
        await self._stage.put(paths.topic_config(words[0]), settings)
        self._stage.active.enable_topic_unclean_leader_election(words[0], None)

    async def do_controlled_shutdown(self, words: Words) -> None:
        """Asked for under the broker's present epoch, or under a given one."""
        broker = _broker(words.popleft())
        known = self._stage.active.context.broker_epochs.get(broker, BrokerEpoch(-1))
        epoch = BrokerEpoch(known - 1) if "stale" in words else BrokerEpoch(1) if "unknown" in words else known
        await self._stage.active.controlled_shutdown(broker, epoch, None)

    # --- znodes by hand

    async def do_set(self, words: Words) -> None:
        """Create a znode, with its missing ancestors, or change it."""
        await self._stage.put(words.popleft(), _data(words))

    async def do_topic_with_state(self, words: Words) -> None:
        """A topic of one partition whose state is there already, in one transaction."""
        topic, assigned = words.popleft(), _assigned([words.popleft()])
        state = paths.topic_partition_state(TopicPartition(topic, 0))
        between = [Create(path) for path in paths.lineage(state) if path.startswith(paths.topic(topic) + "/")]
        await self._stage.write(
            Create(paths.topic(topic), znodes.encode_topic(assigned)), *between[:-1], Create(state, _data(words))
        )

    async def do_delete(self, words: Words) -> None:
        await self._stage.write(*map(Delete, reversed(await self._stage.tree(words.popleft()))))

    async def do_before_write_of(self, words: Words) -> None:
        """Once, between the controller's decision to write a partition's state, or any znode, and the write, do this."""
        what = words.popleft()
        path = what if what.startswith("/") else paths.topic_partition_state(_partition(what))
        deeds = " ".join(words).split(" & ")

        async def act() -> None:
            for deed in deeds:
                await self.carry_out_meanwhile(deed)

        self._stage.before_write_of(path, act)

    # --- what the controller knows

    async def do_states(self, words: Words) -> list[str]:
        """The states of a topic's partitions and replicas in the controller's machines."""
        context = self._stage.active.context
        partitions = [f"{tp} {state}" for tp, state in sorted(context.partition_states.items()) if tp.topic in words]
        replicas = [
            f"{tp} on {broker} {state}"
            for broker, hosted in sorted(context.replica_states.items())
            for tp, state in sorted(hosted.items())
            if tp.topic in words
        ]
        return [*partitions, *replicas]

    async def do_metrics(self, words: Words) -> list[str]:
        """The gauges of type=KafkaController that are not 0, and unclean elections."""
        return [f"{name} {value}" for name, value in self._stage.active.metrics.gauges().items() if value]

    # --- answers

    async def _answer(self, asked: Coroutine[Any, Any, Mapping[TopicPartition, Any]]) -> list[str]:
        try:
            return [f"answer {tp} {error.name}" for tp, error in (await asked).items()]
        except (TimedOutError, NotControllerError) as error:
            return [f"no answer: {type(error).__name__}"]


def _broker(word: str) -> BrokerId:
    return BrokerId(int(word))


def _brokers(word: str) -> tuple[BrokerId, ...]:
    """1,2,3; or - for none."""
    return () if word == "-" else tuple(map(_broker, word.split(",")))


def _partition(word: str) -> TopicPartition:
    topic, _, partition = word.rpartition("-")
    return TopicPartition(topic, int(partition))


def _assigned(words: Iterable[str]) -> TopicState:
    """0:1,2 1:2,3: the replicas of each partition."""
    pairs = (word.split(":") for word in words)
    return TopicState({int(partition): ReplicaAssignment(_brokers(replicas)) for partition, replicas in pairs})


def _targets(words: Words) -> dict[TopicPartition, tuple[BrokerId, ...] | None]:
    """t-0:3,4 moves; t-0:cancel cancels."""
    pairs = (word.split(":") for word in words)
    return {_partition(tp): None if target == "cancel" else _brokers(target) for tp, target in pairs}


def _settings(words: Iterable[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def _data(words: Words) -> bytes | None:
    """The rest of the line; `null` for null data, `empty` for empty data."""
    text = " ".join(words)
    return {"null": None, "empty": b""}.get(text, text.encode())


def _no_report(path: str, reason: str) -> None:
    raise AssertionError(f"{path}: {reason}")
