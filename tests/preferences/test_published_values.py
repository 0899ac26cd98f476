"""Estimates that the R packages BradleyTerry2 and PlackettLuce, and the papers, publish."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.preferences import PairwisePreferences
from tests.preferences.published import JOURNALS, list_baseball, list_citations, list_puddings


def fit(data, **options):
    pairs, outcomes, numbers = data
    return PairwisePreferences(covariance="information", **options).fit(
        pairs, outcomes, sample_weight=numbers
    )


def test_citations():
    """Turner & Firth, "Bradley-Terry models in R", Journal of Statistical Software 48(9), p. 4."""
    model = fit(list_citations(), reference="Biometrika")
    assert tuple(model.items_) == JOURNALS
    np.testing.assert_allclose(model.strengths_, [0, -2.94907, -0.47957, 0.26895], atol=1e-5)
    np.testing.assert_allclose(model.standard_errors_, [0, 0.10255, 0.06059, 0.07083], atol=1e-5)


def test_citations_all_pairs_differ():
    """Every journal's place is certain: the smallest t of a pair is 3.8."""
    ranks = fit(list_citations()).rank_intervals()
    assert ranks.rank.tolist() == ranks.low.tolist() == ranks.high.tolist() == [2, 4, 3, 1]


@pytest.mark.parametrize(
    ("home", "strengths", "errors"),
    [
        (False, [0, 1.1077, 0.6839, 1.4364, 1.5814, 1.2476, 1.2945],
         [0, 0.3339, 0.3319, 0.3396, 0.3433, 0.3359, 0.3367]),
        (True, [0, 1.1438, 0.7047, 1.4754, 1.6196, 1.2813, 1.3271],
         [0, 0.3378, 0.3350, 0.3446, 0.3474, 0.3404, 0.3403]),
    ],
)  # fmt: skip
def test_baseball(home, strengths, errors):
    """Turner & Firth, section 4.1: summaries of baseballModel1 and baseballModel2."""
    model = fit(list_baseball(), order_effect=home, reference="Baltimore")
    np.testing.assert_allclose(model.strengths_, strengths, atol=5.1e-5)
    np.testing.assert_allclose(model.standard_errors_, errors, atol=5.1e-5)
    if home:
        assert model.effect_names_.tolist() == ["order"]
        np.testing.assert_allclose(
            [*model.effects_, *model.effect_errors_], [0.3023, 0.1309], atol=5.1e-5
        )


def test_baseball_deviances():
    """Deviances 44.053 on 36 and 38.643 on 35 degrees of freedom: Agresti, section 10.6.3."""
    pairs, outcomes, numbers = list_baseball()
    wins, losses = np.array(numbers).reshape(2, -1)
    n = wins + losses
    saturated = sum(float(k[k > 0] @ np.log(k[k > 0] / n[k > 0])) for k in (wins, losses))
    deviances = [
        2 * (saturated - fit((pairs, outcomes, numbers), order_effect=home).log_likelihood_)
        for home in (False, True)
    ]
    np.testing.assert_allclose(deviances, [44.053, 38.643], atol=5.1e-4)


def test_puddings():
    """Davidson (1970), as in PlackettLuce's vignette, section 2.

    The estimates there are those after 7 steps of iterative scaling, as in the paper: they differ
    from the maximum by up to 1.3e-4, the standard errors by less than 1e-6.
    """
    model = fit(list_puddings())
    published = [-0.176581, 0.043664, -0.023617, -0.001295, -0.042726, 0.200555]
    errors = [0.121949, 0.121818, 0.126823, 0.122003, 0.127054, 0.126594]
    np.testing.assert_allclose(model.strengths_, published, atol=1.5e-4)
    np.testing.assert_allclose(model.standard_errors_, errors, atol=1e-6)
    np.testing.assert_allclose(model.effects_, [-0.291938], atol=2e-5)
    np.testing.assert_allclose(model.effect_errors_, [0.082499], atol=1e-6)
    assert -2 * model.log_likelihood_ == pytest.approx(1619.4, abs=0.051)
    assert model.rank_intervals().low.tolist() == [1] * 6
