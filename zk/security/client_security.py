"""All that a client needs to be accepted by a secured ZooKeeper."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from kcsim.extras import install_command
from kcsim.zk.security.errors import SecurityError
from kcsim.zk.security.jaas import DIGEST_LOGIN_MODULE, LoginModule, parse_jaas
from kcsim.zk.security.tls import Tls, tls_of_properties

JAAS_VARIABLE = "KCSIM_ZOOKEEPER_JAAS"
TLS_VARIABLE = "KCSIM_ZOOKEEPER_TLS"
CLIENT_SECTION = "Client"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """SASL and TLS of a client; without arguments neither.

    Attributes:
        sasl: kazoo's `sasl_options`, such as {"mechanism": "DIGEST-MD5", "username": …, "password": …}. SASL needs the extra
            `sasl`. A server that rejects them ends the session before it begins.
        tls: None: the connection is not encrypted.
    """

    sasl: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    tls: Tls | None = None

    def __post_init__(self) -> None:
        if self.sasl and find_spec("puresasl") is None:
            raise SecurityError(f"SASL needs a package that is not installed: {install_command('sasl')}")

    @classmethod
    def digest(cls, username: str, password: str, tls: Tls | None = None) -> "ClientSecurity":
        """Authenticate with SASL's DIGEST-MD5, ZooKeeper's mechanism for names and passwords."""
        return cls(MappingProxyType({"mechanism": "DIGEST-MD5", "username": username, "password": password}), tls)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ClientSecurity":
        """Read the files that KCSIM_ZOOKEEPER_JAAS and KCSIM_ZOOKEEPER_TLS name, if they are set. Raises: SecurityError."""
        sasl = _read(environment, JAAS_VARIABLE, _sasl_of_jaas)
        tls = _read(environment, TLS_VARIABLE, tls_of_properties)
        if tls is not None:
            tls.context()  # reads the stores
        return cls(MappingProxyType(sasl or {}), tls)


def _read(environment: Mapping[str, str], variable: str, parse: Callable[[str], T]) -> T | None:
    name = environment.get(variable)
    if not name:
        return None
    try:
        return parse(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SecurityError) as error:
        raise SecurityError(f"{variable}: {name}: {getattr(error, 'strerror', None) or error}") from error


def _sasl_of_jaas(text: str) -> dict[str, str]:
    modules: list[LoginModule] = parse_jaas(text).get(CLIENT_SECTION, [])
    if not modules:
        raise SecurityError(f"no section {CLIENT_SECTION} with a login module")
    module = modules[0]
    if module.name != DIGEST_LOGIN_MODULE:
        raise SecurityError(f"{module.name} is not supported; {DIGEST_LOGIN_MODULE} is")
    try:
        return {"mechanism": "DIGEST-MD5", "username": module.options["username"], "password": module.options["password"]}
    except KeyError as missing:
        raise SecurityError(f"the section {CLIENT_SECTION} has no {missing.args[0]}") from None
