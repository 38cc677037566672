"""Answers to the four-letter words that monitoring tools send, from the model's state.

Source: ZooKeeper 3.9 Administrator's Guide, "The Four Letter Words"; the forms as ZooKeeper 3.9.5 prints them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.zk.memory.members import Members
from kcsim.zk.memory.server import MemoryServer
from kcsim.zk.memory.stale_view import ServerView
from kcsim.zk.model_server.client_connection import ClientConnection

VERSION = "3.9.5"
VERSION_TEXT = f"{VERSION}-kcsim-model, built on 2026-01-01 00:00 UTC"
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"


@dataclass(frozen=True, slots=True)
class MonitoredMember:
    """What a member can tell.

    Attributes:
        view: the tree as the member has it.
        connections: to this member.
        watching: how many connections all members have together.
    """

    name: str
    members: Members
    server: MemoryServer
    view: ServerView
    connections: Sequence[ClientConnection]
    watching: int


def answer(word: str, member: MonitoredMember) -> str:
    """Return the answer of a member to a word; empty for an unknown one."""
    if word == "ruok":
        return "imok"
    if word == "isro":
        return "rw"
    if word in ("srvr", "stat", "mntr", "cons", "dump", "wchs") and not member.members.serves(member.name):
        return NOT_SERVING
    match word:
        case "srvr":
            return _server(member)
        case "stat":
            clients = "".join(f" {line}\n" for line in _connections(member))
            head, _, rest = _server(member).partition("\n")
            return f"{head}\nClients:\n{clients}\n{rest}"
        case "mntr":
            return "".join(f"zk_{name}\t{value}\n" for name, value in _measurements(member).items())
        case "cons":
            return "".join(f" {line}\n" for line in _connections(member)) + "\n"
        case "conf":
            sessions, number = member.server.sessions, member.members.number(member.name)
            return (
                f"tickTime={sessions.tick_time_ms}\nminSessionTimeout={sessions.granted_timeout_ms(0)}\n"
                f"maxSessionTimeout={sessions.granted_timeout_ms(2**31 - 1)}\nserverId={number}\n"
            )
        case "envi":
            return f"Environment:\nzookeeper.version={VERSION_TEXT}\nhost.name=localhost\n"
        case "dump":
            owned = member.server.ephemerals()
            lines = "".join(f"{session_id:#018x}:\n" + "".join(f"\t{path}\n" for path in of) for session_id, of in owned)
            return f"SessionTracker dump:\nephemeral nodes dump:\nSessions with Ephemerals ({len(owned)}):\n{lines}"
        case "wchs":
            return f"{member.watching} connections watching\nTotal watches:{len(member.server.watches)}\n"
        case "crst":
            return "Connection stats reset.\n"
        case "srst":
            return "Server stats reset.\n"
    return ""


def mode(member: MonitoredMember) -> str:
    if not member.members.is_ensemble:
        return "standalone"
    return "leader" if member.members.leader == member.name else "follower"


def _server(member: MonitoredMember) -> str:
    connections = member.connections
    return (
        f"Zookeeper version: {VERSION_TEXT}\n"
        "Latency min/avg/max: 0/0.0/0\n"
        f"Received: {sum(c.received for c in connections)}\n"
        f"Sent: {sum(c.sent for c in connections)}\n"
        f"Connections: {len(connections)}\n"
        "Outstanding: 0\n"
        f"Zxid: {member.view.zxid:#x}\n"
        f"Mode: {mode(member)}\n"
        f"Node count: {len(member.view.tree)}\n"
    )


def _measurements(member: MonitoredMember) -> dict[str, str | int]:
    connections = member.connections
    return {
        "version": VERSION_TEXT,
        "server_state": mode(member),
        "num_alive_connections": len(connections),
        "packets_received": sum(c.received for c in connections),
        "packets_sent": sum(c.sent for c in connections),
        "outstanding_requests": 0,
        "znode_count": len(member.view.tree),
        "watch_count": len(member.server.watches),
        "ephemerals_count": sum(len(of) for _, of in member.server.ephemerals()),
        "global_sessions": len(member.server.sessions.ids()),
    }


def _connections(member: MonitoredMember) -> list[str]:
    lines = []
    for connection in member.connections:
        session = member.server.sessions.on(connection.number)
        number = f",sid={session.session_id:#x},to={session.timeout_ms}" if session else ""
        state = int(connection.is_open)
        head = f"/{connection.address}:{connection.port}[{state}]"
        lines.append(f"{head}(queued=0,recved={connection.received},sent={connection.sent}{number})")
    return lines
