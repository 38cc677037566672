"""The configuration of a real broker, and its form as Java properties."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.apache_kafka.errors import OwnSettingError, UnusableDirectoryError
from kcsim.brokers.apache_kafka.properties import (
    OWN,
    KafkaBrokerSpec,
    Value,
    properties_text,
    server_properties,
)

LOG_DIRS = (Path("/kafka/data-1"), Path("/kafka/data-2"))


def made(settings: dict[str, Value], rack: str | None = None, version: str = "2.8.2") -> dict[str, str]:
    spec = KafkaBrokerSpec(2, "127.0.0.1:2181/kafka", settings, rack)
    return server_properties(spec, 9092, LOG_DIRS, version)


def test_a_broker_is_given_its_id_and_its_addresses() -> None:
    assert {name: made({}, rack="east").get(name) for name in ("broker.id", "broker.rack", "log.dirs")} == {
        "broker.id": "2",
        "broker.rack": "east",
        "log.dirs": "/kafka/data-1,/kafka/data-2",
    }
    assert made({})["listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert made({})["zookeeper.connect"] == "127.0.0.1:2181/kafka"
    assert "broker.rack" not in made({})


def test_settings_are_spelt_as_kafka_does_and_win_over_ours() -> None:
    given: dict[str, Value] = {
        "auto.leader.rebalance.enable": False,
        "zookeeper.session.timeout.ms": 3000,
        "log.cleanup.policy": "compact",
        "num.io.threads": 8,
        "inter.broker.protocol.version": "2.8",
    }
    expected = {
        "auto.leader.rebalance.enable": "false",
        "zookeeper.session.timeout.ms": "3000",
        "log.cleanup.policy": "compact",
        "num.io.threads": "8",
        "inter.broker.protocol.version": "2.8",
    }
    assert expected.items() <= made(given).items()


def test_without_settings_nothing_is_set_that_a_controller_goes_by() -> None:
    """A broker that only uses few resources decides like one with Kafka's defaults."""
    assert made({}).keys() - OWN == {
        "num.network.threads",
        "num.io.threads",
        "background.threads",
        "log.cleaner.enable",
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "inter.broker.protocol.version",
    }


@pytest.mark.parametrize(
    ("version", "wanted", "protocol"),
    [
        ("2.4.1", None, "2.4"),
        ("2.6.0", None, "2.6"),
        ("2.7.2", "2.8", "2.7"),
        ("2.8.2", None, "2.8"),
        ("2.8.2", "2.6", "2.6"),
        ("3.9.1", None, "2.8"),
        ("3.9.1", "3.9", "3.9"),
    ],
)
def test_the_protocol_version_is_the_wanted_one_if_this_kafka_has_it(
    version: str, wanted: str | None, protocol: str
) -> None:
    """Without a setting it is that of our brokers: a scenario then goes the same way on Kafka 2.8 to 3.9, and on ours."""
    settings = {} if wanted is None else {"inter.broker.protocol.version": wanted}
    spec = KafkaBrokerSpec(1, "127.0.0.1:2181", settings)
    assert server_properties(spec, 9092, [Path("/a")], version)["inter.broker.protocol.version"] == protocol


@pytest.mark.parametrize("name", sorted(OWN))
def test_what_each_broker_is_given_cannot_be_set_for_all(name: str) -> None:
    with pytest.raises(OwnSettingError, match=rf"^{name}: chosen for each Kafka broker"):
        made({name: "1"})


def test_a_comma_would_cut_a_log_directory_in_two() -> None:
    with pytest.raises(UnusableDirectoryError, match="a,b cannot hold a Kafka broker's log"):
        server_properties(KafkaBrokerSpec(1, "127.0.0.1:2181", {}), 9092, [Path("/a,b")], "2.8.2")


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("broker.rack", "east", "broker.rack=east"),
        ("log.dirs", "/home/a b/c:d=e", "log.dirs=/home/a b/c:d=e"),
        ("a", " first space", "a=\\ first space"),
        ("a", "back\\slash", "a=back\\\\slash"),
        ("a", "two\nlines", "a=two\\u000alines"),
        ("a", "Zürich 𝄞", "a=Z\\u00fcrich \\ud834\\udd1e"),
        ("a=b: c", "#", "a\\=b\\:\\ c=#"),
    ],
)
def test_what_has_a_meaning_in_such_a_file_is_escaped(name: str, value: str, line: str) -> None:
    assert properties_text({name: value}) == f"{line}\n"


def test_the_lines_are_sorted() -> None:
    assert properties_text({"b": "2", "a": "1"}) == "a=1\nb=2\n"


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=5))
def test_java_reads_back_what_was_written(properties: dict[str, str]) -> None:
    assert read_as_java_does(properties_text(properties)) == properties


def read_as_java_does(text: str) -> dict[str, str]:
    """Parse text as documented for Properties.load, one character at a time; we write no comments or continued lines."""
    return dict(entry_of(line) for line in text.split("\n")[:-1])


def entry_of(line: str) -> tuple[str, str]:
    """Return name and value, separated by the first unescaped `=`, `:` or white space; white space around it is dropped."""
    assert line.isascii()
    assert line[0] not in "#! \t\f"
    units: list[str] = []
    ends: list[int] = []
    rest = iter(line)
    for character in rest:
        if character == "\\":
            escape = next(rest)
            units.append(chr(int("".join(next(rest) for _ in range(4)), 16)) if escape == "u" else escape)
        else:
            if character in "=: \t\f":
                ends.append(len(units))
            units.append(character)
    end, start = ends[0], ends[0] + 1
    while start in ends and units[start] in " \t\f":
        start += 1
    name, value = "".join(units[:end]), "".join(units[start:])
    return paired(name), paired(value)


def paired(units: str) -> str:
    """Return text from UTF-16 code units."""
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
