"""A certificate authority, and stores of keys and certificates for a server on 127.0.0.1 and for a client."""

from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key


class Stores(NamedTuple):
    """PEM files: the authority's certificate; key and certificates of a server, and of a client."""

    authority: Path
    server: Path
    client: Path

    def server_entries(self, port: int, *, asks_clients: bool) -> dict[str, str]:
        """Return the entries of zoo.cfg for a TLS port."""
        return {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": str(port),
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": str(self.server),
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": str(self.authority),
            "ssl.trustStore.type": "PEM",
            "ssl.clientAuth": "need" if asks_clients else "none",
        }


def made_stores(directory: Path) -> Stores:
    authority = trustme.CA()
    stores = Stores(directory / "authority.pem", directory / "server.pem", directory / "client.pem")
    authority.cert_pem.write_to_path(stores.authority)
    _write_store(stores.server, authority.issue_cert("127.0.0.1"))
    _write_store(stores.client, authority.issue_cert("somebody"))
    return stores


def _write_store(path: Path, issued: trustme.LeafCert) -> None:
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    # ZooKeeper reads keys in PKCS #8 only.
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for certificate in issued.cert_chain_pems:
        certificate.write_to_path(path, append=True)
