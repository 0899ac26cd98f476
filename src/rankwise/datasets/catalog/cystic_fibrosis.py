"""The cystic fibrosis collection: pairs of query and document, each graded by four raters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.datasets.catalog.locate import fetch
from rankwise.datasets.readers.textfiles import read_text
from rankwise.typing import Int64Array

RATERS = ("rew", "rew_colleagues", "rew_postdoc", "jbw")
N_PAIRS = 4819


@dataclass(frozen=True, eq=False)
class CysticFibrosis:
    """Judged pairs, query by query.

    Attributes
    ----------
    grades : ndarray of shape (4819, 4), int64
        Grades with one column per rater: 0 not relevant, 1 marginally relevant, 2 highly relevant.
        Pairs that are not listed are not relevant.
    queries, documents : ndarray of shape (4819,), int64
        Numbers assigned by the publisher, from 1.
    raters : tuple of str
        Raters: one of the authors ("rew"), colleagues, an associate and a bibliographer ("jbw").
    """

    grades: Int64Array
    queries: Int64Array
    documents: Int64Array
    raters: tuple[str, ...] = RATERS

    def __repr__(self) -> str:
        return f"CysticFibrosis({len(self.grades)} pairs, {len(self.raters)} raters)"


def load_cystic_fibrosis() -> CysticFibrosis:
    """Load the 4,819 judged pairs of the cystic fibrosis collection, with each rater's grade.

    Returns
    -------
    CysticFibrosis

    Raises
    ------
    ValueError
        If the file has other content than expected.
    FileNotFoundError
        If the collection is not on this machine; the message says where to get it.
    """
    header, *lines = read_text(fetch("cystic-fibrosis")[0]).decode("utf-8").split()
    table = np.array([line.split(",") for line in lines]).astype(np.int64)
    expected = ",".join(("query", "doc", *RATERS))
    if header != expected or len(table) != N_PAIRS or table[:, 2:].max() > 2:
        raise ValueError(
            f"cystic-fibrosis must have {N_PAIRS} pairs and the columns {expected}, got "
            f"{len(table)} and {header}. Use the file named in sources.toml."
        )
    return CysticFibrosis(table[:, 2:].copy(), table[:, 0].copy(), table[:, 1].copy())
