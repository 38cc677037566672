"""Faults of ZooKeeper's own servers."""

from typing import Protocol

from kcsim.scenarios.deeds import ClusterError, Deeds


class ZooKeeperMembers(Protocol):
    """The servers behind the ZooKeeper port, as far as a scenario may fault them; the model offers the same."""

    @property
    def member_names(self) -> tuple[str, ...]: ...
    async def leader_name(self) -> str | None: ...
    async def kill(self, name: str, cause: int | None = None) -> None: ...
    async def start_member(self, *names: str, cause: int | None = None) -> None: ...
    async def pause(self, name: str, cause: int | None = None) -> None: ...
    async def resume(self, name: str, cause: int | None = None) -> None: ...


class ServerFaults:
    """What can be done to the servers of a run.

    Args:
        members: None when they are not ours.
    """

    def __init__(self, deeds: Deeds, members: ZooKeeperMembers | None) -> None:
        self._deeds = deeds
        self._members = members
        self._away: dict[str, str] = {}  # who was killed or paused -> that

    @property
    def member_names(self) -> tuple[str, ...]:
        """Those that can be faulted."""
        return self._members.member_names if self._members else ()

    async def kill(self, member: str) -> int:
        """Kill a server: member-N, `leader` or `follower`. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._deeds.fault("kill", name)
        await members.kill(name, cause=cause)
        return self._confirm(cause, "kill", name)

    async def start(self, member: str) -> int:
        """Start a killed server again, with its data. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._deeds.fault("start", name)
        await members.start_member(name, cause=cause)
        return self._confirm(cause, "start", name)

    async def pause(self, member: str) -> int:
        """Make a server stand still, its connections open and silent. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._deeds.fault("pause", name)
        await members.pause(name, cause=cause)
        return self._confirm(cause, "pause", name)

    async def resume(self, member: str) -> int:
        """Let a paused server go on. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._deeds.fault("resume", name)
        await members.resume(name, cause=cause)
        return self._confirm(cause, "resume", name)

    async def heal(self) -> None:
        """Let every server that is dead or frozen serve again. Raises: ClusterError, ServerError."""
        dead = sorted(name for name, fault in self._away.items() if fault == "kill")
        for name in sorted(self._away.keys() - dead):
            await self.resume(name)
        if dead and self._members is not None:  # all at once: one alone may be no majority
            causes = [self._deeds.fault("start", name) for name in dead]
            await self._members.start_member(*dead, cause=causes[0])
            for cause, name in zip(causes, dead, strict=True):
                self._confirm(cause, "start", name)

    def _confirm(self, cause: int, fault: str, name: str) -> int:
        if fault in ("kill", "pause"):
            self._away[name] = fault
        else:
            self._away.pop(name, None)
        self._deeds.confirm(cause, fault, name, f"{fault} of {name} has taken effect")
        return cause

    async def _find(self, wanted: str) -> tuple[ZooKeeperMembers, str]:
        members = self._members
        if members is None:
            raise ClusterError("the servers of this ZooKeeper are not ours to fault")
        if wanted in members.member_names:
            return members, wanted
        leader = await members.leader_name()
        if leader is None:
            raise ClusterError(f"no {wanted}: the ensemble has no leader now")
        if wanted == "leader":
            return members, leader
        followers = [name for name in members.member_names if name != leader]
        if wanted != "follower" or not followers:
            raise ClusterError(f"no member {wanted}; there are {', '.join(members.member_names)}")
        return members, followers[0]
