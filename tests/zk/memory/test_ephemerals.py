"""The order in which the ephemerals of a session are deleted, as recorded from ZooKeeper 3.9.5."""

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.memory.ephemerals import Ephemerals
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange

OWNER, OTHER = SessionId(1), SessionId(2)


def change(kind: ChangeKind, path: str, owner: SessionId = OWNER) -> ZnodeChange:
    return ZnodeChange(kind, path, None, ZkVersion(0), owner, Zxid(1), owner)


def test_the_order_is_that_of_a_recording() -> None:
    """They are created in the first order, and deleted by the server in the second, at expiry and at close alike."""
    ephemerals = Ephemerals()
    ephemerals.note(
        change(ChangeKind.CREATED, f"/w/e{name}") for name in ("z", "a", "m", "3", "1", "2", "10", "11", "b", "c")
    )
    order = ("/w/ez", "/w/em", "/w/e3", "/w/ec", "/w/e2", "/w/e11", "/w/eb", "/w/e10", "/w/ea", "/w/e1")
    assert ephemerals.of(OWNER) == order


def test_each_owner_has_its_own_and_persistent_znodes_have_none() -> None:
    ephemerals = Ephemerals()
    created = [("/a", OWNER), ("/b", OTHER), ("/p", SessionId(0)), ("/c", OWNER)]
    ephemerals.note(change(ChangeKind.CREATED, path, owner) for path, owner in created)
    ephemerals.note([change(ChangeKind.DELETED, "/c")])
    assert (ephemerals.of(OWNER), ephemerals.of(OTHER), ephemerals.of(SessionId(0))) == (("/a",), ("/b",), ())


def test_a_session_that_is_forgotten_has_none() -> None:
    ephemerals = Ephemerals()
    ephemerals.note([change(ChangeKind.CREATED, "/a")])
    ephemerals.forget(OWNER)
    assert ephemerals.of(OWNER) == ()
