"""kcsim play LESSON: a lesson on a page, alone or with a class."""

from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.cli.page_server import PagePlace


def is_lesson(wanted: str) -> bool:
    """Return whether a word names a lesson of the course, by its number or its name."""
    from kcsim.scenarios.lessons.lesson_names import lesson_names

    return wanted.isdecimal() or wanted in lesson_names()


def play_lesson(wanted: str, seed: int, place: "PagePlace", choice: "ZooKeeperChoice", *, has_class: bool) -> None:
    """Run a lesson's scenario, and serve its pages until Ctrl-C.

    Args:
        choice: the ZooKeeper to run it on, which must be one that we start.
    """
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.eventlog.run_actions import ClusterError
    from kcsim.scenarios.classroom.lesson_server import LessonServer
    from kcsim.scenarios.classroom.lesson_session import LessonSession
    from kcsim.scenarios.lessons.lesson_file import LessonFileError, find_lesson, load_lesson
    from kcsim.scenarios.lessons.lesson_pages import LessonError, lesson_pages
    from kcsim.scenarios.lessons.lesson_run import FailedRunError, run_lesson
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    if choice.kind is ZooKeeperKind.EXTERNAL:
        fail("--zookeeper: a lesson runs on a ZooKeeper that is started for it", ExitStatus.USAGE)
    try:
        loaded = load_lesson(Path(find_lesson(wanted)))
        run = run_lesson(loaded.scenario, choice, choice.kind.value, seed)
        session = LessonSession(loaded.lesson, lesson_pages(loaded.lesson, run), has_class)
    except LessonFileError as error:
        fail(str(error), ExitStatus.USAGE)
    except (LessonError, FailedRunError) as error:
        fail(f"{wanted}: {error}", ExitStatus.UNDECIDED)
    except (ServerError, ZooKeeperUnavailableError, ClusterError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    server = LessonServer(loaded.lesson.title, session, run.events, has_class, place.port)
    print(f"The page: {server.address}", flush=True)
    if server.pupils_address is not None:
        print(f"For the pupils: {server.pupils_address}\nBoth are reached from this machine only.", flush=True)
    print("Ctrl-C ends it.", flush=True)
    place.serve_until_ctrl_c(server)
