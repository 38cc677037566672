"""How much memory this process may use: the machine's, or less in a container.

A control group's limit holds for everything below it, so that of each group up to the root counts. Source: Linux,
Documentation/admin-guide/cgroup-v2.rst (memory.max) and cgroup-v1/memory.rst (memory.limit_in_bytes).
"""

import os
from collections.abc import Iterator
from pathlib import Path

OWN_GROUPS = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")


def memory_limit(own_groups: Path = OWN_GROUPS, mounted: Path = MOUNTED) -> int:
    """Return the bytes of memory that this process may use.

    Args:
        own_groups: the control groups of this process, a line each: `hierarchy:controllers:path`.
        mounted: where the hierarchies are mounted.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(own_groups, mounted)])


def _limits(own_groups: Path, mounted: Path) -> Iterator[int]:
    try:
        groups = own_groups.read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        return
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if controllers == "":
            yield from _limits_up_from(mounted, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_up_from(mounted / "memory", path, "memory.limit_in_bytes")


def _limits_up_from(root: Path, path: str, name: str) -> Iterator[int]:
    """Yield the limits of a group and of those above it; in a container, the group itself may be mounted as the root."""
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(root):
            return
        try:
            text = (folder / name).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if text.isdecimal():  # else it is `max`: no limit
            yield int(text)
