"""``rankwise index`` and ``rankwise search``: build an index of documents, and search it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    JobError,
    UsageError,
    check_file,
    check_folder,
    check_target,
    echo,
    make_folder,
    print_json,
    say,
    waiting,
)
from rankwise.cli._options import Json, read_names, read_settings


def index(
    documents: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOCUMENTS",
            help="Documents: JSON lines (.jsonl), TREC files, TSV (an id and a text, or names in "
            "the first line), CSV, optionally compressed, Parquet, or a folder in BEIR's layout.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the index.")],
    fields: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Document fields to index, in order (default: title,text if the first document "
            "has both, else text; the whole document of TREC files).",
        ),
    ] = None,
    stemmer: Annotated[
        str, typer.Option(help="Language of a Snowball stemmer, or 'none'.")
    ] = "english",
    stop_words: Annotated[
        bool, typer.Option("--stop-words/--no-stop-words", help="Skip 33 English words.")
    ] = True,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of the files (default: utf-8).")
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Add the documents to the index in --out. A document whose id is in the index "
            "replaces that one.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Index documents for 'rankwise search'.

    Example: rankwise index documents.jsonl --out index
    """
    files = [_corpus(path) if path.is_dir() else path for path in documents]
    for path in files:
        check_file(path)
    check_folder(out)
    if update and not (stemmer == "english" and stop_words and fields is None):
        raise UsageError(
            "--update keeps the fields and the analysis of the index. Drop --fields, --stemmer and "
            "--no-stop-words."
        )
    from rankwise.text import Analyzer, TextIndex
    from rankwise.text.documents import find_usual_fields

    analyzer = Analyzer(
        stop_words="english" if stop_words else None,
        stemmer=None if stemmer == "none" else stemmer,
    )
    with waiting("Indexing"):
        if update:
            built = TextIndex.load(out)
        else:
            names: Any = ("title", "text") if any(path.is_dir() for path in documents) else None
            if fields is not None:
                names = read_names(fields)
            elif names is None:
                names = find_usual_fields(files[0], encoding)
            built = TextIndex(names, analyzer=analyzer)
        for path in files:
            built.add(path, replace=update, encoding=encoding)
        if not len(built):
            raise JobError(
                f"{', '.join(map(str, documents))}: no documents, so no index is written."
            )
        built.save(out)
    facts = {"out": str(out), "documents": len(built), "terms": len(built.vocabulary)}
    if json:
        print_json({**facts, "fields": built.fields})
    else:
        echo(repr(built))


def search(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="INDEX", help="Folder written by 'rankwise index' or 'rankwise fit --text'."
        ),
    ],
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES",
            help="File of queries (JSON lines, TREC topics, TSV, CSV or Parquet), or the text of "
            "one query.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="TREC run to write (default: print)."),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            help="Number of documents per query (default: 10; with --out, 1000, or all candidates "
            "of a text ranker).",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Retrieval model: bm25, bm25_robertson, bm25_atire, bm25_okapi, bm25f, dirichlet, "
            "jelinek_mercer, pl2, dph or tf_idf (default: the ranker in the folder, else bm25)."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the model, such as k1=0.9."),
    ] = None,
    json: Json = False,
) -> None:
    """Search an index for the best documents of every query.

    A folder written by 'rankwise fit --text' is searched with its ranker unless --model is given.

    Example: rankwise search index queries.tsv --out bm25.run
    """
    if not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is not a folder. Check the path.")
    parameters: dict[str, Any] = dict(_parameters(settings or []))
    if out is not None:
        check_target(out, "--out")
    from rankwise.datasets import write_run
    from rankwise.text import TextIndex, TextRanker
    from rankwise.text.documents import FILE_SUFFIXES, convert_to_queries
    from rankwise.text.text_index import has_ranker

    by_ranker = model is None and has_ranker(folder)
    if by_ranker and parameters:
        raise UsageError("--set applies to a retrieval model. Name one: --model bm25.")

    if not queries.strip():
        raise UsageError("QUERIES must name a file or be the text of a query, got no text.")
    path = Path(queries)
    if not path.is_file() and (path.is_dir() or path.suffix.lower() in FILE_SUFFIXES):
        raise UsageError(f"{queries!r} is not a file. Check the path.")
    depth = 10 if k is None and out is None else k
    with waiting("Searching"):
        given = convert_to_queries(path if path.is_file() else queries)
        if by_ranker:
            ranker = TextRanker.load(folder)
            run = ranker.rank(given, ranker.n_candidates if depth is None else depth)
        else:
            index = TextIndex.load(folder)
            depth = 1000 if depth is None else depth
            run = index.search(given, depth, model=model or "bm25", **parameters)
        if out is not None:
            make_folder(out)
            write_run(run, out)
    if n_empty := len(given) - len(set(run.qid.tolist())):
        say(
            f"note: {n_empty} of {len(given)} queries find no document, because the index has none "
            "of their terms."
        )
    if json:
        rows = zip(run.qid.tolist(), run.doc_ids.tolist(), run.scores.tolist(), strict=True)
        hits = [{"qid": q, "doc_id": d, "score": s} for q, d, s in rows] if out is None else None
        facts = {"queries": len(set(run.qid.tolist())), "lines": len(run), "hits": hits}
        print_json({"out": None if out is None else str(out), **facts})
    elif out is None:
        for q, d, s in zip(
            run.qid.tolist(), run.doc_ids.tolist(), run.scores.tolist(), strict=True
        ):
            echo(f"{q}\t{d}\t{s:.4f}")


def _corpus(folder: Path) -> Path:
    """File of the documents in a folder with BEIR's layout."""
    for suffix in ("", ".gz"):
        if (path := folder / f"corpus.jsonl{suffix}").is_file():
            return path
    raise UsageError(f"{str(folder)!r} does not have BEIR's layout: corpus.jsonl is missing.")


def _parameters(settings: list[str]) -> dict[str, float]:
    found = {}
    for name, text in read_settings(settings, "NUMBER").items():
        try:
            found[name] = float(text)
        except ValueError:
            raise UsageError(f"--set must be NAME=NUMBER, got '{name}={text}'.") from None
    return found
