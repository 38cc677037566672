"""An example project: its tests find its two bugs with the fixtures, and find nothing once the bugs are fixed."""

import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.live

PROJECT = Path(__file__).parents[2] / "example_project"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return the project, in a directory of its own."""
    shutil.copytree(PROJECT, pytester.path, dirs_exist_ok=True)
    return pytester


@pytest.mark.parametrize("zookeeper", ["embedded", "model"])
def test_its_tests_find_both_bugs(zookeeper: str, project: pytest.Pytester) -> None:
    """The program acts as leader after its session is gone, and writes under a lock that another client holds by then."""
    result = project.runpytest_inprocess("-p", "no:cacheprovider", f"--kcsim-zookeeper={zookeeper}")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *assert *'sent by a'*'sent by b'* == *'sent by b'*"])
    result.stdout.fnmatch_lines(["E *assert b'8' == b'5'*"])
    result.stdout.fnmatch_lines(["* a * its session is ended by the test, as if it had expired"])


@pytest.mark.slow
def test_they_find_nothing_once_the_bugs_are_mended(project: pytest.Pytester) -> None:
    for name in ("worker", "stock"):
        shutil.copyfile(project.path / "billing" / f"{name}_fixed.py", project.path / "billing" / f"{name}.py")
    result = project.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
