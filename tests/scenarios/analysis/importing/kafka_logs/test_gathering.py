"""Evidence gathered file by file and partition by partition equals that of one process, whatever lines are repeated."""

import random
from collections import defaultdict
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import take
from kcsim.brokers.apache_kafka.log_import.log_files import lines_of, log_files
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import read_lines
from kcsim.scenarios.analysis.importing.kafka_logs import log_file
from kcsim.scenarios.analysis.importing.kafka_logs.gathering import ClusterGatherer, EvidenceShare, ShareGatherer
from kcsim.scenarios.analysis.importing.kafka_logs.log_file import (
    BROKEN,
    OF_THE_CLUSTER,
    THE_FILE,
    LogPortion,
    messages_of,
    read_log_file,
    survey_of,
)
from tests.brokers.apache_kafka.log_import.recordings import NAMES, RECORDINGS
from tests.scenarios.analysis.importing.event_log_comparison import counted


def in_one_go(files: list[Path]) -> tuple[EvidenceIndex, ParseStatistics]:
    gathered, tally = EvidenceIndex(), ParseStatistics()
    for path in files:
        for found in read_lines(lines_of(path)):
            take(gathered, tally, str(path), found)
    return gathered, tally


def in_parts(files: list[Path]) -> ClusterGatherer:
    """Gather as Spark does: shares come in any order, the portions of each share in their own order."""
    gatherer = ClusterGatherer()
    shares: dict[int, ShareGatherer] = defaultdict(ShareGatherer)
    for path in files:
        portions = list(read_log_file(path))
        (survey,) = (survey_of(one.content) for one in portions if one.share == THE_FILE)
        gatherer.take_survey(survey)
        by_share: dict[int, list[LogPortion]] = defaultdict(list)
        for portion in portions:
            by_share[portion.share].append(portion)
        own = by_share.pop(OF_THE_CLUSTER, [])
        gatherer.take_messages(str(path), [message for portion in own for message in messages_of(portion.content)])
        for share, some in by_share.items():
            if share not in (THE_FILE, BROKEN):
                for portion in sorted(some, key=lambda one: one.number):
                    shares[share].take(str(path), messages_of(portion.content))
    for share in random.Random(1).sample(sorted(shares), len(shares)):
        gatherer.take_share(EvidenceShare.unpacked(shares[share].share().packed()))
    return gatherer


@pytest.mark.parametrize("length", [2, 2_000])
@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_is_the_same(name: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evidence does not depend on the length of the portions."""
    monkeypatch.setattr(log_file, "MESSAGES", length)
    files = log_files([RECORDINGS / name])
    gathered, tally = in_one_go(files)
    parts = in_parts(files)
    assert dict(parts.gathered.states) == dict(gathered.states)
    assert dict(parts.gathered.others) == dict(gathered.others)
    assert sorted(parts.gathered.roles, key=lambda at: at.place) == sorted(gathered.roles, key=lambda at: at.place)
    assert parts.gathered.tried == gathered.tried
    assert dict(parts.gathered.owners) == dict(gathered.owners)
    assert spans(parts.gathered) == spans(gathered)
    assert counted(parts.tally) == counted(tally)


def spans(gathered: EvidenceIndex) -> dict[int, tuple[object, ...]]:
    """Return the controller of each epoch and its first and last time and place, without the log lines that show them."""
    return {
        epoch: (span.controller, span.first.t_ms, span.first.place, span.last.t_ms, span.last.place)
        for epoch, span in gathered.spans.items()
    }
