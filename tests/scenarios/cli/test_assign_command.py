"""kcsim assign as a user sees it."""

import json

import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app

SIX = "0:rack1,1:rack3,2:rack3,3:rack2,4:rack2,5:rack1"


def assign(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["assign", "--topic", "t", *arguments])


def words(result: Result) -> list[list[str]]:
    """Return the cells of a table's lines, without the width of its columns."""
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.stdout.splitlines()]


def test_the_table_the_list_walked_and_the_spread_are_printed() -> None:
    result = assign("--brokers", SIX, "--partitions", "7", "--replication-factor", "3", "--start-index", "0")
    assert result.stdout.startswith(
        "Topic t: partitions 0 to 6, replication factor 3\n"
        "Start index 0, shift 0\n"
        "Brokers in the order walked, racks alternating:"
        " 0 (rack1), 3 (rack2), 1 (rack3), 5 (rack1), 4 (rack2), 2 (rack3)\n"
    )
    assert ["6", "0,4,2", "rack1,rack2,rack3"] in words(result)
    assert ["0", "rack1", "4", "2", "2"] in words(result)
    assert "Leaders per broker: max 2, min 1, mean 1.17, standard deviation 0.37\n" in result.stdout
    assert result.stdout.endswith("Partitions with replicas that share a rack: none\n")


def test_explained_each_replica_and_each_candidate_passed_over_has_a_line() -> None:
    """Partition 2 begins with the second broker of the big rack, whose third broker is next."""
    result = assign(
        "--brokers", "0:a,1:a,2:a,3:b", "--partitions", "3", "--replication-factor", "2", "--start-index", "0", "--explain"
    )
    _, _, explained = result.stdout.partition("Partition 2, shift 0: 1,3\n")
    assert [line.split(maxsplit=5) for line in explained.splitlines()[1:5]] == [
        ["first", "replica", "1", "(a)", "2", "chosen"],
        ["candidate", "0", "2", "(a)", "3", "passed over: its rack has a replica, while another rack has none"],
        ["candidate", "1", "0", "(a)", "0", "passed over: its rack has a replica, while another rack has none"],
        ["candidate", "2", "3", "(b)", "1", "chosen"],
    ]
    assert "position (first + 1 + (shift * 2 + k) mod 3) mod 4, 2 being the number of racks" in result.stdout


def test_json_is_what_kafka_reassign_partitions_reads() -> None:
    result = assign("--brokers", "0,1", "--partitions", "2", "--replication-factor", "2", "--output", "json", "--seed", "3")
    document = json.loads(result.stdout)
    assert (document["version"], result.stderr) == (1, "")
    assert [(entry["topic"], entry["partition"]) for entry in document["partitions"]] == [("t", 0), ("t", 1)]
    assert {tuple(sorted(entry["replicas"])) for entry in document["partitions"]} == {(0, 1)}
    assert {tuple(entry["log_dirs"]) for entry in document["partitions"]} == {("any", "any")}


def test_what_is_not_given_is_drawn_and_the_same_seed_draws_the_same() -> None:
    drawn = {assign("--brokers", SIX, "--partitions", "9", "--seed", seed).stdout for seed in "1234567"}
    assert len(drawn) > 1
    assert assign("--brokers", SIX, "--partitions", "9", "--seed", "7").stdout in drawn


def test_a_start_alone_is_the_shift_as_well_and_either_can_be_given() -> None:
    brokers = ("--brokers", "0,1,2,3", "--partitions", "1", "--replication-factor", "2")
    assert "Start index 2, shift 2\n" in assign(*brokers, "--start-index", "2").stdout
    assert "Start index 2, shift 1\n" in assign(*brokers, "--start-index", "2", "--shift", "1").stdout
    assert ", shift 3\n" in assign(*brokers, "--shift", "3").stdout


def test_the_naive_rule_can_be_looked_at() -> None:
    result = assign("--brokers", "0,1,2", "--partitions", "4", "--replication-factor", "2", "--naive")
    assert words(result)[4:8] == [["0", "0,1"], ["1", "1,2"], ["2", "2,0"], ["3", "0,1"]]


def test_replicas_that_share_a_rack_are_reported() -> None:
    result = assign("--brokers", "0:a,1:a", "--partitions", "12", "--replication-factor", "2")
    assert result.stdout.endswith(
        "Partitions with replicas that share a rack: 12 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more)\n"
    )


def test_racks_can_be_left_out() -> None:
    half = ("--brokers", "0:a,1,2:b", "--partitions", "1")
    for option in (["--disable-rack-aware"], ["--rack-aware-mode", "safe"], ["--rack-aware-mode", "disabled"]):
        assert "without racks: 0, 1, 2\n" in assign(*half, *option).stdout


# --- explicit assignments --------------------------------------------------------------------------------------------------


def test_an_explicit_assignment_is_taken_as_it_is() -> None:
    result = assign("--brokers", "0,1,2", "--replica-assignment", "2:1,0:1")
    assert words(result)[3:5] == [["0", "2,1"], ["1", "0,1"]]


def test_brokers_that_are_not_there_are_pointed_out() -> None:
    """Kafka does not check the brokers, and creates a topic without a leader."""
    result = assign("--brokers", "0,1", "--replica-assignment", "0:7,0:9")
    assert (result.exit_code, result.stderr) == (0, "not among the brokers: 7, 9; Kafka creates the topic all the same\n")


# --- more partitions -------------------------------------------------------------------------------------------------------


def test_partitions_are_added_as_kafka_adds_them() -> None:
    current = ("--alter", "--current", "2:3,3:4,4:5,5:0,0:1,1:2")
    result = assign("--brokers", "0,1,2,3,4,5", *current, "--partitions", "8")
    assert "Start index 2, shift 2\n" in result.stdout
    assert words(result)[5:7] == [["6", "2,0"], ["7", "3,1"]]
    assert "The whole topic, 8 partitions:\n" in result.stdout


def test_of_an_explicit_assignment_for_a_topic_that_grows_the_new_partitions_count() -> None:
    """This is how Kafka's tool works: the list begins with partition 0, and existing partitions stay as they are."""
    result = assign(
        "--brokers", "0,1", "--alter", "--current", "0:1", "--partitions", "2", "--replica-assignment", "1:0,1:0"
    )
    assert words(result)[3] == ["1", "1,0"]


# --- refused ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--brokers", "0,1,2", "--partitions", "10", "--replication-factor", "4"],
            "Error while executing topic command : Replication factor: 4 larger than available brokers: 3.\n",
        ),
        (
            ["--brokers", "0,1,2", "--partitions", "0"],
            "Error while executing topic command : Number of partitions must be larger than 0.\n",
        ),
        (
            ["--brokers", "0:a,1"],
            "Error while executing topic command : Not all brokers have rack information."
            " Add --disable-rack-aware in command line to make replica assignment without rack information.\n",
        ),
        (["--brokers", "0,1,1"], "--brokers: Broker list contains duplicate entries: 1\n"),
        (
            ["--brokers", "0,x"],
            "--brokers: 'x' in 'x' is no broker id; write brokers as 0:rack1,1:rack2 or 0,1,2\n",
        ),
        (["--brokers", "0,"], "--brokers: '0,' has an empty entry; write brokers as 0:rack1,1:rack2 or 0,1,2\n"),
        (["--brokers", "0:"], "--brokers: '0:' names no rack; write 0 for a broker without one\n"),
        (
            ["--brokers", "4294967296"],
            "--brokers: '4294967296' in '4294967296' is no broker id; write brokers as 0:rack1,1:rack2 or 0,1,2\n",
        ),
        ([], "give either --brokers or --zookeeper\n"),
        (["--brokers", "0", "--zookeeper", "localhost"], "give either --brokers or --zookeeper\n"),
        (
            ["--zookeeper", "localhost:1", "--alter", "--current", "0", "--partitions", "2"],
            "give either --current or --zookeeper\n",
        ),
        (["--zookeeper", "host:port"], "--zookeeper: 'host:port' is no ZooKeeper connect string: "),
        (
            ["--brokers", "0,1", "--replica-assignment", "0:0"],
            "Error while executing topic command : Partition replica lists may not contain duplicate entries: 0\n",
        ),
        (
            ["--brokers", "0,1", "--replica-assignment", "0:a"],
            "--replica-assignment: 'a' in '0:a' is no broker id; write the replicas of two partitions as 0:1,1:2\n",
        ),
        (
            ["--brokers", "0,1", "--replica-assignment", "0", "--partitions", "1"],
            "Error while executing topic command : Both numPartitions or replicationFactor and replicasAssignments were set."
            " Both cannot be used at the same time.\n",
        ),
        (
            ["--brokers", "0", "--topic", "a b"],
            'Error while executing topic command : Topic name "a b" is illegal, it contains a character other than'
            " ASCII alphanumerics, '.', '_' and '-'\n",
        ),
        (["--brokers", "0", "--naive", "--explain"], "--explain does not go with --naive\n"),
        (["--brokers", "0", "--output", "json", "--explain"], "--explain does not go with --output json\n"),
        (["--brokers", "0", "--naive", "--alter"], "--naive does not go with --alter\n"),
        (["--brokers", "0", "--current", "0"], "--current is the assignment that --alter changes\n"),
        (
            ["--brokers", "0", "--alter", "--current", "0"],
            "--alter needs --partitions: how many there are to be in the end\n",
        ),
        (
            ["--brokers", "0", "--alter", "--current", "0", "--partitions", "2", "--shift", "1"],
            "--shift does not go with --alter: partition 0 decides\n",
        ),
        (
            ["--brokers", "0", "--alter", "--partitions", "2"],
            "Error while executing topic command : The topic 't' does not exist.\n",
        ),
        (
            ["--brokers", "0", "--alter", "--current", "0", "--partitions", "1"],
            "Error while executing topic command : Topic already has 1 partitions.\n",
        ),
    ],
)
def test_what_cannot_be_ends_with_64_and_one_line(arguments: list[str], message: str) -> None:
    result = assign(*arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--start-index", "--shift"])
def test_a_negative_position_ends_with_64(option: str) -> None:
    result = assign("--brokers", "0", option, "-1")
    assert (result.exit_code, result.stdout) == (64, "")
    assert f"Invalid value for '{option}'" in result.stderr


def test_nobody_there_ends_with_2() -> None:
    result = assign("--zookeeper", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("kcsim: no ZooKeeper reachable at 127.0.0.1:1")
