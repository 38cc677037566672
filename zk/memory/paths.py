"""Which paths ZooKeeper takes.

Reads look a path up as it is: an illegal one is merely absent. Only what writes looks at its form.

Source: ZooKeeper 3.9.5 as observed; Programmer's Guide, "ZooKeeper Data Model" (the characters that are not allowed).
"""

import re

ROOT = "/"
CONFIG = "/zookeeper/config"
RESERVED = ("/zookeeper", CONFIG, "/zookeeper/quota")
"""There from the start, and not to be deleted."""

# Outside the basic plane a character is two surrogates to the server, and those are not allowed either.
_ILLEGAL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
_ILLEGAL_STEP = re.compile(r"/(\.{0,2})(/|$)")  # empty, "." or ".."


def parent_of(path: str) -> str:
    """Return the path one level up; the root's own is the root."""
    return path[: path.rfind("/")] or ROOT


def name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def is_legal(path: str) -> bool:
    """Say whether a znode of this path could exist."""
    if path == ROOT:
        return True
    return path.startswith("/") and not _ILLEGAL_CHARACTER.search(path) and not _ILLEGAL_STEP.search(path)
