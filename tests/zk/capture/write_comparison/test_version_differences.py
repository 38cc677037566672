"""What only a later Kafka writes is named in a comparison with that Kafka, and in no other."""

import pytest

from kcsim.zk.capture.write_comparison.differences import WriteComparison, WriteDifference
from kcsim.zk.capture.write_comparison.version_differences import CONTROLLER_VERSION_2, Release
from kcsim.zk.capture.write_comparison.writes import StepWrites, ZnodeWrite

KAFKA = '{"version":2,"brokerid":1,"timestamp":"1795733524441","kraftControllerEpoch":-1}'
"""As Kafka 3.9.1 wrote it."""
OURS = '{"version":1,"brokerid":1,"timestamp":"1577836800050"}'


def found(release: Release | None, kafka: str = KAFKA, ours: str = OURS) -> list[WriteDifference]:
    """Return the differences of a step and of the end, in which /controller had these data."""
    comparison = WriteComparison(release)
    theirs, mine = (StepWrites(1, (ZnodeWrite("controller", "create", "/controller", data),)) for data in (kafka, ours))
    return [*comparison.of_step(1, theirs, mine), *comparison.of_end({"/controller": kafka}, {"/controller": ours})]


@pytest.mark.parametrize("release", [(3, 4), (3, 9)])
def test_the_controller_znode_of_later_versions_is_a_difference_with_a_name(release: Release) -> None:
    assert [(each.step, each.what, each.of_version) for each in found(release)] == [
        (1, "/controller", CONTROLLER_VERSION_2),
        (None, "/controller", CONTROLLER_VERSION_2),
    ]


@pytest.mark.parametrize("release", [None, (2, 8), (3, 3)])
def test_earlier_versions_do_not_write_it_so_it_has_no_name_there(release: Release | None) -> None:
    assert [each.of_version for each in found(release)] == [None, None]


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        (KAFKA.replace('"brokerid":1', '"brokerid":2'), OURS),
        (KAFKA.replace(',"kraftControllerEpoch":-1', ""), OURS),
        (KAFKA.replace("}", ',"more":1}'), OURS),
        (KAFKA, "junk"),
        (OURS, KAFKA),
    ],
)
def test_whatever_else_differs_has_no_name(kafka: str, ours: str) -> None:
    assert [each.of_version for each in found((3, 9), kafka, ours)] == [None, None]


def test_a_znode_that_one_side_lacks_has_no_name() -> None:
    comparison = WriteComparison((3, 9))
    (step,) = comparison.of_step(
        1, StepWrites(1, (ZnodeWrite("controller", "create", "/controller", KAFKA),)), StepWrites(1, ())
    )
    (end,) = comparison.of_end({"/controller": KAFKA}, {})
    assert (step.of_version, end.of_version) == (None, None)


def test_where_both_wrote_the_same_there_is_no_difference() -> None:
    assert found((3, 9), OURS, OURS) == []
