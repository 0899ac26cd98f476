"""Draws how data become results on pages: boxes in a row, with arrows between them."""

from __future__ import annotations

from pathlib import Path

from five_minutes import Stage, draw_stages


def lines(*words: str) -> tuple[tuple[str, ...], ...]:
    """Lines of a box that has no columns."""
    return tuple((line,) for line in words)


COMMANDS = (
    Stage("Data", (), lines("CSV, Parquet, LETOR", "or a set by name"), "compare"),
    Stage("Leaderboard", (), lines("verdict, intervals", "HTML report"), "fit"),
    Stage("Model file", (), lines("loads without", "running code"), "predict"),
    Stage("Scores", (), lines("TREC run", "or a column"), ""),
)
EXPORTS = (
    Stage("Fitted in Python", (), lines("chosen by compare", "or a search"), "export"),
    Stage(
        "A file in their format",
        (),
        lines("ONNX", "Solr, Elasticsearch, Vespa", "RankLib, LightGBM, XGBoost"),
        "serve",
    ),
    Stage("The same scores", (), lines("without Python", "in production"), ""),
)
PYTERRIER = (
    Stage("Results", (), lines("of any pipeline", "with features"), "fit"),
    Stage("RankerEstimator", (), lines("a ranker and", "the query ids"), "save"),
    Stage("ModelTransformer", (), lines("a model file", "in other pipelines"), ""),
)
SERVING = (
    Stage("load(…, warm=True)", (), lines("compiles what", "scoring needs"), "fork"),
    Stage("Workers", (), lines("share code and", "model in memory"), "HTTP"),
    Stage("Scores", (), lines("the first request", "compiles nothing"), ""),
)
WEIGHTS = (
    Stage("Your formula", (), lines("0.6*similarity", "+ 0.4*recency"), "learn"),
    Stage("Other weights", (), lines("pulled towards", "yours"), "hold out"),
    Stage("Verdict", (), lines("take, or", "keep yours"), ""),
)
CALIBRATION = (
    Stage("Any ranker", (), lines("scores of queries", "it has not seen"), "fit"),
    Stage(
        "CalibratedRanker", (), lines("a map from scores", "to probabilities"), "predict_relevance"
    ),
    Stage("Probability", (), lines("one threshold for all", "queries and rankers"), ""),
)
ANSWERS = (
    Stage("Judged lists", (), lines("scores of any system", "some without an answer"), "fit"),
    Stage("Rule", (), lines("threshold with", "a tested promise"), "decide"),
    Stage("New lists", (), lines("answer", "or nothing found"), ""),
)
CUTS = (
    Stage("Judged lists", (), lines("scores of any system", "what is relevant"), "fit"),
    Stage("Rule", (), lines("threshold with", "a tested promise"), "decide"),
    Stage("New lists", (), lines("the first 8,", "or the first 3"), ""),
)
FLOWS = {
    "commands": (
        COMMANDS,
        (170, 150, 140, 130),
        "compare turns data into a leaderboard, fit into a model file, predict into scores.",
    ),
    "calibration": (
        CALIBRATION,
        (150, 190, 180),
        "Scores of held-out queries fit a map, which gives probabilities of relevance.",
    ),
    "exports": (
        EXPORTS,
        (180, 230, 170),
        "A model fitted in Python is exported to a file that another program serves.",
    ),
    "serving": (
        SERVING,
        (170, 150, 150),
        "The process that forks loads and compiles; its workers share the code and answer at once.",
    ),
    "answers": (
        ANSWERS,
        (170, 150, 140),
        "Judged lists set a threshold; the rule then answers a query or abstains.",
    ),
    "weights": (
        WEIGHTS,
        (150, 150, 120),
        "Weights learnt from feedback replace yours only if held-out queries show a gain.",
    ),
    "cuts": (
        CUTS,
        (170, 150, 130),
        "Judged lists set a threshold; the rule then says how many documents of a list to show.",
    ),
    "pyterrier": (
        PYTERRIER,
        (150, 150, 160),
        "RankerEstimator trains on the results of a pipeline; ModelTransformer applies the file.",
    ),
}


def write(folder: Path) -> None:
    """Write ``flow_NAME.svg`` into ``folder`` for every drawing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, parts in FLOWS.items():
        (folder / f"flow_{name}.svg").write_text(draw_stages(*parts), encoding="utf-8")
