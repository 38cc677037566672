"""Our cluster writes to ZooKeeper what Apache Kafka 2.8.2 wrote, in every scenario that was recorded of it."""

from pathlib import Path

import pytest

from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.recording import read_recording

TRACES = Path(__file__).parent / "traces"


@pytest.mark.parametrize("file", sorted(TRACES.rglob("*.json")), ids=lambda file: file.stem)
def test_a_recorded_scenario_is_played_as_kafka_played_it(file: Path) -> None:
    kafka = read_recording(file)
    ours = play(kafka, "simulated")
    assert differences(kafka, ours) == []
    assert ours.not_supported is None
