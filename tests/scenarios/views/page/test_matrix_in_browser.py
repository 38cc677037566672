"""Many partitions as a matrix, in a browser."""

from collections.abc import Callable, Iterator

import pytest

from tests.chromium import Chromium, Tab

PageOf = Callable[[str], str]
LABEL = "document.querySelector('#cluster canvas').getAttribute('aria-label')"
DEAD = "kcsim.run.seqs.findIndex((_, place) => kcsim.histories.at(place, 'process', 'broker-2') === 'dead')"


@pytest.fixture(scope="module")
def many(chromium: Chromium, page_of: PageOf) -> Iterator[Tab]:
    """Yield the report of a run with sixty partitions, a third of which lose their leader."""
    with chromium.open(page_of("leader_of_many")) as tab:
        yield tab


def counted(tab: Tab) -> tuple[int, int]:
    """Return how many partitions of the moment have no working leader, and how many are only under-replicated."""
    unled, under = tab.evaluate(
        """(() => {
            const [{ place }, { histories }] = [kcsim.page, kcsim];
            const values = [...histories.allAt(place, "partition").values()];
            const isHalted = (leader) => haltedLeader(histories, leader, place) !== null;
            const isUnled = ([, leader, , , flags]) => flags.includes("o") || isHalted(leader);
            const isUnder = (value) => !isUnled(value) && value[4].includes("u");
            return [values.filter(isUnled).length, values.filter(isUnder).length];
        })()"""
    )
    return unled, under


def test_its_words_count_what_is_in_trouble(many: Tab) -> None:
    many.evaluate(f"kcsim.go({DEAD})")
    assert counted(many) == (20, 0)
    assert many.evaluate(LABEL).startswith("60 partitions: 20 without a working leader, 0 only under-replicated, 40 as")
    many.evaluate("kcsim.go(kcsim.run.length - 1)")
    unled, under = counted(many)
    assert (unled, under > 20) == (0, True)
    assert f"0 without a working leader, {under} only under-replicated" in many.evaluate(LABEL)


def test_what_was_drawn_step_by_step_is_what_is_drawn_at_once(many: Tab) -> None:
    """Only cells that have changed are drawn anew, also when one goes back."""
    for place in (f"{DEAD} - 1", DEAD, "kcsim.run.length - 1", f"{DEAD} + 40", "kcsim.run.length - 40"):
        many.evaluate(f"kcsim.go({place})")
        anew = "new PartitionMatrix(kcsim.histories, () => {})"
        is_same = many.evaluate(
            f"""(() => {{
                const [canvas, other] = [document.querySelector("#cluster canvas"), {anew}];
                canvas.after(other.canvas);
                other.draw(kcsim.histories.allAt(kcsim.page.place, "partition"), kcsim.page.place, byId("cluster"));
                const isSame = canvas.toDataURL() === other.canvas.toDataURL();
                other.canvas.remove();
                return isSame;
            }})()"""
        )
        assert is_same


def test_a_click_on_a_cell_lists_the_events_of_its_partition(many: Tab) -> None:
    many.evaluate("kcsim.go(kcsim.run.length - 1)")
    many.evaluate(
        """(() => {
            const { matrix } = kcsim.page.cluster;
            const { left, top } = matrix.canvas.getBoundingClientRect();
            const at = { clientX: left + matrix.cell * 1.5, clientY: top + matrix.cell / 2 };
            for (const type of ["pointermove", "click"]) matrix.canvas.dispatchEvent(new MouseEvent(type, at));
        })()"""
    )
    assert many.text("#cluster .matrix-hint").startswith("orders-1: leader ")
    assert many.evaluate("byId('by-partition').value") == "orders-1"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_fits(chromium: Chromium, page_of: PageOf, width: int, dark: bool) -> None:
    with chromium.open(page_of("leader_of_many"), width, 844, dark=dark) as tab:
        for panel in ("cluster", "partitions"):
            tab.evaluate(f"kcsim.page.panel('{panel}')")
            right = f"document.querySelector('#{panel} canvas').getBoundingClientRect().right"
            assert 100 < tab.evaluate(right) <= width
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.complaints == []


def test_the_table_lists_partitions_without_a_working_leader_before_those_that_are_only_under_replicated(many: Tab) -> None:
    """In the middle of a fail-over there are both."""
    many.evaluate(
        """(() => {
            const flagsAt = (place) => [...kcsim.histories.allAt(place, "partition").values()].map((value) => value[4]);
            const isBoth = (place, flags = flagsAt(place)) => flags.includes("u") && flags.some((of) => of.includes("o"));
            kcsim.go(kcsim.run.seqs.findIndex((_, place) => isBoth(place)));
        })()"""
    )
    troubles: list[str] = many.evaluate("[...document.querySelectorAll('#cluster tr.bad')].map((row) => row.innerText)")
    are_offline = ["offline" in trouble for trouble in troubles]
    assert {*are_offline} == {True, False}
    assert are_offline == sorted(are_offline, reverse=True)
