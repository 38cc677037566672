"""An image for the brokers of docker-compose.yml, made without a registry of images.

The Dockerfile takes Python from the official image. This takes it from this machine, with the libraries that it is linked
with; the project is installed as by the Dockerfile, by pip with what it depends on.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
COPIED = ("brokers", "controller", "kcsim", "scenarios", "zk", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
"""What .dockerignore lets the Dockerfile copy."""
LINKED = re.compile(r"(?<==> )/\S+")
"""A library in the output of ldd."""
LOADER = Path("/lib64/ld-linux-x86-64.so.2")
NOT_COPIED = ("site-packages", "test", "__pycache__", "idlelib", "ensurepip", "*.a")
ENTRY = """#!/bin/sh
exec /opt/python/bin/python3 -c "from kcsim.scenarios.cli.main import main; main()" "$@"
"""
CHANGES = (
    'ENTRYPOINT ["kcsim"]',
    "ENV LD_LIBRARY_PATH=/opt/libraries PATH=/usr/bin:/bin PYTHONHOME=/opt/python HOME=/tmp",
)


def make_image(name: str) -> None:
    """Make the image, or make it anew. Needs busybox, whose shell starts kcsim. Raises: CalledProcessError, OSError."""
    with TemporaryDirectory() as directory:
        root = Path(directory) / "root"
        for folder in ("bin", "usr/bin", "etc", "lib64", "opt/libraries", "opt/python/bin", "opt/python/lib"):
            (root / folder).mkdir(parents=True)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        _install_shell(root)
        _install_python(root, Path(directory) / "source")
        (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\nkcsim:x:1000:1000::/tmp:/bin/sh\n")
        (root / "usr/bin/kcsim").write_text(ENTRY)
        (root / "usr/bin/kcsim").chmod(0o755)
        archive = Path(directory) / "root.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(root, ".")
        changes = [word for change in CHANGES for word in ("--change", change)]
        subprocess.run(["docker", "import", *changes, str(archive), name], check=True, stdout=subprocess.DEVNULL)


def _install_shell(root: Path) -> None:
    busybox = shutil.which("busybox")
    assert busybox is not None, "busybox-static is needed"
    shutil.copy(busybox, root / "bin/busybox")
    for tool in ("sh", "ls", "cat"):
        (root / "bin" / tool).symlink_to("busybox")


def _install_python(root: Path, source: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = Path(sys.executable).resolve()
    shutil.copy(executable, root / "opt/python/bin/python3")
    library = root / "opt/python/lib" / version
    shutil.copytree(Path(os.__file__).parent, library, ignore=shutil.ignore_patterns(*NOT_COPIED))
    source.mkdir()
    for part in COPIED:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source / part)
    install = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(library / "site-packages"),
        str(source),
    ]
    subprocess.run(install, check=True)
    for found in _libraries_of([executable, *root.rglob("*.so")]):
        shutil.copy(found, root / "opt/libraries" / found.name)
    shutil.copy(LOADER, root / "lib64" / LOADER.name)


def _libraries_of(files: Iterable[Path]) -> set[Path]:
    """Return the libraries of this machine that executables and libraries are linked with."""
    listed = subprocess.run(["ldd", *map(str, files)], check=False, capture_output=True, text=True).stdout
    return {Path(path) for path in LINKED.findall(listed) if Path(path).is_file()}
