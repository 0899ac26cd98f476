"""``fit``, ``predict``, ``info``: the way of a model through files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

import rankwise as rw
from rankwise.datasets import load_dataset, read_letor, read_run, write_letor

from .conftest import judged_data


def test_a_fitted_model_predicts_what_the_estimator_does(rankwise, letor_file, tmp_path):
    model, scores = tmp_path / "models" / "ridge.skops", tmp_path / "scores.txt"
    fitted = rankwise("fit", letor_file, "--ranker", "ridge", "--set", "alpha=0.5", "--out", model)
    assert fitted.code == 0, fitted.err
    assert fitted.out.splitlines()[-1] == str(model)
    assert rankwise("predict", model, letor_file, "--out", scores).code == 0
    data = read_letor(letor_file)
    expected = rw.RidgeRanker(alpha=0.5).fit(data.X, data.y, qid=data.qid).predict(data.X)
    np.testing.assert_array_equal(np.loadtxt(scores), expected)
    np.testing.assert_array_equal(rw.load(model).predict(data.X), expected)
    on_stdout = rankwise("predict", model, letor_file)
    assert on_stdout.out == scores.read_text()


def test_rows_are_scored_within_their_query_where_the_model_asks_for_it(
    rankwise, letor_file, tmp_path
):
    data = read_letor(letor_file)
    members = [rw.LinearRegressionRanker(), rw.RidgeRanker(alpha=9.0)]
    stack = rw.StackingRanker(members, cv=3, random_state=0).fit(data.X, data.y, qid=data.qid)
    stack.save(tmp_path / "stack")
    told = rankwise("predict", tmp_path / "stack", letor_file, "--json")
    assert told.code == 0, told.err
    np.testing.assert_array_equal(told.json["scores"], stack.predict(data.X, qid=data.qid))

    with sklearn.config_context(enable_metadata_routing=True):
        ordinal = make_pipeline(
            rw.features.QueryScaler(), rw.ORBoost(n_estimators=20, random_state=0)
        )
        ordinal.fit(data.X, data.y, qid=data.qid)
        classes = ordinal.predict(data.X, qid=data.qid)
    rw.save(ordinal, tmp_path / "ordinal")
    told = rankwise("predict", tmp_path / "ordinal", letor_file, "--classes", "--json")
    np.testing.assert_array_equal(told.json["classes"], classes)


def test_without_a_ranker_several_are_tried_and_blended(rankwise, letor_file, tmp_path):
    settings = ("--set", "time_budget=None", "--set", "n_trials=4", "--set", "cv=3")
    fitted = rankwise("fit", letor_file, *settings, "--out", tmp_path / "m")
    assert fitted.code == 0, fitted.err
    model = rw.load(tmp_path / "m")
    assert isinstance(model, rw.AutoRanker)
    assert model.report() in fitted.out
    told = rankwise("fit", letor_file, *settings, "--out", tmp_path / "m", "--json")
    assert [one["trial"] for one in told.json["history"]] == [
        one["trial"] for one in model.history_
    ]


def test_real_labels_are_fitted_by_misranking(rankwise, tmp_path):
    data = judged_data(0)
    lines = [
        f"{label - 2.5} qid:{query} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1))
        for label, query, row in zip(data.y, data.qid, data.X.tolist(), strict=True)
    ]
    (tmp_path / "real.txt").write_text("\n".join(lines) + "\n")
    settings = ("--set", "time_budget=None", "--set", "n_trials=2", "--set", "cv=3")
    told = rankwise("fit", tmp_path / "real.txt", *settings, "--out", tmp_path / "m", "--json")
    assert told.code == 0, told.err
    assert told.json["chosen_by"].startswith("Misranking")


def test_the_validation_part_chooses(rankwise, part_files, tmp_path):
    train, vali = part_files[:2]
    run = rankwise(
        "fit", train, "--ranker", "pairwise_elm", "--set", "n_nodes=30", "--set", "C=[0.1, 10]",
        "--vali-data", vali, "--measure", "AP", "--random-state", "3",
        "--out", tmp_path / "m", "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    a, b = read_letor(train), read_letor(vali)
    expected = rw.PairwiseELM(
        n_nodes=30, C=[0.1, 10], measure=run.json["chosen_by"], random_state=3
    ).fit(a.X, a.y, qid=a.qid, X_val=b.X, y_val=b.y, qid_val=b.qid)
    assert run.json["chosen"] == {"C": expected.C_}
    assert run.json["chosen_by"].startswith("AP(")
    assert run.json["validation_rows"] == b.n_samples
    assert [setting["params"]["C"] for setting in run.json["search"]] == [0.1, 10]
    np.testing.assert_array_equal(rw.load(tmp_path / "m").predict(b.X), expected.predict(b.X))


def test_a_fold_of_a_known_set_brings_its_validation_part(rankwise, tmp_path):
    arguments = ("--ranker", "ridge", "--out", tmp_path / "m", "--json")
    whole, fold = (
        rankwise("fit", "lambdarank", *arguments),
        rankwise("fit", "lambdarank:1", *arguments),
    )
    expected = load_dataset("lambdarank", fold=1)
    assert whole.json["chosen"] == fold.json["chosen"]
    assert fold.json["rows"] == expected.train.n_samples
    assert fold.json["validation_rows"] == expected.vali.n_samples
    assert rankwise("predict", tmp_path / "m", "lambdarank:test").out.count("\n") == 768


def test_without_validation_data_the_choice_is_by_cross_validation(rankwise, letor_file, tmp_path):
    run = rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "m")
    assert run.code == 0, run.err
    assert "chosen by nDCG@10 on cross-validation" in run.out
    assert "note: no validation part: alpha by cross-validation over training queries" in run.out


@pytest.mark.parametrize("with_validation", [False, True])
def test_no_number_of_trees_is_chosen_for_a_constant_model(rankwise, tmp_path, with_validation):
    data, vali = tmp_path / "constant.txt", tmp_path / "vali.txt"
    for path, first in ((data, 0), (vali, 9)):
        path.write_text("".join(f"{row % 3} qid:{first + row // 5} 1:1\n" for row in range(30)))
    extra = ("--vali-data", vali) if with_validation else ()
    run = rankwise("fit", data, "--ranker", "lambdamart", "--out", tmp_path / "m", *extra)
    assert run.code == 0, run.err
    assert "n_estimators = " not in run.out


def test_a_trec_run(rankwise, letor_file, tmp_path):
    assert rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "m").code == 0
    for out, extra in (("s.run", ()), ("other", ("--format", "trec", "--tag", "mine"))):
        run = rankwise("predict", tmp_path / "m", letor_file, "--out", tmp_path / out, *extra)
        assert run.code == 0, run.err
    data = read_letor(letor_file)
    scores = rw.load(tmp_path / "m").predict(data.X)
    run = read_run(tmp_path / "other")
    assert run.tag == "mine"
    found = dict(zip(run.doc_ids.tolist(), run.scores.tolist(), strict=True))
    assert found == dict(zip(data.doc_ids.tolist(), scores.tolist(), strict=True))
    assert read_run(tmp_path / "s.run").tag == "rankwise"


def test_text_without_the_last_columns_fits_the_model(rankwise, letor_file, tmp_path):
    assert rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "m").code == 0
    narrow = judged_data(3, n_features=3)
    write_letor(narrow, tmp_path / "narrow.txt")
    run = rankwise("predict", tmp_path / "m", tmp_path / "narrow.txt")
    assert run.code == 0, run.err
    padded = np.hstack([narrow.X, np.zeros((narrow.n_samples, 1), np.float32)])
    np.testing.assert_allclose(
        [float(line) for line in run.out.splitlines()], rw.load(tmp_path / "m").predict(padded)
    )


def test_info_says_what_the_file_says(rankwise, letor_file, tmp_path):
    model = tmp_path / "m"
    rankwise("fit", letor_file, "--ranker", "ridge", "--set", "alpha=4", "--out", model)
    run = rankwise("info", model, "--json")
    assert run.code == 0, run.err
    assert run.json["estimator"].endswith("RidgeRanker")
    assert run.json["params"]["alpha"] == 4
    assert run.json["n_features"] == 4
    assert run.json["rankwise"] == rw.__version__
    shown = rankwise("info", model).out
    assert "params.alpha" in shown
    assert "fingerprint.n_samples    96" in shown


def test_info_shows_importances_by_name(rankwise, tmp_path):
    data = judged_data(0)
    frame = pd.DataFrame(data.X, columns=["bm25", "age", "length", "clicks"])
    frame.assign(label=data.y, qid=data.qid).to_csv(tmp_path / "log.csv", index=False)
    arguments = ("fit", tmp_path / "log.csv", "--out", tmp_path / "m", "--ranker")
    rankwise(*arguments, "rank_boost", "--set", "n_estimators=9")
    model = rw.load(tmp_path / "m")
    run = rankwise("info", tmp_path / "m", "--importances", "--json")
    assert run.code == 0, run.err
    ranked = run.json["importances"]
    assert next(iter(ranked)) == "bm25" and set(ranked) == set(frame)
    np.testing.assert_allclose([ranked[name] for name in frame], model.feature_importances_)
    assert list(ranked.values()) == sorted(ranked.values(), reverse=True)
    lines = rankwise("info", tmp_path / "m", "--importances").out.splitlines()
    heading = next(
        i for i, line in enumerate(lines) if line.split()[-1:] == ["feature_importances_"]
    )
    assert lines[heading + 2].split()[0] == "bm25"
    assert "importances" not in rankwise("info", tmp_path / "m", "--json").json
    rankwise(*arguments, "pairwise_elm", "--set", "n_nodes=5")
    run = rankwise("info", tmp_path / "m", "--importances")
    assert run.code == 1 and "one weight per feature in coef_, got PairwiseELM" in run.err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("--set", "C=1"), "--set: ridge has no parameter 'C'. C is now alpha"),
        (("--set", "alhpa=1"), "--set: ridge has no parameter 'alhpa'. Did you mean 'alpha'?"),
        (("--set", "alpha"), "--set must be NAME=VALUE, got 'alpha'."),
        (("--set", "=1"), "--set must be NAME=VALUE, got '=1'."),
        (
            ("--set", "alpha=1", "--set", "alpha = 2"),
            "--set alpha=2 and --set alpha=1: set it once.",
        ),
        (("--measure", "nope"), "unknown measure 'nope'."),
    ],
)
def test_wrong_settings_are_exit_code_two(rankwise, letor_file, tmp_path, settings, message):
    run = rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "m", *settings)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("ranker", "settings", "message"),
    [
        (
            "ridge(alpha=2)",
            ("--set", "alpha=3"),
            "--set alpha=3 and --ranker ridge(alpha=2) both set alpha. Set it once.",
        ),
        ("ridge(alpha=2, alpha=3)", (), "--ranker: 'ridge(alpha=2, alpha=3)' sets alpha twice."),
    ],
)
@pytest.mark.parametrize("command", ["fit", "cv"])
def test_a_parameter_is_set_once(
    rankwise, letor_file, tmp_path, command, ranker, settings, message
):
    out = ("--out", tmp_path / "m") if command == "fit" else ()
    run = rankwise(command, letor_file, "--ranker", ranker, *settings, *out)
    assert (run.code, run.out) == (2, "") and run.err.startswith(f"error: {message}")
    assert not (tmp_path / "m").exists()


def test_a_bad_value_of_a_parameter_is_exit_code_two(rankwise, letor_file, tmp_path):
    for options in (["--ranker", "ridge", "--set", "alpha=-1"], ["--ranker", "ridge(alpha=-1)"]):
        run = rankwise("fit", letor_file, *options, "--out", tmp_path / "m")
        assert run.code == 2
        assert f"{options[-2]}: ridge" in run.err
        assert "'alpha' parameter of RidgeRanker must be" in run.err
        assert run.err.count("\n") == 1


def test_bad_files_are_exit_code_one(rankwise, letor_file, tmp_path):
    (tmp_path / "foreign").write_bytes(b"PK no model")
    run = rankwise("predict", tmp_path / "foreign", letor_file)
    assert run.code == 1
    assert run.err.startswith("error: ")
    assert run.err.count("\n") == 1


def test_what_cannot_be_meant_is_exit_code_two(rankwise, letor_file, tmp_path):
    assert rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "m").code == 0
    for arguments, message in (
        (("predict", tmp_path / "none", letor_file), "is not a model file"),
        (("info", tmp_path / "none"), "is not a model file"),
        (("predict", tmp_path / "m", "lambdarank"), "has folds, but a single table is needed"),
        (("fit", letor_file, "--ranker", "ridge", "--out", tmp_path), "--out must name a file"),
        (("fit", letor_file, "--ranker", "ridge"), "Missing option '--out'"),
        (("fit", "ohsumed:1:best", "--ranker", "ridge", "--out", "m"), "a data set must be NAME"),
    ):
        run = rankwise(*arguments)
        assert run.code == 2, arguments
        assert message in run.err
        assert run.err.count("\n") == (3 if "Missing" in run.err else 1)


def test_what_chooses_by_a_criterion_of_its_own_is_not_said_to_follow_a_measure(
    rankwise, letor_file, tmp_path
):
    arguments = (
        "fit",
        letor_file,
        "--ranker",
        "elmrank",
        "--set",
        "n_draws=2",
        "--set",
        "alpha=cv",
        "--set",
        "lam=cv",
        "--out",
        tmp_path / "m",
    )
    run = rankwise(*arguments)
    assert run.code == 0, run.err
    assert "chosen by its own criterion on cross-validation" in run.out
    facts = rankwise(*arguments, "--json").json
    assert facts["chosen_by"] is None
    model = rw.load(tmp_path / "m")
    for name, values in (("lam", model.lam_), ("alpha", model.alpha_)):
        chosen = facts["chosen"][name]
        assert chosen in (values.tolist(), values[0])
