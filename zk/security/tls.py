"""TLS of a connection to ZooKeeper.

Source: Kafka's documentation, --zk-tls-config-file of zookeeper-security-migration.sh; ZooKeeper 3.9 Administrator's Guide,
"Encryption, Authentication, Authorization Options" (types of stores, by their names' endings).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.zk.security.errors import SecurityError

if TYPE_CHECKING:
    import ssl

PREFIX = "zookeeper."
ENABLED = "ssl.client.enable"
KEY_STORE, TRUST_STORE = "ssl.keystore", "ssl.truststore"
CHECKS_HOST_NAME = ("ssl.hostnameVerification", "ssl.endpoint.identification.algorithm")
"""ZooKeeper's name of the setting (true or false), and Kafka's (HTTPS, or empty for no check)."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How a client encrypts its connection.

    Attributes:
        ca: a file of certificates (PEM) that sign the servers'; None: the system's.
        certificate, key: files of the client's own certificate and key (PEM), or one file with both.
        checks_host_name: whether a server's certificate must name the host that the client connects to.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: str | None = None
    checks_host_name: bool = True

    def context(self) -> "ssl.SSLContext":
        """Return a context for connections. Raises: SecurityError when a file cannot be read."""
        import ssl  # loads OpenSSL, which most commands do without

        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        context.check_hostname = self.checks_host_name
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key, lambda: self.key_password or "")
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(file) for file in (self.ca, self.certificate, self.key) if file is not None)
            raise SecurityError(f"{files}: {error.strerror or error}") from error
        return context


def tls_of_properties(text: str) -> Tls:
    """Return the TLS settings of a file as Kafka's --zk-tls-config-file. Raises: SecurityError.

    Other properties than those of stores and of host names are ignored.
    """
    properties = _properties(text)
    if properties.get(ENABLED, "").lower() != "true":
        raise SecurityError(f"{PREFIX}{ENABLED} is not true")
    own = _pem(properties, KEY_STORE)
    password = properties.get(f"{KEY_STORE}.password") or None
    return Tls(_pem(properties, TRUST_STORE), own, own, password, _checks_host_name(properties))


def _properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith(("#", "!")):
            found[name.strip().removeprefix(PREFIX)] = value.strip()
    return found


def _checks_host_name(properties: Mapping[str, str]) -> bool:
    of_zookeeper, of_kafka = (properties.get(name) for name in CHECKS_HOST_NAME)
    return (of_zookeeper or "true").lower() == "true" and of_kafka != ""


def _pem(properties: Mapping[str, str], store: str) -> Path | None:
    location = properties.get(f"{store}.location")
    if not location:
        return None
    path = Path(location)
    kind = properties.get(f"{store}.type") or path.suffix.removeprefix(".") or "JKS"
    if kind.upper() != "PEM":
        p12 = path if kind.upper() in ("PKCS12", "P12", "PFX") else path.with_suffix(".p12")
        commands = [f"openssl pkcs12 -in {p12} -out {path.with_suffix('.pem')} -nodes"]
        if p12 != path:
            commands.insert(0, f"keytool -importkeystore -srckeystore {path} -destkeystore {p12} -deststoretype PKCS12")
        raise SecurityError(
            f"{PREFIX}{store}.location: {path} is of type {kind}; only PEM can be read. Convert it: {'; '.join(commands)}"
        )
    if not path.is_file():
        raise SecurityError(f"{PREFIX}{store}.location: there is no file {path}")
    return path
