"""What a test needs from the machine: missing, it skips with the reason, or fails where KCSIM_REQUIRE insists on it.

KCSIM_REQUIRE=chromium,docker,java,kafka is for machines that are known to have them: a skip would hide that something broke.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.zk.servers.container import DEFAULT_IMAGE, IMAGE_VARIABLE, connect, require_image
from kcsim.zk.servers.embedded import zookeeper_jars
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.servers.java import find_java
from tests.chromium import NoBrowserError, find_chromium

VARIABLE = "KCSIM_REQUIRE"


def look_for_java() -> None:
    find_java()
    zookeeper_jars()


def look_for_docker() -> None:
    engine = connect()
    try:
        require_image(engine, os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE)
    finally:
        engine.close()


def look_for_kafka() -> None:
    find_kafka(None)


def look_for_chromium() -> None:
    find_chromium()


LOOKS: Mapping[str, Callable[[], None]] = {
    "chromium": look_for_chromium,
    "docker": look_for_docker,
    "java": look_for_java,
    "kafka": look_for_kafka,
}


@cache
def problem_with(need: str) -> str | None:
    """Say what is missing, in one line; None if nothing is. Looked for once."""
    try:
        LOOKS[need]()
    except (ServerError, NoBrowserError) as error:
        return str(error)
    return None


def require(*needs: str) -> None:
    """Go on if the machine has all of these, which LOOKS names; else skip the test, or fail it if KCSIM_REQUIRE names it."""
    insisted = demanded(os.environ.get(VARIABLE, ""))
    for need in needs:
        problem = problem_with(need)
        if problem is not None and need in insisted:
            pytest.fail(f"{VARIABLE} names {need}: {problem}", pytrace=False)
        if problem is not None:
            pytest.skip(problem)


def demanded(text: str) -> frozenset[str]:
    """Take KCSIM_REQUIRE apart. A word that means nothing is an error, not a demand that nobody hears."""
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    if unknown := sorted(words - LOOKS.keys()):
        pytest.fail(f"{VARIABLE} names {', '.join(unknown)}; known are {', '.join(sorted(LOOKS))}", pytrace=False)
    return words
