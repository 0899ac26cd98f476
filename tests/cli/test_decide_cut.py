"""``rankwise decide cut``: lists and judgements in, a rule of how many documents to show out."""

import numpy as np
import pytest

from rankwise.decisions import CutRule


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    relevant = rng.random((60, 20)) < 0.1
    relevant[:, 0] = True
    scores = 2.0 * relevant + rng.normal(size=relevant.shape)
    run, qrels = tmp_path / "bm25.run", tmp_path / "qrels.txt"
    cells = [(f"q{q}", f"d{i}", q, i) for q in range(60) for i in range(20)]
    run.write_text("".join(f"{a} Q0 {b} 0 {scores[q, i]} x\n" for a, b, q, i in cells))
    qrels.write_text("".join(f"{a} 0 {b} {relevant[q, i]:d}\n" for a, b, q, i in cells))
    return run, qrels


def test_rule_is_written_and_applied(rankwise, files, tmp_path):
    rule, shown = tmp_path / "rule.json", tmp_path / "shown.run"
    expected = CutRule("recall", 0.7).fit(*files)

    fitted = rankwise("decide", "cut", *files, "--promise", "recall>=0.7", "--out", rule)
    applied = rankwise("decide", "apply", files[0], "--rule", rule, "--out", shown, "--json")

    assert fitted.code == applied.code == 0, fitted.err + applied.err
    assert fitted.out.strip() == str(expected)
    n_shown = expected.decide(files[0]).n_shown
    assert applied.json["n_shown"] == n_shown.tolist()
    assert len(shown.read_text().splitlines()) == n_shown.sum()


def test_exit_code_1_if_the_promise_cannot_be_kept(rankwise, files):
    run = rankwise("decide", "cut", *files, "--promise", "recall>=0.99", "--json")

    assert run.code == 1
    assert run.json["threshold"] is None
    assert run.json["n_queries_needed"] == 299


def test_case_of_the_measure_does_not_matter(rankwise, files):
    run = rankwise("decide", "cut", *files, "--promise", "ndcg>=0.5", "--json")

    assert run.code == 0, run.err
    assert run.json["measure"] == "nDCG"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--promise", "recall<=0.9"), "--promise must be NAME>=NUMBER"),
        (("--promise", "recal>=0.9"), "Did you mean 'recall'"),
        (("--promise", "recall>=90"), "--promise must lie between 0 and 1"),
        (("--promise", "precision>=0.4", "--on-average"), "--on-average is for recall and nDCG"),
        (("--policy", "elbow"), "--policy must be one of 'auto', 'fixed_k'"),
    ],
)
def test_errors_name_the_option(rankwise, files, options, message):
    run = rankwise("decide", "cut", *files, *options)

    assert run.code == 2
    assert message in run.err
