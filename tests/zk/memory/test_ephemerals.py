"""The order in which the ephemerals of a session go, as recorded from ZooKeeper 3.9.5."""

from kcsim.zk.memory.ephemerals import Ephemerals, JavaHashSet
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange
from kcsim.zk.vocabulary import SessionId, ZkVersion, Zxid

OWNER, OTHER = SessionId(1), SessionId(2)


def change(kind: ChangeKind, path: str, owner: SessionId = OWNER) -> ZnodeChange:
    return ZnodeChange(kind, path, None, ZkVersion(0), owner, Zxid(1), owner)


def test_the_order_is_that_of_a_recording() -> None:
    """Created in the order on top, deleted by the server in the order below, at expiry and at close alike."""
    paths = JavaHashSet()
    for name in ("z", "a", "m", "3", "1", "2", "10", "11", "b", "c"):
        paths.add(f"/w/e{name}")
    order = ["/w/ez", "/w/em", "/w/e3", "/w/ec", "/w/e2", "/w/e11", "/w/eb", "/w/e10", "/w/ea", "/w/e1"]
    assert list(paths.clone_order()) == order


def test_a_set_that_was_larger_once_keeps_its_table() -> None:
    """Both hold a and q, which share a slot of a clone with four slots; a table of 64 has them the other way round."""
    grown, small = JavaHashSet(), JavaHashSet()
    for path in ("q", "a"):
        grown.add(path)
        small.add(path)
    for n in range(40):
        grown.add(f"{n}")
    for n in range(40):
        grown.remove(f"{n}")
    assert small.clone_order() == ("q", "a")
    assert grown.clone_order() == ("a", "q")


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
