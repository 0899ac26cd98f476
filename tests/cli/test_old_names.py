"""Old names of parameters on the command line: the error gives the new ones."""

import pytest


@pytest.mark.parametrize(
    ("ranker", "setting", "said"),
    [
        ("mprank", "C=2", "mprank has no parameter 'C'. C is now lam = 1/C."),
        ("elmrank", "C=cv", "elmrank has no parameter 'C'. C is now alpha = 1/C."),
        ("widrow_hoff", "eta=0.1", "eta is now learning_rate."),
    ],
)
def test_settings_of_rankers(rankwise, ranker, setting, said):
    found = rankwise("cv", "data.csv", "--ranker", ranker, "--set", setting)
    assert found.code == 2
    assert said in found.err
