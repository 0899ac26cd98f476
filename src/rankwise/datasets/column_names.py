"""Usual names of columns, in any case: one table for all readers of files and frames."""

from __future__ import annotations

from collections.abc import Sequence

# Two of these in one table of features are refused as ambiguous; elsewhere, the first one counts.
QUERY_NAMES = ("qid", "query_id", "q_id", "query-id", "queryid", "query", "q")
DOCUMENT_NAMES = (
    "doc_id", "docno", "docid", "corpus-id", "corpus_id", "doc-id", "document_id", "document-id",
)  # fmt: skip
LABEL_NAMES = (
    "relevance", "label", "grade", "rel", "rating", "judgement", "judgment", "y", "target",
)  # fmt: skip
WEIGHT_NAMES = ("sample_weight",)
SCORE_NAMES = ("score",)

# Names that may also be those of texts or features: they count if none of the names above is there.
QUERY_LAST = ("topic",)
DOCUMENT_LAST = (
    "pid", "doc", "document", "product_id", "product-id", "item_id", "item-id", "sku", "asin",
)  # fmt: skip

# Columns with these names are ids, no features, if they have no other role.
ID_NAMES = (
    "id", "_id", "uuid", "guid", "uid", "rowid", "row_id", "row-id", "row_number", "record_id",
    *(name for name in (*DOCUMENT_NAMES, *DOCUMENT_LAST) if name not in ("doc", "document")),
)  # fmt: skip

# In files of judgements and runs, which have no other columns. BEIR calls its grades score.
ALL_QUERY_NAMES = (*QUERY_NAMES, *QUERY_LAST)
ALL_DOCUMENT_NAMES = (*DOCUMENT_NAMES, *DOCUMENT_LAST)
GRADE_NAMES = (*LABEL_NAMES, *SCORE_NAMES)
# Beside a score, they tell a run from judgements.
RUN_ONLY_NAMES = ("rank", "q0", "tag", "run_id", "run-id", "run_name")

# In tables of preferences between two items, and of orders of several.
FIRST_ITEM_NAMES = (
    "item_a", "model_a", "system_a", "player_a", "team_a", "a", "item1", "model1", "player1",
    "team1", "item_1", "model_1", "player_1", "team_1", "first", "left", "home", "home_team",
)  # fmt: skip
SECOND_ITEM_NAMES = (
    "item_b", "model_b", "system_b", "player_b", "team_b", "b", "item2", "model2", "player2",
    "team2", "item_2", "model_2", "player_2", "team_2", "second", "right", "away", "away_team",
)  # fmt: skip
PREFERENCE_WEIGHT_NAMES = (*WEIGHT_NAMES, "weight")
WINNER_NAMES = ("winner", "preferred", "preference", "outcome", "result")
ORDER_NAMES = ("order", "order_id", "ranking", "ballot", "race", "list")
ITEM_NAMES = ("item", "model", "system", "player", "team", "candidate")
PLACE_NAMES = ("rank", "place", "position")

# In files of texts, where "query" and "document" are texts, and where BEIR's ids are "_id".
TEXT_QUERY_IDS = (
    *(name for name in QUERY_NAMES if name not in ("query", "q")),
    "_id",
    "id",
)
TEXT_DOCUMENT_IDS = (*DOCUMENT_NAMES, "pid", "_id", "id")


def find_usual_names(
    columns: Sequence[str], usual: Sequence[str], last: Sequence[str]
) -> list[str]:
    """Columns with one of the usual names; with one of the last names if there are none."""
    found = [column for column in columns if column.lower() in usual]
    return found or [column for column in columns if column.lower() in last]
