"""An external ZooKeeper, which this process did not start: its connect string and its status. It is read, never changed."""

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.operations import ChildrenRead, GetChildren
from kcsim.zk.ports import Session
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.errors import (
    BadConnectStringError,
    NoChrootError,
    NoSuchMemberError,
    NotOursError,
    NotServingError,
    UnreachableError,
)
from kcsim.zk.servers.four_letter_words import Mode, ask_server
from kcsim.zk.servers.managed import POLL_S
from kcsim.zk.servers.ports import UP, State

T = TypeVar("T")

DEFAULT_PORT = 2181
ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]/,]+)(?::(?P<port>\d+))?")


@dataclass(frozen=True, slots=True)
class Address:
    """An address at which a server listens. `host` is without the brackets of an IPv6 address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConnectString:
    """A parsed host:port,host:port/chroot. `chroot` is "" or begins with a slash and does not end with one."""

    addresses: tuple[Address, ...]
    chroot: str = ""

    def __str__(self) -> str:
        return ",".join(map(str, self.addresses)) + self.chroot


def parse_connect_string(text: str) -> ConnectString:
    """Parse a connect string; a missing port is 2181, a chroot of / means no chroot. Raises: BadConnectStringError."""
    hosts, slash, rest = text.strip().partition("/")
    if not hosts:
        raise BadConnectStringError(text, "it names no host")
    return ConnectString(
        tuple(_parse_address(text, part.strip()) for part in hosts.split(",")), _parse_chroot(text, slash + rest)
    )


def _parse_address(text: str, part: str) -> Address:
    matched = ADDRESS.fullmatch(part)
    if matched is None:
        raise BadConnectStringError(text, f"{part!r} is no host:port" if part else "an address is empty")
    port = int(matched["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise BadConnectStringError(text, f"port {port} is not between 1 and 65535")
    return Address(matched["host"].strip("[]"), port)


def _parse_chroot(text: str, chroot: str) -> str:
    if chroot in ("", "/"):
        return ""
    for component in chroot[1:].split("/"):
        if component in ("", ".", ".."):
            raise BadConnectStringError(text, f"the chroot {chroot} has a component {component!r}")
        if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in component) or "," in component:
            raise BadConnectStringError(text, f"the chroot {chroot} has a character that no path should have")
    return chroot


async def children_of(session: Session, path: str) -> Sequence[str] | None:
    """Return the names of a znode's children; None if the znode does not exist. Raises: ZooKeeperError."""
    (reply,) = await session.call([GetChildren(path)])
    if isinstance(reply, NoNodeError):
        return None
    if isinstance(reply, ZooKeeperError):
        raise reply
    assert isinstance(reply, ChildrenRead)
    return reply.children


async def require_chroot(chroot: str, session: Session) -> None:
    """Check that a chroot exists.

    Args:
        session: without a chroot.

    Raises: NoChrootError, which names the first missing znode and the nearest sibling; ZooKeeperError.
    """
    if not chroot or await children_of(session, chroot) is not None:
        return
    parent, siblings = "", list(await children_of(session, "/") or ())
    for component in chroot[1:].split("/"):
        path = f"{parent}/{component}"
        found = await children_of(session, path)
        if found is None:
            raise NoChrootError(chroot, path, siblings)
        parent, siblings = path, list(found)


class ExternalZooKeeper:
    """An external ZooKeeper behind the port ZooKeeperServers: operations that would change it raise NotOursError.

    The members are named by their addresses.
    """

    def __init__(
        self,
        connect_string: str,
        timeout_s: float = 5.0,
        security: ClientSecurity = ClientSecurity(),  # noqa: B008 -- frozen
    ) -> None:
        """Parse the connect string; no server is contacted yet. Raises: BadConnectStringError, SecurityError.

        Args:
            timeout_s: how long one address may take to accept a connection.
            security: SASL and TLS of its clients.
        """
        self._where = parse_connect_string(connect_string)
        self._timeout_s = timeout_s
        self._security = security
        self._tls = None if security.tls is None else security.tls.context()

    @property
    def connect_string(self) -> str:
        return str(self._where)

    @property
    def security(self) -> ClientSecurity:
        return self._security

    @property
    def chroot(self) -> str:
        return self._where.chroot

    @property
    def member_names(self) -> tuple[str, ...]:
        return tuple(map(str, self._where.addresses))

    async def start(self) -> None:
        """Check that at least one address accepts connections; nothing is started. Raises: UnreachableError."""
        refusals = await asyncio.gather(*(self._refusal(address) for address in self._where.addresses))
        if all(refusals):
            raise UnreachableError(self.connect_string, [f"{a}: {why}" for a, why in self._by_name(refusals).items()])

    async def stop(self) -> None:
        """Do nothing: this process did not start the servers."""

    async def kill(self, name: str, cause: int | None = None) -> None:
        self._refuse("kill")

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        self._refuse("start")

    async def pause(self, name: str, cause: int | None = None) -> None:
        self._refuse("pause")

    async def resume(self, name: str, cause: int | None = None) -> None:
        self._refuse("resume")

    async def restart(self, name: str, cause: int | None = None) -> None:
        self._refuse("restart")

    async def leader_name(self) -> str | None:
        """Return the member that reports to be leader or standalone; None if there is none, or `srvr` is not allowed."""
        modes = await asyncio.gather(*(asyncio.to_thread(self._srvr, address) for address in self._where.addresses))
        leading = [name for name, (mode, _) in self._by_name(modes).items() if mode in (Mode.LEADER, Mode.STANDALONE)]
        return leading[0] if leading else None

    async def wait_for_leader(self, other_than: str | None = None, timeout_s: float = 60.0) -> str:
        until = asyncio.get_running_loop().time() + timeout_s
        while (leader := await self.leader_name()) in (None, other_than):
            if asyncio.get_running_loop().time() > until:
                raise NotServingError(f"a leader of {self.connect_string}", timeout_s, f"leader {leader or 'none'}")
            await asyncio.sleep(POLL_S)
        assert leader is not None
        return leader

    async def states(self) -> Mapping[str, State]:
        """Return UP for members that accept connections, and the reason for the others: more cannot be known from here."""
        refusals = await asyncio.gather(*(self._refusal(address) for address in self._where.addresses))
        return {name: refusal or UP for name, refusal in self._by_name(refusals).items()}

    async def version(self) -> str:
        answers = await asyncio.gather(*(asyncio.to_thread(self._srvr, address) for address in self._where.addresses))
        for _, version in answers:
            if version:
                return version
        raise NotServingError(f"the version of {self.connect_string}", self._timeout_s, "no member answers srvr")

    def log_path(self, name: str) -> Path | None:
        self._check_name(name)
        return None

    def transaction_log_dir(self, name: str) -> Path | None:
        self._check_name(name)
        return None

    def _by_name(self, values: Sequence[T]) -> dict[str, T]:
        return dict(zip(self.member_names, values, strict=True))

    def _refuse(self, verb: str) -> NoReturn:
        raise NotOursError(verb, self.connect_string)

    def _check_name(self, name: str) -> None:
        if name not in self.member_names:
            raise NoSuchMemberError(name, self.member_names)

    def _srvr(self, address: Address) -> tuple[Mode | None, str | None]:
        try:
            answer = ask_server(address.host, address.port, self._timeout_s, self._tls)
        except OSError:
            return None, None
        return answer.mode, answer.version

    async def _refusal(self, address: Address) -> str | None:
        """Return why this address accepts no connection; None if it accepts one."""
        opening = asyncio.open_connection(address.host, address.port, ssl=self._tls)
        try:
            _, writer = await asyncio.wait_for(opening, self._timeout_s)
        except TimeoutError:
            return f"no answer in {self._timeout_s:g} s"
        except ssl.SSLError as error:
            return f"TLS: {error.reason or error}"
        except OSError as error:
            return error.strerror or str(error)
        writer.close()
        return None
