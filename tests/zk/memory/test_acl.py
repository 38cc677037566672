"""Access control of the model: what an ACL grants, and how the server stores it."""

import pytest

from kcsim.zk.errors import InvalidAclError
from kcsim.zk.memory.acl import ADMIN, READ, WRITE, allows, digest_identity, resolved, user_name, without_secrets
from kcsim.zk.operations import OPEN_ACL, Acl

ME = digest_identity(b"me:secret")
HERE = ("ip", "127.0.0.1")
READABLE = Acl(READ, "world", "anyone")


def test_the_digest_is_zookeeper_s() -> None:
    """The value is the one of ZooKeeper's documentation of superDigest for `super:test`."""
    assert digest_identity(b"super:test") == ("digest", "super:D/InIHSb7yEEbrWz8b9l71RjZJU=")
    assert user_name(ME) == "me"
    assert user_name(HERE) == "127.0.0.1"


@pytest.mark.parametrize(
    ("acl", "permission", "is_allowed"),
    [
        (OPEN_ACL, ADMIN, True),
        ((READABLE,), READ, True),
        ((READABLE,), WRITE, False),
        ((READABLE,), READ | ADMIN, True),
        ((Acl(WRITE, *ME),), WRITE, True),
        ((Acl(WRITE, "digest", "me:other"),), WRITE, False),
        ((Acl(WRITE, "ip", "127.0.0.0/8"),), WRITE, True),
        ((Acl(WRITE, "ip", "10.0.0.1"),), WRITE, False),
        ((), READ, False),
    ],
)
def test_a_permission_is_granted_to_identities(acl: tuple[Acl, ...], permission: int, is_allowed: bool) -> None:
    assert allows(acl, permission, {ME, HERE}) is is_allowed


def test_the_simulator_s_own_clients_are_not_checked() -> None:
    assert allows((), READ, None)


def test_auth_stands_for_the_client_s_own_identities_but_its_address() -> None:
    assert resolved((Acl(READ, "auth", ""),), "/", {ME, HERE}) == (Acl(READ, *ME),)
    with pytest.raises(InvalidAclError):
        resolved((Acl(READ, "auth", ""),), "/", {HERE})


def test_duplicates_are_stored_once_and_the_open_acl_as_itself() -> None:
    assert resolved((READABLE, READABLE), "/", None) == (READABLE,)
    assert resolved((Acl(31, "world", "anyone"),), "/", None) is OPEN_ACL


@pytest.mark.parametrize("entry", [Acl(1, "world", "me"), Acl(1, "digest", "x"), Acl(1, "ip", "x"), Acl(1, "y", "x")])
def test_an_acl_that_means_nobody_is_refused(entry: Acl) -> None:
    for acl in ((), (entry,), (READABLE, entry)):
        with pytest.raises(InvalidAclError):
            resolved(acl, "/", {ME})


def test_hashes_are_masked_for_who_may_not_administrate() -> None:
    acl = (Acl(31, *ME), READABLE)
    assert without_secrets(acl, {ME}) == acl
    assert without_secrets(acl, {HERE}) == (Acl(31, "digest", "me:x"), READABLE)
