"""Limits of control groups, of both versions, nested and in containers."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from kcsim.scenarios.analysis.tables.memory_limit import memory_limit

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
NO_LIMIT_V1 = 2**63 - 4096


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        pytest.param("0::/a/b", {}, MACHINE, id="no limit"),
        pytest.param("0::/a/b", {"a/b/memory.max": "max"}, MACHINE, id="version 2: no limit of its own"),
        pytest.param("0::/a/b", {"a/b/memory.max": "2000", "a/memory.max": "3000"}, 2000, id="version 2"),
        pytest.param("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "3000"}, 3000, id="version 2: of the group above"),
        pytest.param("0::/a/b", {"memory.max": "4000"}, 4000, id="version 2: in a container, mounted as the root"),
        pytest.param("4:memory:/a/b", {"memory/a/b/memory.limit_in_bytes": "2000"}, 2000, id="version 1"),
        pytest.param("4:cpu,memory:/a", {"memory/memory.limit_in_bytes": "5000"}, 5000, id="version 1: of the root"),
        pytest.param("4:memory:/a", {"memory/a/memory.limit_in_bytes": str(NO_LIMIT_V1)}, MACHINE, id="version 1: no limit"),
        pytest.param("3:cpu:/a", {"cpu/a/memory.limit_in_bytes": "2000"}, MACHINE, id="another controller's group"),
        pytest.param("4:memory:/a\n0::/b", {"b/memory.max": "7000"}, 7000, id="both versions"),
    ],
)
def test_the_smallest_limit_that_holds_counts(own: str, files: Mapping[str, str], limit: int, tmp_path: Path) -> None:
    mounted, groups = tmp_path / "mounted", tmp_path / "groups"
    groups.write_text(f"{own}\n", encoding="utf-8")
    for name, text in files.items():
        file = mounted / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    assert memory_limit(groups, mounted) == limit


def test_where_there_are_no_control_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path / "none", tmp_path) == MACHINE


def test_this_process_has_some_memory() -> None:
    assert 0 < memory_limit() <= MACHINE
