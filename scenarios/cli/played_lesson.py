"""kcsim play LESSON: a lesson on a page, alone or with a class."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from socket import socket


def is_lesson(wanted: str) -> bool:
    """Return whether a word names a lesson of the course, by its number or its name."""
    from kcsim.scenarios.lessons.lesson_names import lesson_names

    return wanted.isdecimal() or wanted in lesson_names()


def play_lesson(wanted: str, seed: int, listening: "socket", *, has_class: bool, opens_browser: bool) -> None:
    """Serve the pages of a lesson until Ctrl-C.

    Args:
        listening: a socket that is bound to a port of 127.0.0.1.
    """
    import webbrowser

    import uvicorn

    from kcsim.scenarios.classroom.lesson_server import LessonServer
    from kcsim.scenarios.classroom.lesson_session import LessonSession
    from kcsim.scenarios.lessons.lesson_file import LessonFileError, find_lesson, load_lesson
    from kcsim.scenarios.lessons.lesson_pages import LessonError, lesson_pages
    from kcsim.scenarios.lessons.lesson_run import FailedRunError, run_lesson

    try:
        loaded = load_lesson(Path(find_lesson(wanted)))
        run = run_lesson(loaded.scenario, seed=seed)
        session = LessonSession(loaded.lesson, lesson_pages(loaded.lesson, run), has_class)
    except LessonFileError as error:
        fail(str(error), ExitStatus.USAGE)
    except (LessonError, FailedRunError) as error:
        fail(f"{wanted}: {error}", ExitStatus.UNDECIDED)
    listening.listen()  # a browser that connects early waits until it is served
    server = LessonServer(loaded.lesson.title, session, run.events, has_class, listening.getsockname()[1])
    print(f"The page: {server.address}", flush=True)
    if server.pupils_address is not None:
        print(f"For the pupils: {server.pupils_address}\nBoth are reached from this machine only.", flush=True)
    print("Ctrl-C ends it.", flush=True)
    if opens_browser:
        webbrowser.open(server.address)
    config = uvicorn.Config(server.app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
