"""kcsim spark report, as far as it needs no Spark; test_gathering.py tests the rest."""

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.spark.report import _settings

ENOUGH_SECONDS = 600


def report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["spark", "report", *map(str, arguments)])


def test_a_page_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("somebody's")

    refused = report(tmp_path, "-o", page)

    assert refused.exit_code == 64
    assert f"{page} exists, and nothing is overwritten" in refused.stderr
    assert page.read_text() == "somebody's"


def test_a_folder_that_is_not_there_is_refused_before_any_work(tmp_path: Path) -> None:
    refused = report(tmp_path, "-o", tmp_path / "nowhere" / "page.html")

    assert refused.exit_code == 64
    assert f"--out: there is no directory {tmp_path / 'nowhere'}" in refused.stderr


def test_settings_of_a_dataset_are_shown_and_cut_where_they_are_long(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"seed": 7, "mtbf": "30d", "profile": {"weights": "' + "x" * 500 + '"}}')

    found = _settings([tmp_path, tmp_path / "a trace.jsonl"])

    assert (found["seed"], found["mtbf"]) == ("7", "30d")
    assert len(found["profile"]) == 201
    assert found["profile"].endswith("…")


def test_settings_that_are_none_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("[1, 2")

    assert _settings([tmp_path]) == {}


def test_help_does_not_load_spark() -> None:
    code = (
        "import sys; from kcsim.scenarios.cli.app import app\n"
        "try: app(['spark', 'report', '--help'])\n"
        "except SystemExit: print(sorted({'pyspark', 'pyarrow', 'numpy', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=ENOUGH_SECONDS, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
