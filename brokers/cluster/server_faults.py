"""Faults of ZooKeeper's own servers."""

from typing import Protocol

from kcsim.eventlog.run_actions import ClusterError, RunActionLog


class ZooKeeperMembers(Protocol):
    """The ZooKeeper servers, as far as a scenario may inject faults into them; the model has the same interface."""

    @property
    def member_names(self) -> tuple[str, ...]: ...
    async def leader_name(self) -> str | None: ...
    async def kill(self, name: str, cause: int | None = None) -> None: ...
    async def start_member(self, *names: str, cause: int | None = None) -> None: ...
    async def pause(self, name: str, cause: int | None = None) -> None: ...
    async def resume(self, name: str, cause: int | None = None) -> None: ...


class ServerFaults:
    """The faults of a run's ZooKeeper servers.

    Args:
        members: None if the run did not start the servers.
    """

    def __init__(self, actions: RunActionLog, members: ZooKeeperMembers | None) -> None:
        self._actions = actions
        self._members = members
        self._away: dict[str, str] = {}  # server that is killed or paused -> kill or pause

    @property
    def member_names(self) -> tuple[str, ...]:
        """The servers that faults can be injected into."""
        return self._members.member_names if self._members else ()

    async def kill(self, member: str) -> int:
        """Kill a server: member-N, `leader` or `follower`. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._actions.fault("kill", name)
        await members.kill(name, cause=cause)
        return self._confirm(cause, "kill", name)

    async def start(self, member: str) -> int:
        """Start a killed server again, with its data. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._actions.fault("start", name)
        await members.start_member(name, cause=cause)
        return self._confirm(cause, "start", name)

    async def pause(self, member: str) -> int:
        """Freeze a server; its connections stay open and silent. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._actions.fault("pause", name)
        await members.pause(name, cause=cause)
        return self._confirm(cause, "pause", name)

    async def resume(self, member: str) -> int:
        """Resume a paused server. Raises: ClusterError."""
        members, name = await self._find(member)
        cause = self._actions.fault("resume", name)
        await members.resume(name, cause=cause)
        return self._confirm(cause, "resume", name)

    async def heal(self) -> None:
        """Start or resume every server that is dead or frozen. Raises: ClusterError, ServerError."""
        dead = sorted(name for name, fault in self._away.items() if fault == "kill")
        for name in sorted(self._away.keys() - dead):
            await self.resume(name)
        if dead and self._members is not None:  # all at once: one alone may not be a majority
            causes = [self._actions.fault("start", name) for name in dead]
            await self._members.start_member(*dead, cause=causes[0])
            for cause, name in zip(causes, dead, strict=True):
                self._confirm(cause, "start", name)

    def _confirm(self, cause: int, fault: str, name: str) -> int:
        if fault in ("kill", "pause"):
            self._away[name] = fault
        else:
            self._away.pop(name, None)
        self._actions.confirm(cause, fault, name, f"{fault} of {name} has taken effect")
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
