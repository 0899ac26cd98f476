"""Read SVMlight/LETOR text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise._threads import thread_map
from rankwise.datasets.data import RankingData
from rankwise.datasets.letor_parse import LetorOptions, parse_files
from rankwise.datasets.letor_text import doc_ids, text_array
from rankwise.datasets.textfiles import PathLike, find_files, open_text


def read_letor(
    path: PathLike | Sequence[PathLike],
    *,
    dtype: DTypeLike = np.float32,
    n_features: int | None = None,
    dense: bool | Literal["auto"] = "auto",
    zero_based: bool | Literal["auto"] = "auto",
    cache: bool | Literal["beside"] = True,
    verify: bool = False,
) -> RankingData:
    options = LetorOptions(np.dtype(dtype), n_features, dense, zero_based)
    files = find_files(path)
    return _read(files, options)


def _read(paths: Sequence[Path], options: LetorOptions) -> RankingData:
    rows = parse_files(thread_map(open_text, paths), options)
    ids = doc_ids(rows.comments) if rows.comments is not None else None
    return RankingData(
        rows.X,
        rows.y,
        rows.qid,
        doc_ids=None if ids is None else text_array(ids),
        comments=None if rows.comments is None else text_array(rows.comments),
        name="x",
    )
