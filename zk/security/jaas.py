"""Files of the Java Authentication and Authorization Service, as ZooKeeper and Kafka use them.

Format: the Javadoc of javax.security.auth.login.Configuration. A file has sections, each with login modules:

    Client {
        org.apache.zookeeper.server.auth.DigestLoginModule required
        username="kafka"
        password="secret";
    };
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcsim.zk.security.errors import SecurityError

DIGEST_LOGIN_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
TOKEN = re.compile(
    r"""(?: \s+ | //[^\n]* | \#[^\n]* | /\*.*?\*/ )*        # spaces and comments
        ( "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [{};=] | [^\s{};="'/\#]+ | \S )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module of a section: the class, and its options by name."""

    name: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> dict[str, list[LoginModule]]:
    """Return the login modules of each section. Raises: SecurityError, which names the line."""
    tokens = _Tokens(text)
    sections: dict[str, list[LoginModule]] = {}
    while (name := tokens.next_or_none()) is not None:
        tokens.expect("{")
        modules = []
        while (word := tokens.next()) != "}":
            modules.append(_login_module(word, tokens))
        tokens.expect(";")
        sections[name] = modules
    return sections


def _login_module(name: str, tokens: "_Tokens") -> LoginModule:
    flag = tokens.next()
    if flag.lower() not in FLAGS:
        raise tokens.error(f"{flag!r} is none of {', '.join(sorted(FLAGS))}")
    options = {}
    while (word := tokens.next()) != ";":
        tokens.expect("=")
        options[word] = tokens.next()
    return LoginModule(name, options)


def server_section(users: Mapping[str, str]) -> str:
    """Return the text of a ZooKeeper server's JAAS file, for users by name and password."""
    entries = "".join(f"\n    user_{name}={_quoted(password)}" for name, password in users.items())
    return f"Server {{\n    {DIGEST_LOGIN_MODULE} required{entries};\n}};\n"


def client_section(username: str, password: str) -> str:
    """Return the text of a ZooKeeper client's JAAS file."""
    entries = f"\n    username={_quoted(username)}\n    password={_quoted(password)}"
    return f"Client {{\n    {DIGEST_LOGIN_MODULE} required{entries};\n}};\n"


def users_of_server(text: str) -> dict[str, str]:
    """Return the users of the section Server, by name and password. Raises: SecurityError."""
    modules = parse_jaas(text).get("Server", [])
    users = {
        option.removeprefix("user_"): password
        for module in modules
        if module.name == DIGEST_LOGIN_MODULE
        for option, password in module.options.items()
        if option.startswith("user_")
    }
    if not users:
        raise SecurityError(f'no section Server with a {DIGEST_LOGIN_MODULE} that has users (user_NAME="PASSWORD")')
    return users


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Tokens:
    def __init__(self, text: str) -> None:
        self._tokens = _tokenized(text)
        self._line = 1

    def next_or_none(self) -> str | None:
        self._line, token = next(self._tokens, (self._line, None))
        return token

    def next(self) -> str:
        token = self.next_or_none()
        if token is None:
            raise self.error("the file ends within a section")
        return token

    def expect(self, wanted: str) -> None:
        token = self.next()
        if token != wanted:
            raise self.error(f"{wanted!r} expected, {token!r} found")

    def error(self, problem: str) -> SecurityError:
        return SecurityError(f"line {self._line}: {problem}")


def _tokenized(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, token); a token in quotation marks without them, and with its escapes resolved."""
    for found in TOKEN.finditer(text):
        token = found[1]
        line = text.count("\n", 0, found.start(1)) + 1
        yield line, re.sub(r"\\(.)", r"\1", token[1:-1]) if token[0] in "\"'" and len(token) > 1 else token
