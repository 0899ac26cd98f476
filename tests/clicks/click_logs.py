"""Small logs that the tests of readers share."""

from __future__ import annotations

import pandas as pd


def long_frame():
    return pd.DataFrame(
        {
            "qid": ["tea", "tea", "cup", "cup", "cup"],
            "doc_id": ["a", "b", "c", "a", "d"],
            "position": [1, 2, 1, 2, 3],
            "clicked": [0, 1, 1, 0, 0],
            "session_id": [7, 7, 8, 8, 8],
        }
    )


def rows_of(log):
    query, document = log.query.names[log.query.codes], log.document.names[log.document.codes]
    return list(zip(query, document, log.place.tolist(), log.click.tolist(), strict=True))


WANTED = [
    ("tea", "a", 1, False),
    ("tea", "b", 2, True),
    ("cup", "c", 1, True),
    ("cup", "a", 2, False),
    ("cup", "d", 3, False),
]
