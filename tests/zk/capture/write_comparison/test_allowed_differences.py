"""Every allowed difference has its reason in controller/FIDELITY.md: none is allowed without one, and none is unused."""

import re
from pathlib import Path

from kcsim.zk.capture.write_comparison.allowed_differences import ALLOWED_DIFFERENCES
from tests.conformance.replayed import command_output

FIDELITY = Path(__file__).parents[4] / "controller" / "FIDELITY.md"
SECTION = "## Differs from the recordings on purpose"


def test_the_table_and_the_reasons_have_the_same_names() -> None:
    section = FIDELITY.read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    assert re.findall(r"^\*\*(\S+)\.\*\*", section, re.MULTILINE) == [*ALLOWED_DIFFERENCES, command_output.WHAT_JAVA_PRINTS]
