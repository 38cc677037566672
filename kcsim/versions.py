"""The versions of this program and of the Python that runs it."""

from functools import cache
from platform import python_version

DISTRIBUTION = "kafka-controller-sim"


@cache  # the distribution's files are read for it, and every run records it
def own_version() -> str:
    """Return the version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "not installed as a distribution"


def versions() -> dict[str, str]:
    """Return the versions of the software that a run consists of, by name."""
    return {"kcsim": own_version(), "python": python_version()}
