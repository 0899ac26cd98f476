"""Leaderboards of any table: what is read, what is refused, and what the numbers are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import leaderboard
from rankwise.metrics.significance import compare_to_best, pool_run_errors, run_error
from rankwise.metrics.statistics import against_best, sample_size
from rankwise.report import write_report
from rankwise.selection import Leaderboard, evaluate_systems, find_regressions
from rankwise.selection.leaderboard import leaderboard_table

UNITS = ["q1", "q2", "q3", "q4", "q5", "q6"]
WIDE = pd.DataFrame(
    {
        "query": UNITS,
        "new": [0.9, 0.8, 0.7, 0.95, 0.85, 0.9],
        "old": [0.1, 0.2, 0.15, 0.3, 0.2, 0.1],
        "mid": [0.5, 0.4, 0.45, 0.5, 0.6, 0.5],
    }
)
LONG = WIDE.melt("query", var_name="model", value_name="score")
TURNED = WIDE.set_index("query").T.rename_axis("model").reset_index()


def written(table, path, sep=","):
    table.to_csv(path, index=False, sep=sep)
    return path


FORMS = {
    "wide": lambda _: WIDE,
    "long": lambda _: LONG.sample(frac=1, random_state=0),
    "turned": lambda _: TURNED,
    "polars": lambda _: pl.from_pandas(LONG),
    "lazy": lambda _: pl.from_pandas(LONG).lazy(),
    "arrow": lambda _: pl.from_pandas(WIDE).to_arrow(),
    "mapping of mappings": lambda _: {
        name: dict(zip(UNITS, WIDE[name], strict=True)) for name in ("new", "old", "mid")
    },
    "wide csv": lambda folder: written(WIDE, folder / "s.csv"),
    "long tsv": lambda folder: str(written(LONG, folder / "s.tsv", "\t")),
    "semicolons under another name": lambda folder: written(LONG, folder / "s.txt", ";"),
    "turned csv": lambda folder: written(TURNED, folder / "s.csv"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_one_board(form, tmp_path):
    board = leaderboard(FORMS[form](tmp_path))
    expected = compare_to_best({name: WIDE[name] for name in ("new", "old", "mid")})
    rows = {row["ranker"]: row for row in board.rows()}
    assert [row.name for row in expected] == list(rows)
    assert sorted(board.qids) == UNITS
    for row in expected:
        assert rows[row.name]["mean"] == pytest.approx(row.mean)
        # The draws follow the order of the units, which a shuffled table changes.
        assert rows[row.name]["diff"] == pytest.approx(row.difference)


def test_parquet_and_compressed_text(tmp_path):
    LONG.to_parquet(tmp_path / "s.parquet")
    LONG.to_csv(tmp_path / "s.csv.gz", index=False)
    for name in ("s.parquet", "s.csv.gz"):
        assert leaderboard(tmp_path / name).best == "new"


def test_smaller_may_be_better():
    board = leaderboard(WIDE, greater_is_better=False)
    assert [row["ranker"] for row in board.rows()] == ["old", "mid", "new"]
    assert board.rows()[0]["rank_high"] < board.rows()[2]["rank_low"] or (
        board.rows()[0]["rank_low"] == 1
    )


def test_ids_stay_as_written(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("system,task,score\n007,1.0,1\n007,1,2\n7,1.0,3\n7,1,5\n")
    board = leaderboard(path)
    assert sorted(board.rankers) == ["007", "7"]
    assert board.qids.tolist() == ["1.0", "1"]


def test_several_columns_name_a_unit_and_several_scores_are_measures():
    table = pd.DataFrame(
        {
            "agent": ["a", "a", "a", "b", "b", "b"],
            "repo": ["x", "x", "y", "x", "x", "y"],
            "issue": [1, 2, 1, 1, 2, 1],
            "solved": [1, 0, 1, 0, 0, 1],
            "cost": [3.0, 2.0, 1.0, 4.0, 5.0, 6.0],
        }
    )
    board = leaderboard(table, unit=["repo", "issue"], score=["solved", "cost"])
    assert board.measures == ["solved", "cost"]
    assert board.qids.tolist() == ["x / 1", "x / 2", "y / 1"]
    assert board.rows("cost")[0]["ranker"] == "b"


def seeds(rng, n_runs=4, shift=0.0):
    """Values of shape (n_units, n_runs) whose runs differ on all units at once."""
    return rng.random((20, 1)) + 0.3 * rng.normal(size=(1, n_runs)) + shift


def test_runs_enter_the_errors(rng):
    values = {"a": seeds(rng), "b": seeds(rng, 3, 0.2), "one": seeds(rng, 1)}
    board = leaderboard(values)
    errors = pool_run_errors({name: run_error(v) for name, v in values.items() if v.shape[1] > 1})
    expected = compare_to_best({n: v.mean(axis=1) for n, v in values.items()}, run_errors=errors)
    rows = {row["ranker"]: row for row in board.rows()}
    for row in expected:
        assert (rows[row.name]["low"], rows[row.name]["high"]) == pytest.approx((row.low, row.high))
        assert rows[row.name]["rank_low"] == row.rank_low
    assert rows["one"]["notes"] == ["one run only: how much its runs differ is unknown"]
    table = pd.DataFrame(
        [
            {"system": name, "unit": f"u{unit}", "seed": run, "score": value}
            for name, v in values.items()
            for unit, row in enumerate(v)
            for run, value in enumerate(row)
        ]
    )
    again = leaderboard(table, run="seed")
    assert [row["low"] for row in again.rows()] == pytest.approx(
        [row["low"] for row in board.rows()]
    )
    averaged = leaderboard(table, run=False)
    for name, row in {row["ranker"]: row for row in averaged.rows()}.items():
        assert row["mean"] == pytest.approx(rows[name]["mean"])
    assert not averaged.run_errors
    with pytest.raises(ValueError, match="run="):
        leaderboard(table)
    restored = Leaderboard.from_dict(board.to_dict())
    assert str(restored) == str(board)


def test_strata_are_given_and_clusters_are_drawn(rng):
    n = 24
    table = pd.DataFrame(
        {
            "prompt": np.arange(n),
            "task": np.arange(n) % 3,
            "user": np.arange(n) // 4,
            "a": rng.random(n),
            "b": rng.random(n) + 0.1,
        }
    )
    stratified = leaderboard(table.drop(columns="user"), stratum="task")
    expected = compare_to_best({n: table[n] for n in "ab"}, strata=table["task"])
    for row, found in zip(expected, stratified.rows(), strict=True):
        assert (found["mean"], found["low"]) == pytest.approx((row.mean, row.low))
    assert "in 3 strata" in str(stratified)
    clustered = leaderboard(table.drop(columns="task"), cluster="user")
    means = table.groupby("user")[["a", "b"]].mean()
    expected = compare_to_best({n: means[n] for n in "ab"})
    for row, found in zip(expected, clustered.rows(), strict=True):
        assert (found["mean"], found["high"]) == pytest.approx((row.mean, row.high))
    assert "6 clusters" in str(clustered)
    with pytest.raises(ValueError, match="every cluster must lie in one stratum"):
        leaderboard(table, cluster="user", stratum="task")


def with_gaps():
    table = WIDE.copy()
    table.loc[0, "new"] = math.nan
    table.loc[3, "old"] = math.nan
    return table


def test_missing_values_follow_a_rule():
    table = with_gaps()
    with pytest.raises(ValueError, match=r"2 values of 2 systems are missing.*missing='drop'"):
        leaderboard(table)
    dropped = leaderboard(table, missing="drop")
    assert dropped.qids.tolist() == ["q2", "q3", "q5", "q6"]
    assert "2 of 6 units, on which some system has no value, do not count" in str(dropped)
    pairs = leaderboard(table, missing="pairs")
    expected = compare_to_best({name: table[name] for name in ("new", "old", "mid")})
    assert [r["mean"] for r in pairs.rows()] == pytest.approx([row.mean for row in expected])
    assert "values missing: 1; each pair is tested on the units of both" in str(pairs)
    filled = leaderboard(table, missing=0)
    assert filled.rows()[0]["mean"] == pytest.approx(table["new"].fillna(0).mean())
    with pytest.raises(ValueError, match="missing must be one of"):
        leaderboard(table, missing="zero")
    for wrong in (math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            leaderboard(WIDE, missing=wrong)
    users = table.assign(user=[1, 1, 2, 2, 3, 3])
    board = leaderboard(users, missing="pairs", cluster="user")
    rows = {row["ranker"]: row["mean"] for row in board.rows()}
    assert rows["mid"] == pytest.approx(users.groupby("user")["mid"].mean().mean())


def newcomer():
    """Case 32: one system was not run on the hard tasks; on the easy ones it loses every time."""
    hard, easy = 0.2 + 0.01 * np.arange(10), 0.8 + 0.01 * np.arange(10)
    veteran = np.concatenate([hard, easy])
    new = np.where(np.arange(20) < 10, math.nan, veteran - 0.05 - 0.001 * (np.arange(20) % 3))
    return {"new": new, "old": veteran - 0.1 - 0.002 * (np.arange(20) % 4), "veteran": veteran}


def test_units_that_a_system_lacks_make_it_no_better(tmp_path):
    scores = newcomer()
    frame = pd.DataFrame({"task": [f"t{u:02}" for u in range(20)], **scores})
    frame.to_csv(tmp_path / "scores.csv", index=False)
    board = leaderboard(tmp_path / "scores.csv", missing="pairs", baseline="veteran")
    rows = board.rows()
    assert [row["ranker"] for row in rows] == ["veteran", "new", "old"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert board.best == "veteran"
    assert rows[1]["mean"] > rows[0]["mean"]
    assert rows[1]["adjusted_mean"] < rows[0]["adjusted_mean"] == pytest.approx(rows[0]["mean"])
    assert rows[1]["diff"] < 0
    assert rows[1]["separable"]
    assert [row["rank_low"] for row in rows] == [row["rank_high"] for row in rows] == [1, 2, 3]
    assert board.to_dict()["rows"][0]["ranker"] == "veteran"
    assert "adjusted: mean of score over the units of all systems" in str(board)
    for form in ("markdown", "latex", "csv"):
        text = leaderboard_table(board, form)
        assert text.index("veteran") < text.index("new")
        assert "adjusted" in text
    report = write_report(board, tmp_path / "report.html").read_text("utf-8")
    assert "adjusted: mean of score over the units of all systems" in report
    assert "adjusted" not in str(leaderboard(scores, missing="drop"))
    worse = leaderboard({n: 1 - v for n, v in scores.items()}, missing="pairs",
                        greater_is_better=False)  # fmt: skip
    assert worse.best == "veteran"


def test_hard_units_of_a_cluster_that_a_system_lacks_make_it_no_better():
    scores = newcomer()
    rows = [
        {"system": name, "unit": f"u{u}", "score": value, "user": f"user{u % 10}"}
        for name, values in scores.items()
        for u, value in enumerate(values)
    ]
    board = leaderboard(pd.DataFrame(rows), cluster="user", missing="pairs")
    assert [row["ranker"] for row in board.rows()] == ["veteran", "new", "old"]


def test_all_pairs_are_tested_once(monkeypatch):
    calls = {"tests": 0, "plans": 0}
    for module, name in ((against_best, "tests"), (sample_size, "plans")):

        def counted(*args, _name=name, _pairs=module.pair_differences, **words):
            calls[_name] += 1
            return _pairs(*args, **words)

        monkeypatch.setattr(module, "pair_differences", counted)
    board = leaderboard({f"s{i}": np.random.default_rng(i).random(12) for i in range(4)})
    for _ in range(2):
        board.rows()
        str(board)
        board.to_dict()
        board.to_markdown()
        board.detectable_difference()
    assert calls == {"tests": 1, "plans": 2}  # of the smallest difference, and of the queries


@pytest.mark.parametrize(
    ("test", "draw", "said"),
    [
        ("t", lambda rng: np.exp(2.0 * rng.standard_normal(40)), True),
        ("t", lambda rng: rng.random(40), False),
        ("wilcoxon", lambda rng: np.where(rng.random(40) < 0.1, 0.9, -0.1), True),
        ("randomization", lambda rng: rng.random(40), False),
    ],
)
def test_boards_of_skewed_values_say_so(test, draw, said):
    rng = np.random.default_rng(2)
    base = rng.random(40)
    board = leaderboard({"a": base, "b": base + draw(rng)}, test=test)
    note = "cannot be relied on"
    for text in (str(board), board.to_markdown(), board.to_latex()):
        assert (note in text) == said
    assert all(row["skewness"] >= 0 for row in board.rows())


def test_tests_that_contradict_each_other_rank_nothing():
    """Each of three systems beats the next on the units of both: a circle."""
    scores = {name: np.full(60, math.nan) for name in "abc"}
    noise = np.random.default_rng(1).normal(0, 0.01, 60)
    for part, (winner, loser) in enumerate(["ab", "bc", "ca"]):
        rows = slice(20 * part, 20 * part + 20)
        scores[winner][rows], scores[loser][rows] = 0.6, 0.5 + noise[rows]
    board = leaderboard(scores, missing="pairs")
    assert [(row["rank_low"], row["rank_high"]) for row in board.rows()] == [(1, 3)] * 3


OPTIONS = {
    "missing": ["pairs", "drop", 0.3],
    "groups": [{}, {"stratum": "group"}, {"cluster": "group"}],
    "runs": [1, 3],
    "test": [{"test": "t"}, {"test": "wilcoxon"}, {"test": "t", "correction": "holm"},
             {"test": "randomization", "correction": "bonferroni"}],
    "confidence_level": [0.5, 0.95],
    "values": ["ties", "hard", "chance"],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(48))
def test_a_position_lies_in_its_interval_of_ranks(seed):
    rng = np.random.default_rng(seed)
    drawn = {name: options[rng.integers(len(options))] for name, options in OPTIONS.items()}
    runs = drawn["runs"] if drawn["test"] == {"test": "t"} else 1
    n, k = 24, 5
    level = np.repeat([0.2, 0.8], n // 2)[:, None, None]
    values = level + 0.04 * np.arange(k)[:, None] + 0.1 * rng.standard_normal((n, k, runs))
    if drawn["values"] == "ties":
        values = np.round(values, 1)
    values[rng.random((n, k)) < 0.2] = math.nan
    if drawn["values"] == "hard":  # the worst systems were run on the easy units
        values[: n // 2 - 3, :2] = math.nan
    rows = [
        {"system": f"s{s}", "unit": f"u{u}", "score": values[u, s, r], "seed": r,
         "group": "large" if u % 8 < 5 else f"g{u % 8}"}
        for u in range(n) for s in range(k) for r in range(runs)
    ]  # fmt: skip
    if drawn["groups"].get("cluster"):
        rows = [row | {"group": row["unit"][:2]} for row in rows]
    frame = pd.DataFrame(rows)
    try:
        board = leaderboard(
            frame, missing=drawn["missing"], confidence_level=drawn["confidence_level"],
            run="seed" if runs > 1 else None, unit="unit", **drawn["groups"], **drawn["test"],
        )  # fmt: skip
    except ValueError as error:
        assert "missing='drop' leaves" in str(error)
        return
    found = board.rows()
    for number, row in enumerate(found, start=1):
        assert row["rank"] == number
        assert row["rank_low"] <= number <= row["rank_high"], drawn
        if row["separable"]:
            assert row["diff"] < 0


@pytest.mark.parametrize("cell", ["", "NA", "n/a", "NaN", "null", "None", "-", "–", " "])
def test_cells_without_a_value(cell, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(f"task,a,b\nx,1,2\ny,{cell},3\nz,4,5\nw,1,1\n", encoding="utf-8")
    assert leaderboard(path, missing="drop").qids.tolist() == ["x", "z", "w"]


REFUSED = {
    "text": ("task,a,b\nx,1,2\ny,high,3\n", "line 3: 'high' in column 'a' is not a finite number"),
    "infinite": ("task,a,b\nx,1,2\ny,inf,3\n", "line 3: 'inf' in column 'a'"),
    "too few fields": ("task,a,b\nx,1,2\ny,1\n", "line 3: expected 3 columns"),
    "unit twice": ("task,a,b\nx,1,2\nx,1,3\n", "line 3: 'x' occurs before"),
    "system twice": ("model,t1,t2\nm,1,2\nm,1,3\n", "column 'model' names systems more than once"),
    "value of another name": (
        "agent,task,resolved\na,x,1\na,y,0\nb,x,1\nb,y,1\n",
        "no column of scores has a usual name",
    ),
    "rank and average": (
        "model,t1,t2,rank,Average\na,1,2,1,1.5\nb,2,2,2,2\n",
        "'rank', 'Average' would be units",
    ),
    "parameters": ("task,a,b,n_params\nx,1,2,7\ny,2,3,7\n", "'n_params' would be systems"),
    "row numbers": ("task,no,a,b\nx,1,4,5\ny,2,6,6\nz,3,1,2\n", "'no' would be systems"),
    "percent": ("task,a,b\nx,1%,2%\ny,3%,4%\n", "without marks for thousands or percent"),
    "value twice": ("model,task,score\nm,x,2\nm,x,3\n", "line 3: 'm' has a value for 'x' already"),
    "no unit": ("model,level,score\nm,x,2\n", "no column of units"),
    "no scores": ("task\nx\n", "a table with a header line and several columns"),
    "empty id": ("model,task,score\nm,x,2\n,x,3\n", "line 3"),
    "no rows": ("model,task,score\n", "no rows"),
    "one unit": ("task,a,b\nx,1,2\n", "at least two units"),
    "column twice": ("task,a,a\nx,1,2\n", "occur more than once"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_refused(name, tmp_path):
    text, message = REFUSED[name]
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        leaderboard(path)


@pytest.mark.parametrize("words", [{"system": "who"}, {"unit": "what"}, {"score": ["no"]}])
def test_columns_that_are_not_there_are_named(words):
    with pytest.raises(ValueError, match=f"there is no column {next(iter(words.values()))!r}"[:30]):
        leaderboard(LONG, **words)


def test_other_things_are_no_tables():
    with pytest.raises(TypeError, match="path of a table, a frame or a mapping"):
        leaderboard(5)
    with pytest.raises(ValueError, match="same units"):
        leaderboard({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(ValueError, match="must be numbers"):
        leaderboard({"a": ["x", "y"], "b": [1, 2]})
    with pytest.raises(ValueError, match="at least one system"):
        leaderboard({})


def test_regressions_against_a_baseline(rng):
    base = rng.random(40)
    scores = {
        "base": base,
        "worse": base - 0.2 - 0.01 * rng.random(40),
        "noisy": base - 0.01 + rng.normal(0, 0.3, 40),
        "same": base + rng.normal(0, 1e-4, 40),
        "better": base + 0.2 + 0.01 * rng.random(40),
    }
    board = leaderboard(scores, baseline="base")
    assert [found.system for found in find_regressions(board)] == ["worse"]
    (worst, noisy) = find_regressions(board, margin=0.05)
    assert (worst.system, noisy.system) == ("worse", "noisy")
    assert worst.loss_low < worst.loss < worst.loss_high
    assert "worse than that of base" in worst.describe("base")
    turned = leaderboard(scores, baseline="base", greater_is_better=False)
    assert [found.system for found in find_regressions(turned)] == ["better"]
    with pytest.raises(ValueError, match="must have a baseline"):
        find_regressions(leaderboard(scores))
    with pytest.raises(ValueError, match="margin must be"):
        find_regressions(board, margin=-1)


def test_boards_of_measures_have_rank_intervals_too(rng):
    qrels = {f"q{i}": {"d1": 1, "d2": 0, "d3": 0} for i in range(12)}
    good = {query: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for query in qrels}
    bad = {query: {"d1": 1.0, "d2": 2.0, "d3": 3.0} for query in qrels}
    board = evaluate_systems(qrels, {"good": good, "bad": bad})
    assert [(r["rank_low"], r["rank_high"]) for r in board.rows()] == [(1, 1), (2, 2)]
    assert [row["letters"] for row in board.rows()] == ["a", "b"]
    assert board.to_dict()["rows"][1]["rank_low"] == 2
    assert board.to_frame()["AP rank_high"].tolist() == [1, 2]


def test_many_systems_that_are_close_are_counted(rng):
    values = {f"s{i}": rng.random(30) for i in range(20)}
    text = str(leaderboard(values))
    assert "and 7 more" in text
    assert "1–20" in text


def test_what_can_be_seen_is_said(rng):
    scores = {"a": rng.random(50), "b": rng.random(50)}
    board = leaderboard(scores)
    found = board.detectable_difference()
    assert f"With these 50 units, a difference of {found:.2g} is found with probability" in str(
        board
    )
    assert leaderboard({"a": [1, 2, 3], "b": [1, 2, 3]}).detectable_difference() is None


HOSTILE = "a_b & 50% {x} | *y* \\z #$~^\n"


def test_tables_for_papers(rng):
    base = rng.random(30)
    board = leaderboard({HOSTILE: base, "worse": base - 1 + 0.01 * rng.random(30)})
    latex = board.to_latex()
    name = r"a\_b \& 50\% \{x\} \textbar{} *y* \textbackslash{}z \#\$\textasciitilde{}"
    assert name in latex
    assert r"\toprule" in latex
    assert r"$^{\downarrow}$: significantly worse than the best" in latex
    assert latex.count(r"\\") == 3
    (caption,) = (line for line in latex.splitlines() if line.startswith(r"\caption"))
    assert caption.count(". ") <= 1
    markdown = board.to_markdown(digits=2)
    assert r"\|" in markdown
    assert "↓: significantly worse" in markdown
    frame = pd.read_csv(__import__("io").StringIO(board.to_csv()))
    assert frame["system"].tolist() == [HOSTILE, "worse"]
    assert frame["score mean"].tolist() == [row["mean"] for row in board.rows()]
    assert frame["score rank_low"].tolist() == [1, 2]
    equal = leaderboard({"a": base, "b": base}).to_latex()
    assert "downarrow" not in equal
    with pytest.raises(ValueError, match="must be"):
        board.to_latex(digits=-1)


def test_the_index_of_pandas_names_rows():
    board = leaderboard(WIDE)
    forms = {
        "pivot": LONG.pivot(index="model", columns="query", values="score"),
        "units in the index": WIDE.set_index("query"),
        "unnamed texts": WIDE.set_index("query").rename_axis(None),
        "series": {name: WIDE.set_index("query")[name] for name in ("new", "old", "mid")},
        "series in other orders": {
            "new": WIDE.set_index("query")["new"],
            "old": WIDE.set_index("query")["old"].sort_values(),
            "mid": WIDE.set_index("query")["mid"][::-1],
        },
        "shuffled rows": WIDE.sample(frac=1, random_state=1),
        "filtered rows": pd.concat([WIDE, WIDE])[6:],
    }
    for form, table in forms.items():
        found = leaderboard(table)
        assert sorted(found.qids) == UNITS, form
        for name, values in found.per_query().items():
            ours = dict(zip(found.qids, values, strict=True))
            theirs = dict(zip(board.qids, board.per_query()[name], strict=True))
            assert ours == theirs, form


def test_numbers_of_rows_that_pandas_wrote_are_left_out(tmp_path):
    WIDE.to_csv(tmp_path / "a.csv")
    TURNED.to_csv(tmp_path / "b.csv")
    WIDE.reset_index().to_csv(tmp_path / "c.csv", index=False)
    for name in "abc":
        board = leaderboard(tmp_path / f"{name}.csv")
        assert sorted(board.rankers) == ["mid", "new", "old"]
        assert sorted(board.qids) == UNITS


def test_columns_that_hold_no_scores_may_be_ignored_or_meant():
    table = WIDE.assign(n_files=[3, 1, 4, 1, 5, 9])
    assert leaderboard(table, ignore="n_files").rankers == ["new", "old", "mid"]
    assert "n_files" in leaderboard(table, score=["new", "n_files"]).rankers
    with pytest.raises(ValueError, match="'nothing', which is not a column"):
        leaderboard(table, ignore=["nothing"])


def test_flags_are_scores_in_frames_and_in_text(tmp_path):
    table = WIDE.assign(new=[True] * 6, old=[False] * 5 + [True])
    table.to_csv(tmp_path / "s.csv", index=False)
    for form in (table, tmp_path / "s.csv"):
        rows = {row["ranker"]: row["mean"] for row in leaderboard(form).rows()}
        assert rows["new"] == 1.0
        assert rows["old"] == pytest.approx(1 / 6)


def test_names_of_columns_in_any_spelling(tmp_path):
    for name in ("Model Name", "model-name", "SYSTEM", "model_id"):
        board = leaderboard(TURNED.rename(columns={"model": name}))
        assert sorted(board.rankers) == ["mid", "new", "old"]
        assert f"systems in column {name}, units are columns (q1 to q6)." in str(board)
    assert "systems are columns (new, old, mid), units in column query." in str(leaderboard(WIDE))


def test_units_of_several_strata_may_have_equal_names(rng):
    table = pd.DataFrame(
        [
            {"model": model, "task": task, "query": f"q{query}", "score": rng.random()}
            for model in "ab"
            for task in ("x", "y")
            for query in range(4)
        ]
    )
    for words in ({"stratum": "task", "unit": "query"}, {"stratum": "task"}):
        board = leaderboard(table, **words)
        assert len(board.qids) == 8
        assert board.folds == ["x", "y"]


def test_tables_for_papers_show_the_baseline(rng):
    base = rng.random(30)
    scores = {"base": base, "worse": base - 0.3 + 0.01 * rng.random(30), "near": base + 1e-9}
    board = leaderboard(scores, baseline="base")
    markdown = board.to_markdown()
    line = next(line for line in markdown.splitlines() if "worse |" in line)
    assert line.endswith("↓ |")
    assert "To base: difference in score (↑, ↓: significantly better, worse;" in markdown
    assert r"\downarrow" in board.to_latex()
    frame = pd.read_csv(__import__("io").StringIO(board.to_csv()))
    assert frame["score diff to base"].notna().sum() >= 2


def test_a_gate_that_compares_nothing_does_not_pass(tmp_path):
    scores = {"base": [1.0, 2.0, 3.0, math.nan], "new": [math.nan, math.nan, math.nan, 1.0]}
    with pytest.raises(ValueError, match="'new' and 'base' have none in common, also not through"):
        leaderboard(scores, baseline="base", missing="pairs")
    scores["link"] = [1.0, 2.0, 2.5, 1.5]
    board = leaderboard(scores, baseline="base", missing="pairs")
    for margin in (None, 0.1):
        with pytest.raises(ValueError, match="new cannot be compared with the baseline base by"):
            find_regressions(board, margin=margin)
    rows = {row["ranker"]: row for row in board.rows()}
    assert rows["new"]["against_baseline"]["score"]["diff"] is None
    assert "new      " in str(board)
    lines = [line for line in board.to_markdown().splitlines() if "new" in line]
    assert lines[0].endswith("| – |")
    assert write_report(board, tmp_path / "r.html").stat().st_size > 0
    equal = leaderboard({"base": [1.0, 2.0, 3.0], "new": [1.0, 2.0, 3.0]}, baseline="base")
    assert find_regressions(equal) == []
