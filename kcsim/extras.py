"""The extras of this distribution: packages that only some commands need, and that `pip install` therefore leaves out."""

import re

from kcsim.versions import DISTRIBUTION


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def extra_with(package: str) -> str | None:
    """Return the smallest extra that asks for a package; None if none does, or nothing is known of the distribution."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return None
    extras: dict[str, set[str]] = {}
    for requirement in wanted:
        if found := re.match(r"""([\w.-]+).*; *extra *== *['"]([\w-]+)['"]""", requirement):
            extras.setdefault(found[2], set()).add(found[1])
    return min(
        (name for name, packages in extras.items() if package in packages), key=lambda name: len(extras[name]), default=None
    )
