"""What the commands of kcsim spark take for a path: of this machine, of another file system, or refused before any work."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kcsim.scenarios.analysis.tables import location
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.spark.options import local_path, place


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("history", "history"),
        ("./hdfs:/history", "hdfs:/history"),
        ("C:", "C:"),
        ("file:///data/a%20history", "/data/a history"),
        ("file://localhost/data", "/data"),
    ],
)
def test_a_path_and_a_url_of_this_machine_are_the_same(text: str, path: str) -> None:
    assert place(text) == local_path(text) == Path(path)


@pytest.mark.parametrize("text", ["ftp://host/h", "gs://bucket/h", "file://elsewhere/h"])
def test_a_url_without_a_file_system_is_no_folder_in_the_current_one(text: str) -> None:
    for parse in (place, local_path):
        with pytest.raises(typer.BadParameter, match="are not supported"):
            parse(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "-o", "ftp://host/h", "--days", "1"),
        ("ingest", "gs://bucket/traces", "-o", "h"),
        ("import", "kafka-logs", "logs", "-o", "gs://bucket/h"),
        ("import", "kafka-logs", "east=gs://bucket/logs", "-o", "h"),
        ("replay", "ftp://host/h", "-o", "replayed"),
        ("analyse", "availability", "gs://bucket/h"),
        ("analyse", "availability", "h", "--transitions", "gs://bucket/h"),
        ("report", "h", "-o", "gs://bucket/report.html"),
        ("explore", "--seeds", "1", "-o", "ftp://host/h"),
        ("odds", "--dataset", "ftp://host/h"),
    ],
)
def test_every_command_refuses_it_before_any_work(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["spark", *arguments])
    assert (result.exit_code, "are not supported" in result.stderr) == (64, True), result.output
    assert not list(tmp_path.iterdir())


def test_a_file_system_that_is_not_installed_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "find_spec", lambda name: None if name == "hdfs_native" else find_spec(name))
    result = CliRunner().invoke(app, ["spark", "analyse", "availability", "hdfs://namenode/h"])
    assert result.exit_code == 64
    assert "needs the package hdfs_native; pip install 'kafka-controller-sim[hdfs]' brings it" in " ".join(
        result.stderr.replace("│", " ").split()
    )
