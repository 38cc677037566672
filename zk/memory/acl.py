"""Access control: which identities may do what with a znode.

An identity is a scheme and an id, such as ("digest", "user:hash") or ("ip", "127.0.0.1"). A connection has that of its
address, and those that its client has added.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper access control using ACLs".
"""

from base64 import b64encode
from collections.abc import Collection, Sequence
from hashlib import sha1
from ipaddress import ip_address, ip_network

from kcsim.zk.errors import InvalidAclError
from kcsim.zk.operations import OPEN_ACL, Acl

READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16

Identity = tuple[str, str]
Identities = Collection[Identity] | None
"""None: a client whose requests are not checked, as one of the simulator's own."""


def digest_identity(user_and_password: bytes) -> Identity:
    """Return the identity of `user:password` under the scheme digest."""
    user = user_and_password.partition(b":")[0]
    return "digest", f"{user.decode()}:{b64encode(sha1(user_and_password).digest()).decode()}"


def user_name(identity: Identity) -> str:
    """Return the name that identifies the user: the id, or for a digest the part before the hash."""
    scheme, id_ = identity
    return id_.partition(":")[0] if scheme == "digest" else id_


def allows(acl: Sequence[Acl], permission: int, identities: Identities) -> bool:
    """Return whether one of these identities has a permission (or one of several, given as their sum)."""
    if acl is OPEN_ACL or identities is None:
        return True
    granting = [entry for entry in acl if entry.perms & permission]
    return any(entry.scheme == "world" or any(_matches(entry, of) for of in identities) for entry in granting)


def _matches(entry: Acl, identity: Identity) -> bool:
    scheme, id_ = identity
    if entry.scheme != scheme:
        return False
    if scheme == "ip":
        return ip_address(id_) in ip_network(entry.id, strict=False)
    return entry.id == id_


def resolved(acl: Sequence[Acl], path: str, identities: Identities) -> tuple[Acl, ...]:
    """Return an ACL as the server stores it: without duplicates, the scheme auth replaced by the client's own identities.

    Raises: InvalidAclError.
    """
    if acl is OPEN_ACL:
        return OPEN_ACL
    entries: dict[Acl, None] = {}
    for entry in acl:
        if entry.scheme == "auth":
            own = [identity for identity in identities or () if identity[0] != "ip"]
            if not own:
                raise InvalidAclError(path)
            entries.update(dict.fromkeys(Acl(entry.perms, *identity) for identity in own))
        elif _is_valid(entry):
            entries[entry] = None
        else:
            raise InvalidAclError(path)
    if not entries:
        raise InvalidAclError(path)
    return OPEN_ACL if tuple(entries) == OPEN_ACL else tuple(entries)


def _is_valid(entry: Acl) -> bool:
    match entry.scheme:
        case "world":
            return entry.id == "anyone"
        case "digest":
            return len(entry.id.split(":")) == 2
        case "ip":
            try:
                ip_network(entry.id, strict=False)
            except ValueError:
                return False
            return True
    return False


def without_secrets(acl: Sequence[Acl], identities: Identities) -> tuple[Acl, ...]:
    """Return an ACL as a client sees it that may read, but not administrate: the hashes of digests are masked."""
    if allows(acl, ADMIN, identities):
        return tuple(acl)
    return tuple(e._replace(id=f"{e.id.partition(':')[0]}:x") if e.scheme == "digest" else e for e in acl)
