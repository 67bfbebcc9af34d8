"""The list of deliberate faults can be applied to the source as it is now; `make mutants` tries them."""

from __future__ import annotations

import pytest
from mutants import ROOT, Mutant, mutants

FAULTS = mutants([])


def test_there_are_faults_in_every_room():
    assert len(FAULTS) >= 150
    rooms = {path.name for path in (ROOT / "src" / "latebloom").iterdir() if (path / "__init__.py").exists()}
    assert rooms - {fault.path.split("/")[0] for fault in FAULTS} <= {"bench"}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_found_once_and_has_its_tests(fault: Mutant):
    source = (ROOT / "src" / "latebloom" / fault.path).read_text(encoding="utf-8")
    assert source.count(fault.before) == 1
    assert fault.after != fault.before
    assert all((ROOT / name).exists() for name in fault.tests)
