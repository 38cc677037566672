"""The list of faults that change no behaviour."""

from tests.mutants.__main__ import equivalent_faults
from tests.mutants.changes import changes_of
from tests.mutants.trials import ROOT


def test_every_fault_on_the_list_can_still_be_put_into_the_code() -> None:
    listed = set(equivalent_faults())
    files = {name.split(" ", 1)[0] for name in listed}
    possible = {change.name for file in files for change in changes_of(file, (ROOT / file).read_text(encoding="utf-8"))}
    assert listed - possible == set()


def test_every_reason_is_a_sentence() -> None:
    assert all(reason.endswith(".") for reason in equivalent_faults().values())
