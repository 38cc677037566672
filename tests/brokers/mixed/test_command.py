"""`python -m tests.brokers.mixed` refuses what names no seeds."""

import pytest

from tests.brokers.mixed.__main__ import USAGE, main


@pytest.mark.parametrize(
    ("seeds", "message"), [("many", "'many' names no seeds; write 7, or 0..49"), ("9..3", "'9..3' is empty")]
)
def test_what_names_no_seeds_is_refused(seeds: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([seeds])
    assert ended.value.code == USAGE
    assert message in capsys.readouterr().err
