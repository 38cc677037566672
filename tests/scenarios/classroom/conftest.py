"""A lesson that is served until the end of a context."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import uvicorn

from kcsim.scenarios.classroom.lesson_server import LessonServer
from kcsim.scenarios.classroom.lesson_session import LessonSession
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_file import find_lesson, load_lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, lesson_pages
from kcsim.scenarios.lessons.lesson_run import LessonRun, run_lesson

PATIENCE_S = 300.0


@cache
def applied(name: str) -> tuple[Lesson, LessonRun, tuple[LessonPage, ...]]:
    """Return a lesson of the course, its run, and its pages."""
    loaded = load_lesson(find_lesson(name))
    run = run_lesson(loaded.scenario)
    return loaded.lesson, run, tuple(lesson_pages(loaded.lesson, run))


@contextmanager
def served_lesson(name: str, *, has_class: bool = False) -> Iterator[LessonServer]:
    lesson, run, pages = applied(name)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        session = LessonSession(lesson, pages, has_class)
        served = LessonServer(lesson.title, session, run.events, has_class, listening.getsockname()[1])
        server = uvicorn.Server(
            uvicorn.Config(served.app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            end = time.monotonic() + PATIENCE_S
            while not server.started:
                assert time.monotonic() < end
                time.sleep(0.02)
            yield served
        finally:
            server.should_exit = True
            thread.join()
