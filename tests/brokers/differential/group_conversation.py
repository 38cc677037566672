"""Requests about groups to one broker, in all versions, and what it answers, whether it is simulated or one of Kafka's.

What Kafka 2.8.2 answered is in tests/vectors/group-answers. The broker is alone in its cluster, has the settings SETTINGS,
and a topic `orders` with two partitions.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

from kio.schema.errors import ErrorCode

from kcsim.brokers.wire.apis.api import milliseconds
from kcsim.brokers.wire.apis.group_admin import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from kcsim.brokers.wire.apis.group_offsets import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kcsim.brokers.wire.apis.groups import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from tests.brokers.differential.raw_client import RawClient, raw_client

SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
}
BROKER = 1
TOPIC, PARTITIONS = "orders", 2
RECORDED = Path(__file__).parents[2] / "vectors" / "group-answers" / "answers.json"
SUBSCRIPTION = bytes.fromhex("0001000000010006") + b"orders" + bytes.fromhex("ffffffff00000000")
ASSIGNMENT = bytes.fromhex("0001000000010006") + b"orders" + bytes.fromhex("000000020000000000000001ffffffff")
SESSION_MS = 30_000
MOMENT_S = 0.2
Answers = dict[str, Any]


class Conversation:
    """What a broker has answered so far, without what differs from run to run: ids of members get numbers.

    Attributes:
        answers: by the label of the request.
    """

    def __init__(self, client: RawClient, other: RawClient) -> None:
        self.answers: Answers = {}
        self._client = client
        self._other = other
        self._members: dict[str, str] = {}

    async def ask(self, label: str, api_key: int, version: int, **values: Any) -> Any:
        return self._kept(label, version, await self._client.call(BROKER, api_key, version, **values))

    def later(self, label: str, api_key: int, version: int, **values: Any) -> "asyncio.Task[Any]":
        """Ask over a second connection, for an answer that comes after other requests."""

        async def ask() -> Any:
            return self._kept(label, version, await self._other.call(BROKER, api_key, version, **values))

        return asyncio.create_task(ask())

    async def until_rebalance(self, group: str, generation: int, member_id: str) -> None:
        """Send heartbeats, whose answers are not kept, until one of them asks the member to join again."""
        await _until(self._client, ErrorCode.rebalance_in_progress, HEARTBEAT, 4, **heartbeat(group, generation, member_id))

    def _kept(self, label: str, version: int, message: Any) -> Any:
        member_id = getattr(message, "member_id", "")
        if member_id:
            self._members.setdefault(member_id, f"member-{len(self._members) + 1}")
        key = f"{label}, version {version}"
        while key in self.answers:
            key += ", again"
        self.answers[key] = self._plain(asdict(message))
        return message

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._plain(one) for name, one in value.items() if name not in ("host", "port")}
        if isinstance(value, tuple | list):
            return sorted(map(self._plain, value), key=_in_order)
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, timedelta):
            return milliseconds(value)
        if isinstance(value, ErrorCode):
            return value.name
        return self._members.get(value, value) if isinstance(value, str) else value


def _in_order(value: Any) -> str:
    """Return the sort key of an element: the order of topics, partitions and groups is no part of the protocol."""
    return repr(sorted(value.items(), key=itemgetter(0)) if isinstance(value, dict) else value)


async def answers_of(servers: str) -> Answers:
    """Return what a broker answers to all requests. Args: servers: its host:port."""
    async with raw_client(servers) as client, raw_client(servers) as other:
        conversation = Conversation(client, other)
        await _until_there_is_a_coordinator(client)
        for part in (_finding, _simple_consumers, _members, _static_members, _older_versions, _workers, _deletion):
            await part(conversation)
        return conversation.answers


async def _until_there_is_a_coordinator(client: RawClient) -> None:
    await _until(client, ErrorCode.none, FIND_COORDINATOR, 3, key="any", key_type=0)
    await _until(client, ErrorCode.none, OFFSET_FETCH, 7, **fetch("any", None))


async def _until(client: RawClient, error: ErrorCode, api_key: int, version: int, **values: Any) -> None:
    """Ask until the answer has this error."""
    while True:
        answer = await client.call(BROKER, api_key, version, **values)
        if answer.error_code is error:
            return
        await asyncio.sleep(MOMENT_S)


async def _finding(to: Conversation) -> None:
    for version in range(4):
        kind = {"key_type": 0} if version else {}
        await to.ask("find", FIND_COORDINATOR, version, key="billing", **kind)
        await to.ask("find no group", FIND_COORDINATOR, version, key="", **kind)
    await to.ask("find a coordinator of transactions", FIND_COORDINATOR, 3, key="billing", key_type=1)
    await to.ask("find something else", FIND_COORDINATOR, 3, key="billing", key_type=2)


async def _simple_consumers(to: Conversation) -> None:
    group = "simple"
    await to.ask("commit of no group", OFFSET_COMMIT, 8, **commit("", {0: 3}))
    await to.ask("commit without metadata", OFFSET_COMMIT, 8, **commit(group, {1: 3}, metadata=None))
    await to.ask("commit of unknown partitions", OFFSET_COMMIT, 8, **commit(group, {1: 4, 7: 1}))
    await to.ask("commit of unknown partitions only", OFFSET_COMMIT, 8, **commit(group, {7: 1}))
    await to.ask("commit of nothing", OFFSET_COMMIT, 8, **{**commit(group, {}), "topics": []})
    await to.ask("commit with long metadata", OFFSET_COMMIT, 8, **commit(group, {0: 99}, metadata="m" * 4097))
    await to.ask("commit as an unknown member", OFFSET_COMMIT, 8, **commit(group, {0: 5}, member_id="nobody"))
    await to.ask("commit as an unknown static member", OFFSET_COMMIT, 8, **commit(group, {0: 5}, instance_id="nobody"))
    for version in range(1, 9):
        await to.ask(
            "commit", OFFSET_COMMIT, version, **commit(group, {0: 10 + version}, leader_epoch=version, metadata="m")
        )
    await to.ask("commit of a generation", OFFSET_COMMIT, 8, **commit(group, {0: 5}, generation=0))
    await to.ask("commit of a generation of no group", OFFSET_COMMIT, 8, **commit("new", {0: 5}, generation=0))
    for version in range(1, 8):
        await to.ask("fetch", OFFSET_FETCH, version, **fetch(group, (0, 1, 7)))
        await to.ask("fetch of an unknown group", OFFSET_FETCH, version, **fetch("unknown", (0,)))
    for version in range(2, 8):
        await to.ask("fetch all", OFFSET_FETCH, version, **fetch(group, None))
        await to.ask("fetch all of an unknown group", OFFSET_FETCH, version, **fetch("unknown", None))
    await to.ask("fetch of no group", OFFSET_FETCH, 7, **fetch("", None))
    for version in range(6):
        await to.ask("describe a simple group", DESCRIBE_GROUPS, version, **describe(group, "unknown", ""))


async def _members(to: Conversation) -> None:
    group = "billing"
    for version in range(4, 8):
        first = await to.ask("join without an id", JOIN_GROUP, version, **join(group))
        await to.ask("leave before the join", LEAVE_GROUP, 4, **leave(group, (first.member_id, None)))
    await to.ask("join an unnamed group", JOIN_GROUP, 7, **join(""))
    await to.ask("join with a short session", JOIN_GROUP, 7, **join(group, session_ms=5_999))
    await to.ask("join with a long session", JOIN_GROUP, 7, **join(group, session_ms=1_800_001))
    await to.ask("join with an unknown id", JOIN_GROUP, 7, **join(group, "nobody"))
    await to.ask("join another group with an unknown id", JOIN_GROUP, 7, **join("other", "nobody"))
    await to.ask("join without protocols", JOIN_GROUP, 7, **{**join(group), "protocols": []})
    await to.ask("join without a protocol type", JOIN_GROUP, 7, **join(group, protocol_type=""))
    one = (await to.ask("id of one", JOIN_GROUP, 7, **join(group))).member_id
    joined = await to.ask("one joins", JOIN_GROUP, 7, **join(group, one))
    assert joined.leader == one
    await to.ask("commit while it is completed", OFFSET_COMMIT, 8, **commit(group, {0: 5}, generation=1, member_id=one))
    await to.ask("describe a group that is completed", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("heartbeat while it is completed", HEARTBEAT, 4, **heartbeat(group, 1, one))
    await to.ask("one joins again", JOIN_GROUP, 7, **join(group, one))
    await to.ask("sync without protocol", SYNC_GROUP, 5, **{**sync(group, 1, one, {}), "protocol_type": None})
    await to.ask("sync with another protocol", SYNC_GROUP, 5, **{**sync(group, 1, one, {}), "protocol_name": "sticky"})
    await to.ask("sync with another type", SYNC_GROUP, 5, **{**sync(group, 1, one, {}), "protocol_type": "connect"})
    await to.ask("sync of an unknown member", SYNC_GROUP, 5, **sync(group, 1, "nobody", {}))
    await to.ask("sync of an unknown group", SYNC_GROUP, 5, **sync("unknown", 1, "nobody", {}))
    await to.ask("sync of another generation", SYNC_GROUP, 5, **sync(group, 7, one, {}))
    await to.ask("sync", SYNC_GROUP, 5, **sync(group, 1, one, {one: ASSIGNMENT}))
    for version in range(6):
        await to.ask("sync again", SYNC_GROUP, version, **sync(group, 1, one, {}))
        await to.ask("describe a stable group", DESCRIBE_GROUPS, version, **describe(group))
    for version in range(3, 6):
        asked = {"groups": [group, "unknown"], "include_authorized_operations": True}
        await to.ask("describe with operations", DESCRIBE_GROUPS, version, **asked)
    for version in range(5):
        await to.ask("heartbeat", HEARTBEAT, version, **heartbeat(group, 1, one))
        await to.ask("heartbeat of another generation", HEARTBEAT, version, **heartbeat(group, 0, one))
        await to.ask("heartbeat of an unknown member", HEARTBEAT, version, **heartbeat(group, 1, "nobody"))
        await to.ask("heartbeat in an unknown group", HEARTBEAT, version, **heartbeat("unknown", 1, one))
        await to.ask("list", LIST_GROUPS, version, **({"states_filter": []} if version == 4 else {}))
    for state in ("Stable", "stable", "Empty", "nonsense"):
        await to.ask(f"list {state}", LIST_GROUPS, 4, states_filter=[state])
    await to.ask("join of another type", JOIN_GROUP, 7, **join(group, protocol_type="connect"))
    await to.ask("join with another protocol", JOIN_GROUP, 7, **join(group, protocols=("sticky",)))
    await to.ask("commit", OFFSET_COMMIT, 7, **commit(group, {0: 5, 1: 6}, generation=1, member_id=one))
    await to.ask("commit of a former generation", OFFSET_COMMIT, 7, **commit(group, {0: 6}, generation=0, member_id=one))
    await to.ask("commit from outside", OFFSET_COMMIT, 7, **commit(group, {0: 6}))
    await to.ask("commit as a member without a generation", OFFSET_COMMIT, 7, **commit(group, {0: 6}, member_id=one))
    await to.ask("delete a group with members", DELETE_GROUPS, 2, groups_names=[group])
    await to.ask("delete offsets that are consumed", OFFSET_DELETE, 0, **delete_offsets(group, 0, 1, 7))
    await _rebalance(to, group, one)


async def _rebalance(to: Conversation, group: str, one: str) -> None:
    two = (await to.ask("id of two", JOIN_GROUP, 7, **join(group))).member_id
    joining = to.later("two joins", JOIN_GROUP, 7, **join(group, two))
    await to.until_rebalance(group, 1, one)
    await to.ask("heartbeat in a rebalance", HEARTBEAT, 4, **heartbeat(group, 1, one))
    await to.ask("commit in a rebalance", OFFSET_COMMIT, 8, **commit(group, {0: 7}, generation=1, member_id=one))
    await to.ask("sync in a rebalance", SYNC_GROUP, 5, **sync(group, 1, one, {}))
    await to.ask("describe a group in a rebalance", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("delete offsets in a rebalance", OFFSET_DELETE, 0, **delete_offsets(group, 0))
    await to.ask("one follows", JOIN_GROUP, 7, **join(group, one))
    await joining
    syncing = to.later("two syncs", SYNC_GROUP, 5, **sync(group, 2, two, {}))
    await to.ask("one assigns nothing to two", SYNC_GROUP, 5, **sync(group, 2, one, {one: ASSIGNMENT}))
    await syncing
    await to.ask("describe two members", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("leave of many", LEAVE_GROUP, 4, **leave(group, (two, None), ("nobody", None), ("", "static"), ("", None)))
    await to.ask("leave an unknown group", LEAVE_GROUP, 4, **leave("unknown", ("nobody", None)))
    await to.ask("leave an unnamed group", LEAVE_GROUP, 4, **leave("", ("nobody", None)))
    for version in range(3):
        await to.ask("leave of an unknown member", LEAVE_GROUP, version, group_id=group, member_id="nobody")
        await to.ask("leave an unknown group", LEAVE_GROUP, version, group_id="unknown", member_id="nobody")
    await to.ask("one joins alone", JOIN_GROUP, 7, **join(group, one))
    await to.ask("leave of the last", LEAVE_GROUP, 1, group_id=group, member_id=one)
    await to.ask("describe a group that is empty again", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("list groups that are empty again", LIST_GROUPS, 4, states_filter=[])


async def _static_members(to: Conversation) -> None:
    group = "static"
    one = (await to.ask("static one joins", JOIN_GROUP, 5, **join(group, instance_id="i-1"))).member_id
    await to.ask("static one syncs", SYNC_GROUP, 5, **sync(group, 1, one, {one: ASSIGNMENT}, instance_id="i-1"))
    again = await to.ask("static one comes back", JOIN_GROUP, 7, **join(group, instance_id="i-1"))
    assert again.member_id != one
    await to.ask("fenced heartbeat", HEARTBEAT, 4, **heartbeat(group, 1, one, "i-1"))
    await to.ask("fenced sync", SYNC_GROUP, 5, **sync(group, 1, one, {}, instance_id="i-1"))
    await to.ask("fenced commit", OFFSET_COMMIT, 8, **commit(group, {0: 1}, 1, one, instance_id="i-1"))
    await to.ask("fenced join", JOIN_GROUP, 7, **join(group, one, instance_id="i-1"))
    await to.ask("fenced leave", LEAVE_GROUP, 4, **leave(group, (one, "i-1")))
    await to.ask("unknown static heartbeat", HEARTBEAT, 4, **heartbeat(group, 1, again.member_id, "i-9"))
    await to.ask("unknown static commit", OFFSET_COMMIT, 8, **commit(group, {0: 1}, 1, again.member_id, instance_id="i-9"))
    await to.ask("unknown static sync", SYNC_GROUP, 5, **sync(group, 1, again.member_id, {}, instance_id="i-9"))
    await to.ask("unknown static join", JOIN_GROUP, 7, **join(group, again.member_id, instance_id="i-9"))
    await to.ask("sync of who came back", SYNC_GROUP, 5, **sync(group, 1, again.member_id, {}, instance_id="i-1"))
    await to.ask("describe a static member", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("unknown static leave", LEAVE_GROUP, 4, **leave(group, (again.member_id, "i-9")))
    await to.ask("static one is gone", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("static one is new", JOIN_GROUP, 7, **join(group, instance_id="i-1"))
    await to.ask("leave by instance", LEAVE_GROUP, 4, **leave(group, ("", "i-1")))


async def _older_versions(to: Conversation) -> None:
    for version in range(3):
        group = f"old-{version}"
        one = (await to.ask("join at once", JOIN_GROUP, version, **join(group))).member_id
        await to.ask("sync of an old client", SYNC_GROUP, version, **sync(group, 1, one, {one: ASSIGNMENT}))
        await to.ask(f"describe {group}", DESCRIBE_GROUPS, 0, groups=[group])
        await to.ask("leave of an old client", LEAVE_GROUP, version, group_id=group, member_id=one)
    await to.ask("join at once", JOIN_GROUP, 3, **join("old-3"))
    await to.ask("describe old-3", DESCRIBE_GROUPS, 0, groups=["old-3"])


async def _workers(to: Conversation) -> None:
    """Ask as Kafka Connect does, whose bytes are not those of consumers."""
    group = "connect"
    worker = (
        await to.ask("a worker joins", JOIN_GROUP, 3, **join(group, protocol_type="connect", protocols=("sessioned",)))
    ).member_id
    await to.ask("a worker syncs", SYNC_GROUP, 2, **sync(group, 1, worker, {worker: b"\x00anything"}))
    await to.ask("describe workers", DESCRIBE_GROUPS, 5, **describe(group))
    await to.ask("delete offsets of workers", OFFSET_DELETE, 0, **delete_offsets(group, 0))
    await to.ask("list workers", LIST_GROUPS, 4, states_filter=["Stable"])


async def _deletion(to: Conversation) -> None:
    await to.ask("delete offsets of an unknown group", OFFSET_DELETE, 0, **delete_offsets("unknown", 0))
    await to.ask("delete offsets of no group", OFFSET_DELETE, 0, **delete_offsets("", 0))
    await to.ask("delete one offset", OFFSET_DELETE, 0, **delete_offsets("simple", 0, 7))
    await to.ask("what is left of the offsets", OFFSET_FETCH, 7, **fetch("simple", None))
    await to.ask("delete the last offset", OFFSET_DELETE, 0, **delete_offsets("simple", 1))
    await to.ask("describe what has no offsets", DESCRIBE_GROUPS, 5, **describe("simple"))
    for version in range(3):
        await to.ask("delete groups", DELETE_GROUPS, version, groups_names=["billing", "simple", "unknown", "connect"])
    await to.ask("offsets of a deleted group", OFFSET_FETCH, 7, **fetch("billing", None))
    await to.ask("delete no group", DELETE_GROUPS, 2, groups_names=[""])
    await to.ask("list what is left", LIST_GROUPS, 4, states_filter=[])


# --- the values of requests ------------------------------------------------------------------------------------------------


def commit(
    group: str,
    offsets: Mapping[int, int],
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    leader_epoch: int = -1,
    metadata: str | None = "",
) -> dict[str, Any]:
    """Return the values of an OffsetCommit of any version."""
    partitions = [
        {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": leader_epoch,
            "committed_metadata": metadata,
            "commit_timestamp": -1,
        }
        for partition, offset in offsets.items()
    ]
    return {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "retention_time": -1,
        "topics": [{"name": TOPIC, "partitions": partitions}],
    }


def fetch(group: str, partitions: tuple[int, ...] | None) -> dict[str, Any]:
    topics = None if partitions is None else [{"name": TOPIC, "partition_indexes": partitions}]
    return {"group_id": group, "topics": topics, "require_stable": False}


def describe(*groups: str) -> dict[str, Any]:
    return {"groups": groups, "include_authorized_operations": False}


def join(
    group: str,
    member_id: str = "",
    instance_id: str | None = None,
    session_ms: int = SESSION_MS,
    protocol_type: str = "consumer",
    protocols: tuple[str, ...] = ("range", "roundrobin"),
) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": session_ms,
        "rebalance_timeout": SESSION_MS,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "protocol_type": protocol_type,
        "protocols": [{"name": name, "metadata": SUBSCRIPTION} for name in protocols],
    }


def sync(
    group: str, generation: int, member_id: str, assignments: Mapping[str, bytes], instance_id: str | None = None
) -> dict[str, Any]:
    return {
        "group_id": group,
        "generation_id": generation,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": one} for member, one in assignments.items()],
    }


def heartbeat(group: str, generation: int, member_id: str, instance_id: str | None = None) -> dict[str, Any]:
    return {"group_id": group, "generation_id": generation, "member_id": member_id, "group_instance_id": instance_id}


def leave(group: str, *members: tuple[str, str | None]) -> dict[str, Any]:
    identities = [{"member_id": member_id, "group_instance_id": instance_id} for member_id, instance_id in members]
    return {"group_id": group, "members": identities}


def delete_offsets(group: str, *partitions: int) -> dict[str, Any]:
    return {"group_id": group, "topics": [{"name": TOPIC, "partitions": [{"partition_index": one} for one in partitions]}]}
