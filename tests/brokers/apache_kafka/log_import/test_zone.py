"""Times are written without a zone; a name, an offset or the files themselves determine the zone."""

import pytest

from kcsim.brokers.apache_kafka.log_import.entries import SourceLine
from kcsim.brokers.apache_kafka.log_import.evidence import TimedMessage
from kcsim.brokers.apache_kafka.log_import.zone import BadZoneError, local_ms, zone_named, zones_shown
from kcsim.brokers.apache_kafka.log_lines.messages import ClockRead

SUMMER = "2021-07-01 12:00:00,250"
NOON_UTC = 1_625_140_800_250
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("zone", "hours"),
    [("UTC", 0), ("utc", 0), ("+02:00", 2), ("+0200", 2), ("-09:30", -9.5), ("Europe/Paris", 2), ("Asia/Kolkata", 5.5)],
)
def test_a_time_in_its_zone(zone: str, hours: float) -> None:
    assert zone_named(zone)(local_ms(SUMMER)) == NOON_UTC - hours * HOUR_MS


def test_an_area_has_its_winter() -> None:
    paris = zone_named("Europe/Paris")
    assert paris(local_ms("2021-01-01 12:00:00,000")) == local_ms("2021-01-01 11:00:00,000")


@pytest.mark.parametrize("zone", ["", "+2", "+25:00", "+02:75", "Europe/Atlantis", "/etc/passwd", "../UTC"])
def test_no_zone_is_refused_with_what_it_may_be(zone: str) -> None:
    with pytest.raises(BadZoneError, match=r"is no time zone: \+HH:MM, UTC, or an area and city"):
        zone_named(zone)


@pytest.mark.parametrize("text", ["2021-02-30 10:00:00,000", "2021-02-03 25:00:00,000", "2021-02-03 10:00:61,000"])
def test_a_time_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        local_ms(text)


def clock(local: str, utc_ms: int, file: str) -> TimedMessage:
    return TimedMessage(local_ms(local), SourceLine(file, 1), ClockRead(utc_ms))


def test_files_give_their_zone_away_to_the_quarter_of_an_hour() -> None:
    """A line is written a little later than the event that it describes."""
    found = zones_shown(
        [
            clock("2021-07-01 14:00:03,250", NOON_UTC, "a"),
            clock("2021-07-01 14:00:00,250", NOON_UTC, "b"),
            clock("2021-07-01 02:30:00,250", NOON_UTC, "c"),
        ]
    )
    assert found == {"+02:00": {"a", "b"}, "-09:30": {"c"}}
