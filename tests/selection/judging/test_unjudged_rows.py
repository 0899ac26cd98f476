"""Rows without a judgement in comparisons: what is learnt from, ranked, counted and said."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rankwise import evaluate
from rankwise.datasets import Fold, Qrels, RankingData, Run
from rankwise.datasets.readers.judged_run import find_missed_documents
from rankwise.report import write_report
from rankwise.selection import Leaderboard, compare, evaluate_systems
from rankwise.selection.judging import difference_bounds as order_check
from tests.selection.helpers import Column, graded_data


def half_judged(rng, share=0.6, **params):
    """Graded rows with document ids, some of them unjudged."""
    data = graded_data(rng, **params)
    names = np.array([f"d{row}" for row in range(len(data))])
    return replace(data, doc_ids=names, judged=rng.random(len(data)) < share)


def notes(board):
    return {row["ranker"]: row["notes"] for row in board.rows()}


def columns(n=3):
    return {f"s{number}": Column(number) for number in range(n)}


MEASURES = ["nDCG@5", "P@3", "AP", "Judged@5"]


@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_rows_and_runs_of_the_same_documents_are_treated_alike(rng, preset):
    data = half_judged(rng, as_text=True)
    data = replace(data, X=data.X.astype(np.float32).astype(float))
    systems = {f"s{number}": data.X[:, number] for number in range(3)}
    of_rows = evaluate_systems(data, systems, measures=MEASURES, preset=preset)
    runs = {name: Run.from_data(data, scores) for name, scores in systems.items()}
    of_runs = evaluate_systems(Qrels.from_data(data), runs, measures=MEASURES, preset=preset)
    order = [of_runs.qids.tolist().index(qid) for qid in of_rows.qids.tolist()]
    for name in systems:
        for spec in MEASURES:
            values = of_runs.per_query(spec)[name][order]
            np.testing.assert_allclose(of_rows.per_query(spec)[name], values)
            if spec != "Judged@5":
                assert of_rows.unjudged(name, spec) == pytest.approx(of_runs.unjudged(name, spec))
    assert notes(of_rows) == notes(of_runs)
    assert any(
        "could change the order" in note for said in notes(of_rows).values() for note in said
    )
    result = evaluate(data, data.X[:, 0], MEASURES, preset=preset)
    assert result.unjudged["P@3"] == pytest.approx(of_rows.unjudged("s0", "P@3"))
    assert "% unjudged)" in str(result)


def naive_bounds(tests, first, second, measure):
    """Lowest and highest difference of the mean of fold means, over all completions."""
    depth = int(measure[-1])
    ends = []
    for test in tests:
        found = []
        for query in range(test.n_queries):
            part = test.queries([query])
            best = max(*(part.grades.max() for part in tests), 1.0)
            top = [np.argsort(-part.X[:, column])[:depth] for column in (first, second)]
            open_rows = [row for row in np.union1d(*top) if not part.judged[row]]
            values = []
            for grades in product((0.0, best), repeat=len(open_rows)):
                y = part.grades.copy()
                y[open_rows] = grades
                of_both = [measure_of(y, part.X[:, column], measure) for column in (first, second)]
                values.append(of_both[0] - of_both[1])
            found.append((min(values), max(values)))
        ends.append(np.mean(found, axis=0))
    return np.mean(ends, axis=0)


def measure_of(y, scores, measure):
    values = evaluate(y, scores, None, measure).per_query[measure]
    return float(np.nan_to_num(values)[0])


@pytest.mark.filterwarnings("ignore::rankwise.metrics.UndefinedMeasureWarning")
@pytest.mark.parametrize("measure", ["P@3", "DCG@4", "nDCG(empty=0)@3"])
def test_bounds_over_folds_are_those_of_all_completions(rng, measure):
    data = half_judged(rng, n_queries=6, docs=6)
    board = compare(columns(2), data, cv=3, measures=measure, isolate=False)
    infos = [np.isin(data.qid, info.qids) for info in board.fold_infos]
    tests = [data.take(np.flatnonzero(rows)) for rows in infos]
    better, worse = (row["ranker"] for row in board.rows())
    low, high = naive_bounds(tests, int(better[1]), int(worse[1]), measure)
    [note] = notes(board)[better]
    assert notes(board)[worse] == [note]
    difference = board.rows()[0]["mean"] - board.rows()[1]["mean"]
    assert f"{better} and {worse} ({difference:+.4f}, between {low:+.4f} and {high:+.4f})" in note


def test_rankers_learn_from_judged_rows_only(rng, tmp_path):
    data = half_judged(rng)
    whole = Fold(data.queries(range(10)), data.queries(range(10, 15)), data.queries(range(15, 20)))
    part = Fold(whole.train.only_judged(), whole.vali.only_judged(), whole.test)
    rankers = ["ridge", "lambdamart", "ranking_tree"]
    boards = [compare(rankers, fold, isolate=False) for fold in (whole, part)]
    for name in rankers:
        cells = [board.cell(name, "fold1") for board in boards]
        np.testing.assert_array_equal(cells[0].scores, cells[1].scores)
        assert cells[0].chosen == cells[1].chosen
    n = int((~whole.train.judged).sum())
    line = f"fitted on judged rows only: {n} of 80 rows of the training part are unjudged"
    assert line in str(boards[0]) and "judged rows only" not in str(boards[1])
    report = write_report(boards[0], tmp_path / "report.html", data=whole).read_text("utf-8")
    assert line in report and "labels that are not numbers" not in report
    again = Leaderboard.from_dict(boards[0].to_dict())
    assert line in str(again) and notes(again) == notes(boards[0])
    info = boards[0].fold_infos[0]
    assert info.n_train + info.n_unjudged == 80 and info.n_unjudged == n


def test_processes_and_stores_keep_the_notes(rng, tmp_path):
    data = half_judged(rng)
    board = compare(columns(), data, cv=2, measures="P@3", isolate=False)
    assert any(notes(board).values())
    for options in ({"n_jobs": 2}, {"store": tmp_path}, {"store": tmp_path}):
        found = compare(columns(), data, cv=2, measures="P@3", **options)
        assert notes(found) == notes(board)
        assert found.unjudged("s0") == board.unjudged("s0") > 0.2


def test_complete_judgements_need_no_note(rng):
    data = half_judged(rng, share=2)
    board = compare(columns(), data, cv=2, measures="P@3", isolate=False)
    assert not any(notes(board).values()) and board.unjudged("s0") == 0
    unknown = compare(columns(), replace(data, judged=None), cv=2, measures="P@3", isolate=False)
    assert unknown.unjudged("s0") is None
    assert unknown.per_query()["s0"].tolist() == board.per_query()["s0"].tolist()


def test_runs_that_miss_rows_and_missed_documents(rng):
    data = half_judged(rng, as_text=True)
    qrels = Qrels.from_data(data)
    kept = data.take(np.flatnonzero(rng.random(len(data)) < 0.8))
    missed = find_missed_documents(qrels, kept.qid, kept.doc_ids)
    table = replace(kept, missed=missed)
    run = Run.from_data(kept, kept.X[:, 0])
    few = rng.random(len(run)) < 0.7
    run = Run(run.qid[few], run.doc_ids[few], run.scores[few])
    systems = {"run": run, "column": kept.X[:, 1]}
    of_rows = evaluate_systems(table, systems, measures=["P@3", "nDCG@5"])
    runs = {"run": run, "column": Run.from_data(kept, kept.X[:, 1])}
    of_runs = evaluate_systems(qrels, runs, measures=["P@3", "nDCG@5"], all_queries=True)
    for spec in ("P@3", "nDCG@5"):
        for name in systems:
            assert of_rows.unjudged(name, spec) == pytest.approx(of_runs.unjudged(name, spec))
    for name in systems:
        changed = [note for note in notes(of_rows)[name] if "could change" in note]
        assert changed == [note for note in notes(of_runs)[name] if "could change" in note]
        assert changed


def test_long_data_say_what_was_not_checked(rng, monkeypatch):
    monkeypatch.setattr(order_check, "_MOST_DOCUMENTS", 100)
    data = half_judged(rng)
    board = compare(columns(2), data, cv=2, measures=["AP", "P@3"], isolate=False)
    for said in notes(board).values():
        assert said[-1].startswith("AP: not checked whether unjudged documents could change")


def test_measures_that_compare_labels_are_refused(rng):
    data = half_judged(rng)
    with pytest.raises(
        ValueError, match=r"Tau.* compares the labels of all rows, but \d+ rows are"
    ):
        compare(columns(2), data, cv=2, measures="Tau", isolate=False)
    with pytest.raises(ValueError, match="the training part has no judged row"):
        none = graded_data(rng)
        none = replace(none, judged=~np.isin(none.qid, none.groups.ids[:10]))
        fold = Fold(none.queries(range(10)), None, none.queries(range(10, 20)))
        compare(columns(2), fold, measures="P@3", isolate=False)


def test_ordinal_rankers_show_ranks_of_judged_rows(rng):
    data = half_judged(rng)
    fold = Fold(data.queries(range(10)), None, data.queries(range(10, 20)))
    cell = compare(["ranking_tree"], fold, measures="P@3", isolate=False).cells[0]
    assert cell.status == "done", cell.message
    assert np.sum(cell.ranks["counts"]) == fold.test.judged.sum()


@pytest.mark.parametrize("label", ["missing", -1])
def test_frames_name_the_label_of_unjudged_rows(rng, label):
    pd = pytest.importorskip("pandas")
    data = half_judged(rng)
    y = np.where(data.judged, data.y, np.nan if label == "missing" else label)
    frame = pd.DataFrame({"qid": data.qid, "doc_id": data.doc_ids, "label": y})
    frame = frame.assign(**{f"f{j}": data.X[:, j] for j in range(4)})
    words = {"cv": 2, "measures": "P@3", "isolate": False}
    board = compare(columns(2), frame, unjudged=label, **words)
    assert board.unjudged("s0") == compare(columns(2), data, **words).unjudged("s0")
    systems = {"a": "column:f0", "b": "column:f1"}
    assert evaluate_systems(frame, systems, unjudged=label).unjudged("a") > 0.2
    if label == "missing":
        with pytest.raises(ValueError, match="label must be finite, column 'label' has nan"):
            compare(columns(2), frame, **words)
    marked = replace(data, y=y, judged=None)
    if label == -1:
        again = compare(columns(2), marked, unjudged=label, **words)
        assert again.unjudged("s0") == board.unjudged("s0")
    with pytest.raises(TypeError, match="unjudged needs a frame or a RankingData, got Fold"):
        compare(columns(2), Fold(data, None, data), unjudged=label)
    with pytest.raises(
        ValueError, match="unjudged must be a number such as -1, or 'missing', got 'no"
    ):
        compare(columns(2), frame, unjudged="nothing", **words)
    assert isinstance(RankingData.from_frame(frame, unjudged=label).judged, np.ndarray)
