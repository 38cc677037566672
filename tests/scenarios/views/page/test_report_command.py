"""kcsim report as a user sees it: one complete file, or one line with the error."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.views.page.payload import PagePayload, TextTable, shortened
from tests.scenarios.views.page.conftest import run_of, written


def kcsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path / "run.jsonl", run_of("controller-failover"))


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_trace_becomes_a_page(tmp_path: Path, name: str) -> None:
    run = run_of("controller-failover")
    page = tmp_path / "run.html"
    result = kcsim(written(tmp_path / name, run), "-o", page)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{page}: all {len(run)} events, 0.2 MB\n"
    assert "<title>controller-failover: what happened</title>" in page.read_text(encoding="utf-8")


def test_the_same_trace_gives_the_same_page(trace: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        kcsim(trace, "-o", tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_allows_its_own_scripts_and_style_and_nothing_else(trace: Path, tmp_path: Path) -> None:
    kcsim(trace, "-o", tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found
    policy = dict(part.split(" ", 1) for part in found[1].split("; "))

    def hashes(tag: str) -> list[str]:
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        return [f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'" for body in bodies]

    assert policy["default-src"] == "'none'"
    assert policy["script-src"].split() == hashes("script")
    assert policy["style-src"].split() == hashes("style")
    assert policy["require-trusted-types-for"] == "'script'"


def test_a_page_refers_to_nothing_outside_and_has_no_handlers_in_its_markup(trace: Path, tmp_path: Path) -> None:
    kcsim(trace, "-o", tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"""<[^>]*\s(?:on\w+|style|src)=""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)) == []


def test_part_of_a_run_can_be_asked_for(trace: Path, tmp_path: Path) -> None:
    """Notable events outside the part are still there, with their causes: the page can narrate the whole run."""
    page = tmp_path / "part.html"
    result = kcsim(trace, "-o", page, "--from", "2.2s", "--to", "2.3s")
    total = len(run_of("controller-failover"))
    found = re.fullmatch(rf"{re.escape(str(page))}: (\d+) of {total} events, 0.2 MB; the page lists them\n", result.stdout)
    assert found
    assert 100 < int(found[1]) < total


# --- errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Dear Sir or Madam,\n" * 3, encoding="utf-8")
    assert_refused(kcsim(tmp_path / name, "-o", tmp_path / "run.html"), rf"{name}.*: not a", tmp_path)


def test_an_empty_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").touch()
    assert_refused(kcsim(tmp_path / "run.jsonl", "-o", tmp_path / "run.html"), r"run.jsonl: it has no events", tmp_path)


def test_a_trace_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    newer = Event(0, 0, "scenario", EventKind.RUN_STARTED, schema_version=EVENT_SCHEMA_VERSION + 1)
    result = kcsim(written(tmp_path / "run.jsonl", [newer]), "-o", tmp_path / "run.html")
    assert_refused(result, rf"a newer kcsim wrote it, in version {EVENT_SCHEMA_VERSION + 1}", tmp_path)


def test_two_traces_in_one_file_are_distinguished(trace: Path, tmp_path: Path) -> None:
    trace.write_bytes(trace.read_bytes() * 2)
    result = kcsim(trace, "-o", tmp_path / "run.html")
    assert result.exit_code == 2
    assert re.search(r"event #0 comes after #\d+: this is not the log of one run; what came after", result.stderr)


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_refused(kcsim(tmp_path / "run.jsonl", "-o", tmp_path / "run.html"), "run.jsonl: No such file", tmp_path)
    assert_refused(kcsim(tmp_path, "-o", tmp_path / "run.html"), "no traces in this directory", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "soon"], "'soon' is no moment of a run"),
        (["--from", "99s"], r"99s is after the run, whose last event is #\d+ at 4\.\d+s"),
        (["--from", "3s", "--to", "2s"], "2s is before 3s"),
    ],
)
def test_a_moment_that_is_none_is_refused(trace: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    assert_refused(kcsim(trace, "-o", tmp_path / "run.html", *arguments), message, tmp_path)


def test_where_it_cannot_be_written_nothing_is_read(trace: Path, tmp_path: Path) -> None:
    assert_refused(kcsim(trace, "-o", tmp_path / "no" / "run.html"), "there is no directory .*/no$", tmp_path)
    assert_refused(kcsim(trace, "-o", tmp_path, "--force"), "is a directory$", tmp_path)


def assert_refused(result: Result, message: str, folder: Path) -> None:
    """Assert that the output is one line with the error, that the status is 64, and that there is no page."""
    assert result.exit_code == 64
    assert len(result.stderr.splitlines()) == 1
    assert re.search(message, result.stderr.strip()), result.stderr
    assert not list(folder.glob("**/*.html*"))


def test_a_page_that_is_there_stays_unless_somebody_insists(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    page.write_text("mine", encoding="utf-8")
    result = kcsim(trace, "-o", page)
    assert (result.exit_code, page.read_text(encoding="utf-8")) == (64, "mine")
    assert "is there already; name another file, or write over it with --force" in result.stderr
    assert kcsim(trace, "-o", page, "--force").exit_code == 0
    assert page.read_text(encoding="utf-8")[:4] != "mine"


@pytest.mark.parametrize("cut", ["in a line", "by a line that is no event"])
def test_of_a_broken_trace_the_page_has_what_came_before_and_says_so(trace: Path, tmp_path: Path, cut: str) -> None:
    lines = trace.read_bytes().splitlines(keepends=True)
    end = lines[100][:20] if cut == "in a line" else b"what?\n" + lines[101]
    trace.write_bytes(b"".join(lines[:100]) + end)
    result = kcsim(trace, "-o", tmp_path / "run.html")
    assert (result.exit_code, result.stdout) == (2, f"{tmp_path / 'run.html'}: all 100 events, 0.2 MB\n")
    assert re.search(r"run.jsonl:101: not an event.*; what came after that is not in the page", result.stderr)


# --- the payload -----------------------------------------------------------------------------------------------------------


def test_a_text_is_written_once_and_a_long_one_in_part() -> None:
    texts = TextTable()
    assert [texts.place(text) for text in ("a", "b", "a")] == [0, 1, 0]
    assert shortened("x" * 12, 10) == "xxxxxxxxxx … (2 more characters)"
    assert len(PagePayload()) == 0
