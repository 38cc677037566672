"""What the commands of kcsim spark take for a path: of this machine, or a URL that is refused before any work."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.spark.options import local_path, local_pattern


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
    assert local_path(text) == Path(path)


@pytest.mark.parametrize("text", ["hdfs://namenode/h", "s3a://bucket/h", "gs://bucket/h", "file://elsewhere/h"])
def test_a_url_of_another_machine_is_no_folder_in_the_current_one(text: str) -> None:
    for parse in (local_path, local_pattern):
        with pytest.raises(typer.BadParameter, match="are not supported"):
            parse(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "-o", "hdfs://namenode/h", "--days", "1"),
        ("ingest", "s3a://bucket/traces", "-o", "h"),
        ("import", "kafka-logs", "logs", "-o", "s3a://bucket/h"),
        ("replay", "hdfs://namenode/h", "-o", "replayed"),
        ("analyse", "availability", "s3a://bucket/h"),
        ("analyse", "availability", "h", "--transitions", "gs://bucket/h"),
        ("report", "h", "-o", "s3a://bucket/report.html"),
        ("explore", "--seeds", "1", "-o", "hdfs://namenode/h"),
        ("odds", "--dataset", "hdfs://namenode/h"),
    ],
)
def test_every_command_refuses_it_before_any_work(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["spark", *arguments])
    assert (result.exit_code, "are not supported" in result.stderr) == (64, True), result.output
    assert not list(tmp_path.iterdir())
