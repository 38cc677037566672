"""How a client proves to a ZooKeeper who it is, and encrypts its connection: SASL and TLS.

The settings are read from the files that Kafka's own tools take: a JAAS file, and the file of --zk-tls-config-file.
"""

from kcsim.zk.security.client_security import ClientSecurity
from kcsim.zk.security.errors import SecurityError
from kcsim.zk.security.tls import Tls

__all__ = ["ClientSecurity", "SecurityError", "Tls"]
