"""Results of other programs: folders as these write them, and their objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise import evaluate
from rankwise.integrations.results import read_results
from tests.integrations.result_folders import (
    TASKS,
    VALUES,
    beir,
    lm_evaluation,
    mteb,
    mteb_task,
    old_mteb,
    sentence_transformers,
    write,
)
from tests.metrics._peers import ranx_uncompiled


@pytest.mark.parametrize(
    ("make", "measures", "left_out"),
    [
        (mteb, None, {}),
        (mteb, "nDCG@10", {}),
        (old_mteb, ["MRR@10", "ndcg@10"], {}),
        (
            sentence_transformers,
            "ndcg@10",
            {"earlier evaluations": 12, "means over tasks": 2},
        ),
        (lm_evaluation, "acc", {"repeated results": 12, "means over tasks": 4}),
        (lm_evaluation, ["acc:none"], {"repeated results": 12, "means over tasks": 4}),
        (lm_evaluation, None, {"repeated results": 12, "means over tasks": 4}),
        (beir, "NDCG@10", {}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*broken.json is not JSON")
def test_folders_give_the_values_that_were_written(tmp_path, make, measures, left_out):
    make(tmp_path)
    write(tmp_path / "a" / "other.json", {"some": "thing"})
    write(tmp_path / "a" / "broken.json", "{")
    found = read_results(tmp_path, measures=measures)
    named = {name.replace("__", "/"): row for name, row in found.scores.items()}
    plain = {n: {t.removesuffix("_@10"): v for t, v in r.items()} for n, r in named.items()}
    assert plain.keys() == VALUES.keys()
    for system, row in VALUES.items():
        assert plain[system] == pytest.approx(row, abs=1e-15)
    held = {k: v for k, v in found.left_out.items() if k != "files that hold no results"}
    assert held == left_out
    assert found.left_out["files that hold no results"] == 2


def test_splits_subsets_and_tasks_are_chosen(tmp_path):
    mteb(tmp_path)
    only = tmp_path / "org__bad" / "1a2b3c" / "Task0.json"
    write(only, mteb_task("Task0", {"dev": {"default": 0.1}}))
    found = read_results(tmp_path, subsets=["de"], tasks=TASKS[:3])
    assert found.scores["org/good"] == pytest.approx({"Task0": 0.65, "Task1": 0.55, "Task2": 0.45})
    assert list(found.scores["org/bad"]) == ["Task1", "Task2"]
    assert found.left_out == {
        "results of other splits or subsets": 6, "results of other tasks": 6,
    }  # fmt: skip
    # A mean over fewer subsets is another quantity.
    assert read_results(tmp_path).left_out == {"results without all subsets": 1}
    assert read_results(tmp_path, split="dev").scores == {"org/bad": {"Task0": 0.1}}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # A subset or split that only one model has does not remove the others.
        ([{"test": {"en": 0.5}}, {"test": {"en": 0.6}}, {"test": {"en": 0.7, "xx": 0}}],
         [0.5, 0.6, 0.7]),
        ([{"test": {"en": 0.5}, "train": {"en": 1.0}}, {"test": {"en": 0.6}}], [0.5, 0.6]),
        # Without a test split, the value is the mean over all splits, as in mteb.
        ([{"long": {"en": 0.5}, "short": {"en": 0.7}}, {"long": {"en": 0}, "short": {"en": 1}}],
         [0.6, 0.5]),
        ([{"dev": {"en": 0.5}}, {"dev": {"en": 0.6}, "train": {"en": 1}}, {"dev": {"en": 0.8}}],
         [0.5, 0.6, 0.8]),
        ([{"dev": {"test": 0.5}}, {"dev": {"test": 0.6}}], [0.5, 0.6]),
        # Of as many models each, the more complete ones.
        ([{"test": {"en": 0.5}}, {"test": {"en": 0.6, "fr": 0.8}}], [None, 0.7]),
        ([{"test": {"en": float("nan")}}, {"test": {"en": 0.6}}], [None, 0.6]),
    ],
)  # fmt: skip
def test_splits_and_subsets_that_most_models_have_count(tmp_path, scores, expected):
    for number, content in enumerate(scores):
        write(tmp_path / f"o__m{number}" / "r" / "T.json", mteb_task("T", content))
    found = read_results(tmp_path).scores
    values = [found.get(f"o/m{number}", {}).get("T") for number in range(len(scores))]
    assert values == pytest.approx(expected)


def test_revisions_are_systems_if_they_share_tasks(tmp_path):
    """As in mteb's own boards, revisions without common tasks complete each other."""
    mteb(tmp_path)
    for revision, tasks in (("external", TASKS[3:]), ("1a2b3c", TASKS[:3])):
        for task in tasks:
            write(tmp_path / "o__split" / revision / f"{task}.json",
                  mteb_task(task, {"test": {"default": 0.75, "de": 0.25}}))  # fmt: skip
    found = read_results(tmp_path).scores
    assert found["o/split"] == dict.fromkeys(found["org/good"], 0.5)
    source = (tmp_path / "org__good" / "1a2b3c" / "Task1.json").read_text()
    write(tmp_path / "org__good" / "other" / "Task1.json", source)
    write(tmp_path / "o__split" / "1a2b3c" / "experiments" / "dim=8" / "Task1.json", source)
    assert sorted(read_results(tmp_path).scores) == [
        "o/split", "o/split dim=8", "org/bad", "org/good 1a2b3c", "org/good other"
    ]  # fmt: skip
    alone = read_results(tmp_path / "org__bad" / "1a2b3c").scores
    assert alone == {"org/bad": pytest.approx(VALUES["org/bad"])}


def test_samples_are_units(tmp_path):
    lm_evaluation(tmp_path)
    write(tmp_path / "org__good" / "samples_old.jsonl", "{}")
    found = read_results(tmp_path, measures="acc:strict", samples=True, tasks=TASKS[:2])
    for system, row in VALUES.items():
        expected = {f"{t} {doc}": row[t] + doc for t in TASKS[:2] for doc in range(2)}
        assert found.scores[system] == pytest.approx(expected, abs=1e-15)
    assert found.left_out == {
        "files that hold no results": 1, "repeated results": 12, "results of other tasks": 8,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"acc:strict, acc:loose"):  # which filter?
        read_results(tmp_path, measures="acc", samples=True)
    with pytest.raises(ValueError, match="is for folders"):
        read_results({}, samples=True)


@pytest.mark.parametrize("task", ["mmlu[en]", "a*b?", "[!x]", "tâche 1_2"])
def test_samples_of_tasks_with_any_name(tmp_path, task):
    for day, value in ((1, 0.25), (2, 0.75)):
        row = {"doc_id": 0, "filter": "none", "metrics": ["acc"], "acc": value}
        write(tmp_path / "o__m" / f"samples_{task}_2026-01-0{day}T10-15-10.8.jsonl", row)
    found = read_results(tmp_path, samples=True)
    assert found.scores == {"o/m": {f"{task} 0": 0.75}}
    assert found.left_out == {"repeated results": 1}


@pytest.mark.parametrize(
    ("config", "system"),
    [({}, "runs"), ({"model_args": "pretrained=org/x,dtype=auto"}, "org/x"),
     ({"model_args": {"pretrained": "org/x"}}, "org/x")],
)  # fmt: skip
def test_results_of_older_versions_of_lm_eval(tmp_path, config, system):
    content = {"results": {"t": {"acc": 0.5, "acc_stderr": 0.1}}, "config": config}
    write(tmp_path / "runs" / "x.json", content)
    assert read_results(tmp_path, measures="acc").scores == {system: {"t": 0.5}}


@pytest.mark.parametrize(
    ("make", "measures"),
    [
        (beir, "ndcg@10"),
        (sentence_transformers, "ndcg@10"),
        (old_mteb, "ndcg@10"),
        (mteb, None),
    ],
)
def test_folders_of_folders_and_single_models(tmp_path, make, measures):
    """Models in folders of their makers are apart; the folder of a model has its name."""
    for maker in ("x", "y"):
        make(tmp_path / maker)
    found = read_results(tmp_path, measures=measures)
    assert all(len(row) == len(TASKS) for row in found.scores.values())
    if make not in (mteb, old_mteb):  # mteb names models itself, or by the folder above
        assert len(found.scores) == 4
    alone = read_results(tmp_path / "x" / "org__good", measures=measures).scores
    [row] = alone.values()
    assert list(row.values()) == pytest.approx(list(VALUES["org/good"].values()))


def test_nothing_left_is_an_error_with_the_measures(tmp_path):
    beir(tmp_path)
    for words in ({}, {"measures": "recall@7"}):
        with pytest.raises(ValueError, match=r"measures=.*; most results have NDCG@10, MAP@10"):
            read_results(tmp_path, **words)
    with pytest.raises(ValueError, match="tasks must be in the results, but none has 'x'"):
        read_results(tmp_path, measures="NDCG@10", tasks=["x"])
    with pytest.raises(ValueError, match="is not a folder"):
        read_results(tmp_path / "absent")


@pytest.fixture
def lists():
    rng = np.random.default_rng(0)
    queries, documents = [f"q{n}" for n in range(5)], [f"d{n}" for n in range(8)]
    qrels = {q: {d: int(g) for d, g in zip(documents, rng.integers(0, 3, 8), strict=True)}
             for q in queries}  # fmt: skip
    runs = {
        name: {q: dict(zip(documents, rng.random(8).tolist(), strict=True)) for q in queries}
        for name in ("a", "b")
    }
    return qrels, runs


def test_objects_of_ir_measures(lists):
    peer = pytest.importorskip("ir_measures")
    qrels, runs = lists
    measures = [peer.nDCG @ 10, peer.AP]
    expected = {
        name: {m.query_id: m.value for m in peer.iter_calc([peer.AP], qrels, run)}
        for name, run in runs.items()
    }
    for calc in (peer.calc, lambda *words: list(peer.iter_calc(*words)), peer.iter_calc):
        objects = {name: calc(measures, qrels, run) for name, run in runs.items()}
        assert read_results(objects, measures="AP").scores == expected
    scored = {
        name: [peer.ScoredDoc(q, d, s) for q, docs in run.items() for d, s in docs.items()]
        for name, run in runs.items()
    }
    judged = [peer.Qrel(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    found = read_results(scored, qrels=judged, measures="AP").scores
    for name, run in runs.items():
        result = evaluate(qrels=qrels, run=run, measures="AP")
        assert found[name] == dict(zip(result.qids.tolist(), result.per_query["AP"], strict=True))
        assert found[name] == pytest.approx(expected[name])


def test_objects_of_ranx(lists):
    qrels, lists_of = lists
    with ranx_uncompiled() as ranx:
        runs = [ranx.Run(run, name=name) for name, run in lists_of.items()]
        judged = ranx.Qrels(qrels)
        for run in runs:
            ranx.evaluate(judged, run, ["map", "ndcg@5"])
        found = read_results(runs, measures="map").scores
        ours = read_results(runs, measures="AP", qrels=judged).scores
    assert found.keys() == lists_of.keys()
    for name, row in found.items():
        assert row == pytest.approx(ours[name], abs=1e-6)


def test_objects_of_beir():
    measured = {"scifact": ({"NDCG@10": 0.7}, {"MAP@10": 0.4}), "arguana": ({"NDCG@10": 0.5}, {})}
    assert read_results({"m": measured}, measures="ndcg@10").scores == {
        "m": {"scifact": 0.7, "arguana": 0.5}
    }


@pytest.mark.parametrize("make", [mteb, beir])
def test_tasks_that_no_result_has_are_named(tmp_path, make):
    make(tmp_path)
    message = "none has 'Tosk1', 'other'. Did you mean 'Task1'"
    with pytest.raises(ValueError, match=message):
        read_results(tmp_path, measures="ndcg@10", tasks=["Task0", "Tosk1", "other"])
    if make is mteb:
        with pytest.raises(ValueError, match=r"subsets .* none has 'dee'. Did you mean 'de'"):
            read_results(tmp_path, subsets=["default", "dee"])


def test_samples_of_tasks_that_no_result_has(tmp_path):
    lm_evaluation(tmp_path)
    with pytest.raises(ValueError, match=r"none has 'Tosk1'. Did you mean 'Task1'"):
        read_results(tmp_path, measures="acc:strict", samples=True, tasks=["Task0", "Tosk1"])


@pytest.mark.parametrize("source", [
    {"results": {"t": {"acc,none": 0.5}}, "configs": {}, "versions": {}}, ["a", "b"], [Path("a")],
])  # fmt: skip
def test_files_and_their_contents_are_no_sources(source):
    with pytest.raises(ValueError, match=r"source must be a folder, .* Pass the folder"):
        read_results(source, measures="acc")


def test_a_broken_file_is_named_and_counts_are_singular(tmp_path):
    write(tmp_path / "a" / "t.json", {"results": {"t": {"acc,none": 0.5}}})
    write(tmp_path / "a" / "cut.json", '{"results": ')
    with pytest.warns(UserWarning, match=r"cut\.json is not JSON"):
        found = read_results(tmp_path, measures="acc")
    assert str(found) == "1 system, acc on 1 unit; left out: 1 file that holds no results"
