"""The members of an ensemble: which are up, which serve, and which leads. Pure.

A member serves while it follows the leader, or leads. The leader leads while a majority, itself included, serves with it;
when the leader or its majority is lost, no member serves until a majority of running members elects the next leader. A
paused member still counts as serving until the others give it up.

Source: ZooKeeper 3.9 Administrator's Guide, initLimit and syncLimit; observed on three members of 3.9.5.
"""

from enum import Enum


class MemberState(Enum):
    UP = "up"
    PAUSED = "paused"
    DEAD = "dead"


class Members:
    """The members of an ensemble of 1, 3, 5, …, named member-1, member-2, …; at first all are up and the last one leads.

    Attributes:
        paused: the members whose state is PAUSED.
        can_commit: whether a write can be applied now: the leader and a majority of serving members are running.
    """

    def __init__(self, count: int) -> None:
        self.names = tuple(f"member-{n}" for n in range(1, count + 1))
        self.states = dict.fromkeys(self.names, MemberState.UP)
        self.paused: set[str] = set()
        self.leader: str | None = self.names[-1]
        self._serving = dict.fromkeys(self.names)
        self._majority = count // 2 + 1
        self.can_commit = True

    @property
    def is_ensemble(self) -> bool:
        return len(self.names) > 1

    def _update(self) -> None:
        """Determine anew whether members can commit: it changes seldom, and is asked for with every message."""
        running = sum(map(self._runs, self._serving))
        self.can_commit = self.leader is not None and self._runs(self.leader) and running >= self._majority

    def serves(self, name: str) -> bool:
        """Return whether a member answers its clients while it is running."""
        return name in self._serving

    def number(self, name: str) -> int:
        return self.names.index(name) + 1

    def set_state(self, name: str, state: MemberState) -> None:
        self.states[name] = state
        (self.paused.add if state is MemberState.PAUSED else self.paused.discard)(name)
        self._update()

    def leave(self, name: str) -> tuple[str, ...]:
        """Remove a member that has died or that the others gave up; return the members that stop serving: it, or all."""
        if name not in self._serving:
            return ()
        del self._serving[name]
        self._update()
        if name != self.leader and len(self._serving) >= self._majority:
            return (name,)
        stopped = (name, *self._serving)
        self._serving.clear()
        self.leader = None
        self._update()
        return stopped

    def elect(self) -> bool:
        """Let the running members elect a leader, if there is none and they are a majority; return whether they did."""
        running = [name for name in self.names if self._runs(name)]
        if self.leader is None and len(running) >= self._majority:
            # All members have the same transactions in this model; in that case the highest number wins.
            self.leader = running[-1]
            self._serving = dict.fromkeys(running)
            self._update()
            return True
        return False

    def join(self, name: str) -> None:
        """Let a running member follow the leader, if there is one."""
        if self.leader is not None and self._runs(name):
            self._serving[name] = None
            self._update()

    def _runs(self, name: str) -> bool:
        return self.states[name] is MemberState.UP
