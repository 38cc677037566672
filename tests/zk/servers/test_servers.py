"""The methods of ZooKeeperServers do what the port promises, in JVMs of ours and in containers alike."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

from kcsim.zk.files.transaction_log import log_files
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.container import ContainerZooKeeper
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import MemberStateError, NoSuchMemberError, NotStartedError, ServerError
from kcsim.zk.servers.external import parse_connect_string
from kcsim.zk.servers.four_letter_words import ask_server
from kcsim.zk.servers.managed import ManagedZooKeeper
from kcsim.zk.servers.ports import ZooKeeperServers
from tests.requirements import require
from tests.zk.servers.processes import until

CONTAINER = pytest.param("container", marks=[pytest.mark.slow, pytest.mark.live, pytest.mark.docker])
KINDS = [pytest.param("embedded", marks=pytest.mark.live), CONTAINER]
ENSEMBLES = [
    pytest.param("embedded", marks=[pytest.mark.live, pytest.mark.slow]),
    pytest.param("container", marks=[pytest.mark.nightly, pytest.mark.live, pytest.mark.docker]),
]
PATIENT = ServerSettings(init_limit=600, sync_limit=40)
"""On a busy machine members may take two minutes to join, and 8 s to answer: a paused member is not given up before that."""
ANSWERED_WITHIN_S = 60.0


def make(kind: str, members: int) -> ManagedZooKeeper:
    if kind == "embedded":
        require("java")
        return EmbeddedZooKeeper(members, PATIENT)
    require("docker")
    return ContainerZooKeeper(members, PATIENT)


@pytest.fixture(scope="module", params=KINDS)
def standalone(request: pytest.FixtureRequest) -> Iterator[ManagedZooKeeper]:
    with make(request.param, 1) as servers:
        yield servers


@pytest.fixture(scope="module", params=ENSEMBLES)
def shared_ensemble(request: pytest.FixtureRequest) -> Iterator[ManagedZooKeeper]:
    with make(request.param, 3) as servers:
        yield servers


@pytest.fixture
def ensemble(shared_ensemble: ManagedZooKeeper) -> ManagedZooKeeper:
    """Return three members that serve: the previous test's faults are undone."""

    async def mend() -> None:
        states = await shared_ensemble.states()
        for name in (name for name, state in states.items() if state == "paused"):
            await shared_ensemble.resume(name)
        await shared_ensemble.start_member(*(name for name, state in states.items() if isinstance(state, int)))
        await shared_ensemble.wait_for_leader()

    asyncio.run(mend())
    # A member that is killed while it begins to follow may never start again (ZOOKEEPER-2354).
    until(lambda: modes_of(shared_ensemble), lambda modes: None not in modes, "all members to serve")
    return shared_ensemble


def modes_of(servers: ManagedZooKeeper) -> list[str | None]:
    """Return each member's mode: leader, follower; None: it does not serve."""
    modes: list[str | None] = []
    for address in parse_connect_string(servers.connect_string).addresses:
        try:
            modes.append(ask_server(address.host, address.port).mode)
        except OSError:
            modes.append(None)
    return modes


async def error_of(attempt: Awaitable[object]) -> str:
    with pytest.raises(MemberStateError) as caught:
        await attempt
    return str(caught.value)


def followers_of(servers: ManagedZooKeeper, leader: str) -> list[str]:
    return [name for name in servers.member_names if name != leader]


# --- one member --------------------------------------------------------------------------------------------------------


def test_a_server_that_was_started_serves_where_it_says(standalone: ManagedZooKeeper) -> None:
    (address,) = parse_connect_string(standalone.connect_string).addresses
    assert ask_server(address.host, address.port, ANSWERED_WITHIN_S).mode == "standalone"
    assert standalone.member_names == ("member-1",)
    assert asyncio.run(standalone.version()).startswith("3.")
    assert asyncio.run(standalone.leader_name()) == "member-1"


def test_the_only_member_is_started_again_where_it_was(standalone: ManagedZooKeeper) -> None:
    async def story() -> None:
        where = standalone.connect_string
        await standalone.restart("member-1")
        assert await standalone.leader_name() == "member-1"
        assert standalone.connect_string == where

    asyncio.run(story())


def test_a_paused_member_accepts_and_does_not_answer(standalone: ManagedZooKeeper) -> None:
    async def story() -> None:
        (address,) = parse_connect_string(standalone.connect_string).addresses
        await standalone.pause("member-1")
        assert await standalone.states() == {"member-1": "paused"}
        with pytest.raises(TimeoutError):
            ask_server(address.host, address.port, timeout_s=0.1)
        await standalone.resume("member-1")
        assert ask_server(address.host, address.port, ANSWERED_WITHIN_S).mode == "standalone"

    asyncio.run(story())


def test_a_verb_without_effect_is_an_error(standalone: ManagedZooKeeper) -> None:
    """Faults are observed, not assumed."""

    async def story() -> None:
        assert await error_of(standalone.resume("member-1")) == "cannot resume member-1: it is up"
        assert await error_of(standalone.start_member("member-1")) == "cannot start member-1: it is up"
        await standalone.pause("member-1")
        assert await error_of(standalone.pause("member-1")) == "cannot pause member-1: it is paused"
        await standalone.kill("member-1")  # a paused one can be killed
        for attempt in (standalone.kill, standalone.pause, standalone.resume):
            assert "member-1: it is down (status " in await error_of(attempt("member-1"))
        assert await standalone.leader_name() is None
        await standalone.start_member("member-1")
        assert await standalone.leader_name() == "member-1"

    asyncio.run(story())


def test_an_unknown_member_is_reported_with_the_nearest(standalone: ManagedZooKeeper) -> None:
    with pytest.raises(NoSuchMemberError, match="no member 'membr-1', there are member-1; did you mean 'member-1'"):
        asyncio.run(standalone.kill("membr-1"))


def test_starting_twice_is_an_error_that_leaves_the_server_alone(standalone: ManagedZooKeeper) -> None:
    with pytest.raises(ServerError, match="already started, at 127"):
        asyncio.run(standalone.start())
    assert asyncio.run(standalone.leader_name()) == "member-1"


def test_the_transaction_log_can_be_read_here(standalone: ManagedZooKeeper) -> None:
    directory = standalone.transaction_log_dir("member-1")
    assert directory is not None
    assert directory.is_dir()
    assert log_files(directory) == []  # nothing has been written yet


# --- an ensemble -------------------------------------------------------------------------------------------------------


def test_the_loss_of_the_leader_is_survived(ensemble: ManagedZooKeeper) -> None:
    async def story() -> None:
        leader = await ensemble.wait_for_leader()
        await ensemble.kill(leader)
        successor = await ensemble.wait_for_leader(other_than=leader)
        assert successor in followers_of(ensemble, leader)
        await ensemble.start_member(leader)
        assert await ensemble.wait_for_leader(other_than=leader) == successor

    asyncio.run(story())


def test_a_leader_that_stands_still_is_given_up(ensemble: ManagedZooKeeper) -> None:
    async def story() -> None:
        leader = await ensemble.wait_for_leader()
        await ensemble.pause(leader)
        successor = await ensemble.wait_for_leader(other_than=leader)
        await ensemble.resume(leader)
        assert await ensemble.wait_for_leader(other_than=leader) == successor

    asyncio.run(story())


def test_without_a_quorum_nobody_leads_and_with_one_again_somebody_does(ensemble: ManagedZooKeeper) -> None:
    async def story() -> None:
        leader = await ensemble.wait_for_leader()
        first, second = followers_of(ensemble, leader)
        await ensemble.kill(first)
        await ensemble.kill(second)
        await until_no_server_leads(ensemble)
        await ensemble.start_member(first)
        assert await ensemble.leader_name() is not None

    asyncio.run(story())


def test_a_member_without_a_quorum_is_started_and_waits_for_the_others(ensemble: ManagedZooKeeper) -> None:
    async def story() -> None:
        for name in ensemble.member_names:
            await ensemble.kill(name)
        await ensemble.start_member("member-1")
        assert await ensemble.leader_name() is None
        await ensemble.start_member("member-2", "member-3")
        assert await ensemble.leader_name() is not None
        assert set((await ensemble.states()).values()) == {"up"}

    asyncio.run(story())


async def until_no_server_leads(servers: ZooKeeperServers) -> None:
    await asyncio.to_thread(
        until, lambda: asyncio.run(servers.leader_name()), lambda leader: leader is None, "nobody to lead"
    )


# --- start and end -----------------------------------------------------------------------------------------------------

VERBS: list[Callable[[ManagedZooKeeper], Coroutine[Any, Any, object]]] = [
    lambda servers: servers.kill("member-1"),
    lambda servers: servers.start_member("member-1"),
    lambda servers: servers.leader_name(),
    lambda servers: servers.version(),
    lambda servers: servers.states(),
]


@pytest.mark.parametrize("verb", VERBS, ids=["kill", "start_member", "leader_name", "version", "states"])
@pytest.mark.parametrize("servers", [EmbeddedZooKeeper(), ContainerZooKeeper()], ids=["embedded", "container"])
def test_what_was_not_started_does_nothing(
    servers: ManagedZooKeeper, verb: Callable[[ManagedZooKeeper], Coroutine[Any, Any, object]]
) -> None:
    with pytest.raises(NotStartedError):
        asyncio.run(verb(servers))


@pytest.mark.parametrize("servers", [EmbeddedZooKeeper(), ContainerZooKeeper()], ids=["embedded", "container"])
def test_what_was_not_started_can_be_stopped_and_is_nowhere(servers: ManagedZooKeeper) -> None:
    asyncio.run(servers.stop())
    with pytest.raises(NotStartedError):
        servers.connect_string  # noqa: B018
    with pytest.raises(NotStartedError):
        servers.log_path("member-1")


@pytest.mark.parametrize("members", [0, 2, 4, -1])
def test_an_ensemble_has_an_odd_number_of_members(members: int) -> None:
    with pytest.raises(ValueError, match="an odd number of members, one at least; not"):
        EmbeddedZooKeeper(members)


def test_each_member_needs_its_port() -> None:
    with pytest.raises(ValueError, match="3 members need 3 client ports, 1 given"):
        EmbeddedZooKeeper(3, client_ports=[2181])
