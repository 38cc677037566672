"""Brokers for the tests of replica assignment."""

from hypothesis import strategies as st

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Draw
from kcsim.vocabulary import BrokerId


def without_racks(*ids: int) -> list[BrokerMetadata]:
    return [BrokerMetadata(BrokerId(broker)) for broker in ids]


def on_racks(**racks: list[int]) -> list[BrokerMetadata]:
    """Return brokers by rack: on_racks(a=[0, 1], b=[2])."""
    return [BrokerMetadata(BrokerId(broker), rack) for rack, brokers in racks.items() for broker in brokers]


SIX_ON_THREE = on_racks(rack1=[0, 5], rack2=[3, 4], rack3=[1, 2])

ids = st.lists(st.integers(0, 50), min_size=1, max_size=9, unique=True)
draws = st.builds(Draw, st.integers(0, 40), st.integers(0, 40))


@st.composite
def unracked_brokers(draw: st.DrawFn) -> list[BrokerMetadata]:
    return without_racks(*draw(ids))


@st.composite
def racked_brokers(draw: st.DrawFn) -> list[BrokerMetadata]:
    """Draw racks of any sizes."""
    names = st.sampled_from(["a", "b", "c", "d"])
    return [BrokerMetadata(BrokerId(broker), draw(names)) for broker in draw(ids)]


@st.composite
def evenly_racked_brokers(draw: st.DrawFn) -> list[BrokerMetadata]:
    """Draw one to four racks, all of one size from one to three."""
    racks, size = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    numbers = draw(st.lists(st.integers(0, 50), min_size=racks * size, max_size=racks * size, unique=True))
    return [BrokerMetadata(BrokerId(broker), "abcd"[place % racks]) for place, broker in enumerate(numbers)]


any_brokers = st.one_of(unracked_brokers(), racked_brokers())
