"""Writes the run of a lesson for a reader: its event log, and its page for the browser."""

from pathlib import Path

from kcsim.eventlog.event_log import JsonlTraceWriter
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.views.page.report import report


def write_run_page(run: LessonRun, folder: Path, name: str, made_by: str) -> Path:
    """Write NAME.jsonl and NAME.html into a folder that exists, and return the path of the page. Raises: OSError.

    Args:
        made_by: name and version of this program, for the page's text.
    """
    trace, page = folder / f"{name}.jsonl", folder / f"{name}.html"
    with trace.open("wb") as file:
        writer = JsonlTraceWriter(file)
        for event in run.events:
            writer.write(event)
        writer.flush()
    page.write_text(report(trace, made_by).html, encoding="utf-8")
    return page


def page_link(page: Path, seq: int) -> str:
    """Return the address at which the page shows an event."""
    return f"{page.absolute().as_uri()}#e={seq}"
