"""A lesson on a page, in a browser: alone, and with a class of two."""

from tests.chromium import Chromium, Tab
from tests.scenarios.classroom.conftest import applied, served_lesson
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture

ELECTION = "controller-election"


def asks(number: int) -> str:
    return f"lesson.lesson?.pages.at(-1).question?.number === {number}"


def answered(number: int) -> str:
    return f"{asks(number)} && lesson.lesson.pages.at(-1).question.answered !== null"


def seen_events(tab: Tab) -> int:
    return int(tab.evaluate("kcsim.run.seqs.at(-1)"))


def test_a_lesson_is_answered_by_clicks_and_keys(chromium: Chromium) -> None:  # noqa: F811
    """The third question asks for a broker: a click on its card answers it."""
    _, _, pages = applied(ELECTION)
    rights = [page.question.right.text for page in pages if page.question is not None]
    with served_lesson(ELECTION) as server, chromium.open(server.address) as tab:
        tab.wait_for(asks(1))
        assert seen_events(tab) == pages[0].at.seq
        tab.press("c")
        tab.wait_for(answered(1))
        assert "Not right. Your answer was 2; the right answer is: 1" in tab.text("#lesson-answer")
        assert seen_events(tab) > pages[0].at.seq
        tab.click("#lesson-on")
        tab.wait_for(asks(2))
        tab.evaluate(f"lesson.answer('{rights[1]}')")
        tab.wait_for(answered(2))
        tab.click("#lesson-on")
        tab.wait_for(f"{asks(3)} && document.querySelector('.card.choice') !== null")
        tab.click(f"#cluster [data-broker='{rights[2].removeprefix('broker-')}']")
        tab.wait_for(answered(3))
        assert f"Right: {rights[2]}" in tab.text("#lesson-answer")
        assert tab.text("#lesson-score") == "2 of 3 right, 7 questions"
        assert tab.complaints == []


def test_pupils_follow_the_teacher_and_the_teacher_sees_the_spread_of_their_answers(chromium: Chromium) -> None:  # noqa: F811
    with (
        served_lesson(ELECTION, has_class=True) as server,
        chromium.open(server.address) as teacher,
        chromium.open(server.pupils_address or "", 390, 844) as one,
        chromium.open(server.pupils_address or "") as other,
    ):
        teacher.wait_for("lesson.lesson?.class.pupils === 2")
        one.wait_for(asks(1))
        other.wait_for(asks(1))
        one.evaluate("lesson.answer('1')")
        other.evaluate("lesson.answer('3')")
        teacher.wait_for("document.querySelector('#lesson-spread').innerText.replace(/\\s+/g, ' ').includes('1 1 answer')")
        assert one.evaluate("lesson.lesson.pages[0].question.spread") is None
        assert one.evaluate("byId('lesson-on').disabled")
        teacher.click("#lesson-on")
        one.wait_for("byId('lesson-answer').innerText.includes('Right: 1')")
        other.wait_for("byId('lesson-answer').innerText.includes('Not right. Your answer was 3')")
        teacher.click("#lesson-on")
        one.wait_for(asks(2))
        other.wait_for(asks(2))
        one.evaluate("lesson.socket.addEventListener('close', () => (lesson.wasRefused = true)); lesson.send({on: true})")
        one.wait_for("lesson.wasRefused")
        assert teacher.evaluate(asks(2))
        assert [text for tab in (teacher, one, other) for text in tab.complaints if "ws://" not in text] == []
