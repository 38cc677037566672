"""kcsim play, from its start to Ctrl-C."""

import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app

PATIENCE_S = 300


def test_the_page_of_a_scenario_is_served_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "kcsim.scenarios", "play", "controller-failover", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("The page: ").strip()
            with urlopen(address, timeout=PATIENCE_S) as page:
                assert "<title>controller-failover</title>" in page.read().decode()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


def test_a_port_in_use_and_an_unknown_scenario_end_the_command() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["play", "--port", str(port), "--no-browser"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"kcsim: --port {port}: Address already in use\n"
    unknown = CliRunner().invoke(app, ["play", "controller-failovr", "--no-browser"])
    assert (unknown.exit_code, unknown.stdout) == (64, "")
    assert "controller-failover" in unknown.stderr


def test_a_lesson_has_an_address_for_the_teacher_and_one_for_the_pupils() -> None:
    command = [sys.executable, "-m", "kcsim.scenarios", "play", "1", "--class", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(2)]
            addresses = [line.partition(": ")[2] for line in lines]
            assert [line.partition(": ")[0] for line in lines] == ["The page", "For the pupils"]
            assert len(set(addresses)) == 2
            for address in addresses:
                with urlopen(address, timeout=PATIENCE_S) as page:
                    assert "<title>Who is the controller" in page.read().decode()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


def test_only_a_lesson_has_a_class() -> None:
    result = CliRunner().invoke(app, ["play", "controller-failover", "--class", "--no-browser"])
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr == "--class: name a lesson; kcsim learn lists them\n"
    assert CliRunner().invoke(app, ["play", "99", "--no-browser"]).exit_code == 64
