"""Calls that a user of another library writes: the error says what the argument is called here."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LambdaMART, ORBoost, RidgeRanker, StackingRanker
from rankwise.labels import PLST

X = np.arange(24.0).reshape(12, 2) % 7
y = np.arange(12) % 3
qid = np.arange(12) // 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"group": [4, 4, 4]},
            r"RidgeRanker.fit takes no argument 'group'. Pass qid.*np|numpy.rep",
        ),
        ({"groups": qid}, "takes no argument 'groups'. Pass qid, one query id per row"),
        ({"eval_set": [(X, y)]}, "'eval_set'. Pass validation rows as X_val, y_val and qid_val"),
        ({"eval_group": [[4]]}, "'eval_group'.*qid_val"),
        ({"weight": y}, "'weight'. Pass sample_weight"),
        ({"sampel_weight": y}, "Did you mean 'sample_weight'"),
        ({"verbose": 1}, "It takes X, y, qid, sample_weight, X_val, y_val, qid_val"),
    ],
)
def test_names_of_other_libraries_are_answered(given, said):
    with pytest.raises(TypeError, match=said):
        RidgeRanker().fit(X, y, **given)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("categorical_feature", "categorical_features"),
        ("cat_features", "categorical_features"),
        ("early_stopping_rounds", "early_stopping_rounds"),
        ("eval_at", "measure"),
        ("eval_metric", "measure"),
        ("num_boost_round", "n_estimators"),
        ("learning_rate", "learning_rate"),
    ],
)
def test_arguments_that_are_parameters_of_the_estimator(name, setting):
    said = rf"LambdaMART.fit takes no argument '{name}'\. Set it in .*: LambdaMART\({setting}=…\)"
    with pytest.raises(TypeError, match=said):
        LambdaMART().fit(X, y, qid=qid, **{name: 1})
    with pytest.raises(TypeError, match=rf"PLST.fit takes no argument '{name}'\. It takes X, y"):
        PLST().fit(X, np.eye(3)[y], **{name: 1})


def test_arguments_of_fit_are_sent_there():
    for name in ("callbacks", "verbose", "qid", "X_val"):
        said = rf"LambdaMART takes no argument '{name}'. Pass it to fit."
        with pytest.raises(TypeError, match=said):
            LambdaMART(**{name: 1})
    with pytest.raises(TypeError, match=r"RidgeRanker takes no argument 'verbose'. It takes alpha"):
        RidgeRanker(verbose=1)
    pytest.importorskip("xgboost", reason="needs rankwise[gbdt]")
    from rankwise import XGBoostRanker

    with pytest.raises(TypeError, match=r"Set it in .*: XGBoostRanker\(early_stopping_rounds=…\)"):
        XGBoostRanker().fit(X, y, qid=qid, callbacks=[])


def test_no_argument_is_advised_that_the_method_lacks():
    with pytest.raises(TypeError, match=r"PLST.fit takes no argument 'group'. It takes X, y"):
        PLST().fit(X, np.eye(3)[y], group=[12])


def test_sizes_of_queries_become_ids_as_the_message_says():
    group = [4, 3, 5]
    ids = np.repeat(np.arange(len(group)), group)
    assert np.bincount(ids).tolist() == group


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ranker: ranker.fit(), r"RidgeRanker.fit\(\) missing"),
        (lambda ranker: ranker.score(X, y, y, 1), r"RidgeRanker.score\(\) takes"),
        (lambda ranker: ranker.rank(X, y, y), r"RidgeRanker.rank\(\) takes"),
        (
            lambda ranker: ranker.predict(X, qids=qid),
            "RidgeRanker.predict takes no argument 'qids'",
        ),
        (
            lambda _: ORBoost().fit(X, y, group=[12]),
            "ORBoost.fit takes no argument 'group'. Pass q",
        ),
    ],
)
def test_errors_name_the_class_that_the_user_calls(call, said):
    with pytest.raises(TypeError, match=said):
        call(RidgeRanker().fit(X, y, qid=qid))


def test_type_errors_from_within_pass():
    class Broken(RidgeRanker):
        def predict(self, X):
            return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        Broken().fit(X, y, qid=qid).predict(X)
    with pytest.raises(TypeError, match="StackingRanker"):
        StackingRanker().fit()


OLD_NAMES = {
    "rankwise.rankers.evaluate_stream": ("ranker", "estimator"),
    "rankwise.explain_pair": ("ranker", "estimator"),
    "rankwise.explain_ranking": ("ranker", "estimator"),
    "rankwise.explain.explain_scores": ("ranker", "estimator"),
    "rankwise.explain.feature_effect": ("ranker", "estimator"),
    "rankwise.explain.feature_importances": ("model", "estimator"),
    "rankwise.explain.permutation_importances": ("model", "estimator"),
    "rankwise.clicks.simulate_clicks": ("ranker", "estimator"),
    "rankwise.clicks.ClickRanker": ("ranker", "estimator"),
    "rankwise.clicks.off_policy": ("estimator", "method"),
    "rankwise.datasets.summarize_rows": ("model", "estimator"),
    "rankwise.selection.find_drift": ("model", "estimator"),
    "rankwise.distributed.fit": ("ranker", "estimator"),
    "rankwise.distributed.predict": ("ranker", "estimator"),
    "rankwise.distributed.evaluate": ("ranker", "estimator"),
    "rankwise.distributed.plan": ("ranker", "estimator"),
    "rankwise.MPRank": ("C", "lam = 1/C"),
    "rankwise.ELMRank": ("C", "alpha = 1/C"),
    "rankwise.RankNet": ("alpha", "lam"),
    "rankwise.LambdaRank": ("alpha", "lam"),
    "rankwise.ListNet": ("alpha", "lam"),
    "rankwise.ListMLE": ("alpha", "lam"),
    "rankwise.BoltzRank": ("alpha", "lam"),
    "rankwise.WidrowHoff": ("eta", "learning_rate"),
    "rankwise.labels.CompressedSensing": ("max_steps", "max_iter"),
    "rankwise.features.Nystroem": ("n_landmarks", "n_components"),
}


@pytest.mark.parametrize("path", OLD_NAMES)
def test_old_names_are_told_their_new_ones(path):
    old, new = OLD_NAMES[path]
    package, _, name = path.rpartition(".")
    function = getattr(pytest.importorskip(package), name)
    with pytest.raises(
        TypeError, match=rf"^{name} takes no argument '{old}'\. {old} is now {new}\.$"
    ):
        function(**{old: None})
    if isinstance(function, type) and name != "ClickRanker":
        with pytest.raises(ValueError, match=rf"^{name}: {old} is now {new}\.$"):
            function().set_params(**{old: None})
