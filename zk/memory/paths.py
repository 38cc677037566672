"""The paths that ZooKeeper accepts.

Reads look up a path without checking it: an illegal path is simply absent. Only writes check a path's form.

Source: ZooKeeper 3.9.5 as observed; Programmer's Guide, "ZooKeeper Data Model" (the characters that are not allowed).
"""

import re

ROOT = "/"
CONFIG = "/zookeeper/config"
RESERVED = ("/zookeeper", CONFIG, "/zookeeper/quota")
"""Paths that exist from the start and cannot be deleted."""

# To the server, a character outside the Basic Multilingual Plane is two surrogates, which are not allowed either.
_ILLEGAL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
_ILLEGAL_STEP = re.compile(r"/(\.{0,2})(/|$)")  # empty, "." or ".."


def parent_of(path: str) -> str:
    """Return the path of the parent; the parent of the root is the root."""
    return path[: path.rfind("/")] or ROOT


def name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def is_legal(path: str) -> bool:
    """Return whether a znode with this path could exist."""
    if path == ROOT:
        return True
    return path.startswith("/") and not _ILLEGAL_CHARACTER.search(path) and not _ILLEGAL_STEP.search(path)
