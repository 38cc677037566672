"""The division of files among tasks: each file is in one task, and no task has much more work than the others."""

from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.analysis.importing.tasks import packed

SIZES = st.lists(st.integers(0, 1_000), max_size=30)


@given(SIZES, st.integers(1, 8))
def test_each_file_is_in_one_task(sizes: list[int], most: int) -> None:
    tasks = packed(sizes, most)
    assert sorted(place for task in tasks for place in task) == list(range(len(sizes)))
    assert [task for task in tasks if not task] == []
    assert len(tasks) == min(most, len(sizes))


@given(SIZES, st.integers(1, 8))
def test_no_task_has_more_to_do_than_another_but_for_one_file(sizes: list[int], most: int) -> None:
    work = [sum(1 + sizes[place] for place in task) for task in packed(sizes, most)]
    assert max(work, default=0) - min(work, default=0) <= 1 + max(sizes, default=0)


def test_large_files_have_tasks_of_their_own() -> None:
    assert packed([10, 900, 20, 800, 30], 3) == [[1], [3], [0, 2, 4]]
