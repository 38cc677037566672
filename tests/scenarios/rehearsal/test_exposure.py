"""Exposures name exactly what the loss of one broker, or of one rack, does."""

from collections.abc import Collection, Mapping

from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.rehearsal.exposure import Exposure, InSync, exposures, harmed_by_plan

RACKS: Mapping[int, str | None] = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "c", 7: None}
ISRS = st.lists(st.sampled_from(sorted(RACKS)), min_size=1, max_size=5, unique=True).map(tuple)


def lost(isr: Collection[int], dead: Collection[int], min_isr: int) -> str:
    left = [broker for broker in isr if broker not in dead]
    return "offline" if not left else "below" if len(left) < min_isr else ""


def worst(isr: Collection[int], losses: Collection[Collection[int]], min_isr: int) -> set[str]:
    return {lost(isr, dead, min_isr) for dead in losses} - {""}


@given(ISRS, st.integers(1, 3))
def test_exposures_are_what_trying_each_loss_shows(isr: tuple[int, ...], min_isr: int) -> None:
    found = exposures(InSync(isr, True, min_isr), RACKS)
    by_broker = worst(isr, [{broker} for broker in RACKS], min_isr)
    by_rack = worst(isr, [{b for b in RACKS if RACKS[b] == rack} for rack in ("a", "b", "c")], min_isr)
    assert (Exposure.OFFLINE_BY_BROKER in found) == ("offline" in by_broker)
    assert (Exposure.BELOW_MIN_ISR in found) == (len(isr) < min_isr)
    if len(isr) >= min_isr > 1:
        assert (Exposure.BELOW_MIN_ISR_BY_BROKER in found) == ("below" in by_broker or len(isr) == 1)
    if "offline" not in by_broker:
        assert (Exposure.OFFLINE_BY_RACK in found) == ("offline" in by_rack)
    if len(isr) > min_isr and "offline" not in by_rack:
        assert (Exposure.BELOW_MIN_ISR_BY_RACK in found) == ("below" in by_rack)


def test_a_partition_without_a_leader_is_offline_and_nothing_else() -> None:
    assert list(exposures(InSync((1,), False, 2), RACKS)) == [Exposure.OFFLINE]


def test_racks_say_nothing_where_all_brokers_are_in_one() -> None:
    assert exposures(InSync((1, 2), True, 1), {1: "a", 2: "a"}) == {}


def test_the_sentence_names_what_has_to_be_lost() -> None:
    (exposed,) = exposures(InSync((1, 3), True, 1), RACKS).values()
    assert exposed.brokers == (1, 3)
    assert str(exposed) == "all in rack a: the loss of rack a takes the partition offline, and its data"


def test_a_loss_harms_only_what_no_such_loss_would_have_taken_before() -> None:
    before = {
        "one": {Exposure.OFFLINE_BY_BROKER},
        "rack": {Exposure.OFFLINE_BY_RACK},
        "tight": {Exposure.BELOW_MIN_ISR_BY_BROKER},
        "good": set[Exposure](),
    }
    assert list(harmed_by_plan(("one", "rack", "good"), ("tight",), before, by_rack=False)) == ["rack", "good"]
    assert list(harmed_by_plan(("one", "rack", "tight"), ("good",), before, by_rack=True)) == ["tight", "good"]
