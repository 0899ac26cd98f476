"""The table of mutations fits the sources and the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankwise
from tests.mutants.__main__ import ROOT, places
from tests.mutants.table import TABLE


def test_every_package_has_a_mutation():
    assert len(TABLE) >= 60
    folder = Path(rankwise.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages <= {mutation.path.split("/")[0] for mutation in TABLE}


@pytest.mark.parametrize("mutation", TABLE, ids=lambda mutation: mutation.path)
def test_the_text_occurs_once_and_the_tests_exist(mutation):
    assert places(mutation, ROOT) == 1
    assert mutation.after != mutation.before
    for test in mutation.tests.split():
        assert (ROOT / "tests" / test.partition("::")[0]).exists(), test
