"""Answers to the four-letter words that monitoring tools send, from the model's state.

Source: ZooKeeper 3.9 Administrator's Guide, "The Four Letter Words"; the forms as ZooKeeper 3.9.5 prints them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcsim.zk.model_server.service import ModelService

VERSION = "3.9.5"
VERSION_TEXT = f"{VERSION}-kcsim-model, built on 2026-01-01 00:00 UTC"
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"


def answer(word: str, service: "ModelService", member: str) -> str:
    """Return the answer of a member to a word; empty for an unknown one."""
    if word == "ruok":
        return "imok"
    if word == "isro":
        return "rw"
    if word in ("srvr", "stat", "mntr", "cons", "dump", "wchs") and not service.members.serves(member):
        return NOT_SERVING
    match word:
        case "srvr":
            return _server(service, member)
        case "stat":
            clients = "".join(f" {line}\n" for line in _connections(service, member))
            head, _, rest = _server(service, member).partition("\n")
            return f"{head}\nClients:\n{clients}\n{rest}"
        case "mntr":
            return "".join(f"zk_{name}\t{value}\n" for name, value in _measurements(service, member).items())
        case "cons":
            return "".join(f" {line}\n" for line in _connections(service, member)) + "\n"
        case "conf":
            sessions = service.server.sessions
            return (
                f"tickTime={sessions.tick_time_ms}\nminSessionTimeout={sessions.granted_timeout_ms(0)}\n"
                f"maxSessionTimeout={sessions.granted_timeout_ms(2**31 - 1)}\nserverId={service.members.number(member)}\n"
            )
        case "envi":
            return f"Environment:\nzookeeper.version={VERSION_TEXT}\nhost.name=localhost\n"
        case "dump":
            owned = service.server.ephemerals()
            lines = "".join(f"{session_id:#018x}:\n" + "".join(f"\t{path}\n" for path in of) for session_id, of in owned)
            return f"SessionTracker dump:\nephemeral nodes dump:\nSessions with Ephemerals ({len(owned)}):\n{lines}"
        case "wchs":
            return f"{len(service.connections)} connections watching\nTotal watches:{len(service.server.watches)}\n"
        case "crst":
            return "Connection stats reset.\n"
        case "srst":
            return "Server stats reset.\n"
    return ""


def mode(service: "ModelService", member: str) -> str:
    if not service.members.is_ensemble:
        return "standalone"
    return "leader" if service.members.leader == member else "follower"


def _server(service: "ModelService", member: str) -> str:
    connections, view = service.connections_of(member), service.view_at(member)
    return (
        f"Zookeeper version: {VERSION_TEXT}\n"
        "Latency min/avg/max: 0/0.0/0\n"
        f"Received: {sum(c.received for c in connections)}\n"
        f"Sent: {sum(c.sent for c in connections)}\n"
        f"Connections: {len(connections)}\n"
        "Outstanding: 0\n"
        f"Zxid: {view.zxid:#x}\n"
        f"Mode: {mode(service, member)}\n"
        f"Node count: {len(view.tree)}\n"
    )


def _measurements(service: "ModelService", member: str) -> dict[str, str | int]:
    connections = service.connections_of(member)
    return {
        "version": VERSION_TEXT,
        "server_state": mode(service, member),
        "num_alive_connections": len(connections),
        "packets_received": sum(c.received for c in connections),
        "packets_sent": sum(c.sent for c in connections),
        "outstanding_requests": 0,
        "znode_count": len(service.view_at(member).tree),
        "watch_count": len(service.server.watches),
        "ephemerals_count": sum(len(of) for _, of in service.server.ephemerals()),
        "global_sessions": len(service.server.sessions.ids()),
    }


def _connections(service: "ModelService", member: str) -> list[str]:
    lines = []
    for connection in service.connections_of(member):
        session = service.server.sessions.on(connection.number)
        number = f",sid={session.session_id:#x},to={session.timeout_ms}" if session else ""
        state = int(connection.is_open)
        head = f"/{connection.address}:{connection.port}[{state}]"
        lines.append(f"{head}(queued=0,recved={connection.received},sent={connection.sent}{number})")
    return lines
