"""Shell completion: in a real bash, and as zsh and fish ask for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.cli.test_start_up import ONLY_LIVE, ONLY_RUNS, ONLY_SCENARIOS, ONLY_SPARK

PATIENCE_S = 600
PROGRAM = "from kcsim.scenarios.cli.main import main; main()"


def completed(words: str, shell: str = "bash", program: str = PROGRAM) -> list[str]:
    """Return what is offered to complete the last of the words, as a shell asks for it."""
    asked = {
        "bash": {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": words},
        "fish": {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    env = {**os.environ, **asked, "_KCSIM_COMPLETE": f"complete_{shell}"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kcsim wa", ["watch"]),
        ("kcsim run controller-r", ["controller-race"]),
        ("kcsim scenario show controller-r", ["controller-race"]),
        ("kcsim learn uncl", ["unclean-election"]),
        ("kcsim events ElectionW", ["ElectionWon"]),
        ("kcsim run x --without isr", ["isr-shrink-at-failover", "isr-version-checks"]),
        ("kcsim run x --setting zookeeper.s", ["zookeeper.session.timeout.ms="]),
        ("kcsim fault pau", ["pause"]),
        ("kcsim fault pause leader", ["leader-of"]),
        ("kcsim fault pause broker", []),
    ],
)
def test_bash_is_offered_the_names_that_an_argument_can_have(words: str, offered: list[str]) -> None:
    """No cluster is up, so there is no broker to name."""
    assert completed(words) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_are_offered_the_same(shell: str) -> None:
    assert any("controller-race" in line for line in completed("kcsim run controller-r", shell))


def test_a_real_bash_completes_a_scenario(tmp_path: Path) -> None:
    """The script that --show-completion prints for bash is loaded, and its function is called as bash calls it."""
    kcsim = tmp_path / "kcsim"
    kcsim.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
    kcsim.chmod(0o755)
    asks = """
source /dev/stdin
COMP_WORDS=(kcsim run controller-r) COMP_CWORD=2
_kcsim_completion kcsim
printf '%s\\n' "${COMPREPLY[@]}"
"""
    loaded = subprocess.run(
        ["bash", "--norc", "-c", asks],
        input=bash_script(),
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert loaded.stdout.splitlines() == ["controller-race"], loaded.stderr


def bash_script() -> str:
    """Return the script that makes bash ask kcsim for completions."""
    env = {**os.environ, "_KCSIM_COMPLETE": "source_bash"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return done.stdout


def test_a_completion_imports_no_models() -> None:
    unwanted = (*ONLY_SPARK, *ONLY_LIVE, *ONLY_SCENARIOS, *ONLY_RUNS)
    program = f"""
import sys
try:
    {PROGRAM}
except SystemExit:
    pass
print([name for name in {unwanted!r} if name in sys.modules])
"""
    assert completed("kcsim run controller-r", program=program)[-1] == "[]"
