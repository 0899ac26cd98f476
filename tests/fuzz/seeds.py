"""Valid files of every format, made from a seed."""

from __future__ import annotations

import io

import numpy as np

Rng = np.random.Generator


def letor(rng: Rng, *, with_qid: bool | None = None) -> bytes:
    """Rows of SVMlight text: dense or sparse, with and without qid and comments."""
    n_rows, width = int(rng.integers(1, 12)), int(rng.integers(1, 9))
    if rng.random() < 0.05:
        width = 400
    with_qid = rng.random() < 0.8 if with_qid is None else with_qid
    text_qid, base = rng.random() < 0.2, int(rng.random() < 0.9)
    labels = rng.integers(0, 4, n_rows).tolist()
    written = (rng.random((n_rows, width)) < 0.7).tolist()
    values = rng.normal(size=(n_rows, width)).tolist()
    digits = int(rng.integers(1, 18))
    lines = []
    for row, label in enumerate(labels):
        line = f"{label}"
        if with_qid:
            line += f" qid:{'q' if text_qid else ''}{row // 3}"
        for column in range(width):
            if written[row][column]:
                line += f" {column + base}:{values[row][column]:.{digits}g}"
        if row % 3 == label:
            line += f" #docid = d{row}" if row % 2 else " # é"
        lines.append(line)
    return _joined(rng, lines)


def qrels(rng: Rng) -> bytes:
    """Judgments."""
    n = int(rng.integers(1, 15))
    grades = rng.integers(-1, 4, n).tolist()
    return _joined(rng, [f"q{i // 4} 0 d{i} {grade}" for i, grade in enumerate(grades)])


def run(rng: Rng) -> bytes:
    """A run."""
    n = int(rng.integers(1, 15))
    scores = rng.normal(size=n).tolist()
    return _joined(rng, [f"q{i // 4}\tQ0\td{i}\t1\t{s:.9g}\ttag" for i, s in enumerate(scores)])


def extreme(rng: Rng) -> bytes:
    """Rows with labels and sparse features, under a line of sizes."""
    n, d, k = (int(size) for size in rng.integers(1, 9, 3))
    lines = [f"{n} {d} {k}"]
    for _ in range(n):
        labels = ",".join(str(i) for i in range(k) if rng.random() < 0.4)
        features = [f"{j}:{rng.normal():.4g}" for j in range(d) if rng.random() < 0.6]
        lines.append(" ".join([labels, *features]))
    return _joined(rng, lines)


def arff(rng: Rng) -> bytes:
    """Attributes of all kinds, then dense or sparse rows."""
    kinds = ["numeric", "REAL", "{0,1}", "{red,'dark green',blue}", "{0,2,4}"]
    chosen = [kinds[i] for i in rng.integers(len(kinds), size=rng.integers(1, 6))]
    n_labels = int(rng.integers(1, 3))
    lines = [f"% comment\n@relation 'toy: -C {n_labels}'", ""]
    lines += [f"@attribute l{i} {{0,1}}" for i in range(n_labels)]
    lines += [f"@attribute 'name {j}' {kind}" for j, kind in enumerate(chosen)]
    lines.append("@data")
    kinds_of_all = ["{0,1}"] * n_labels + chosen
    is_sparse = rng.random() < 0.5
    for _ in range(int(rng.integers(0, 8))):
        cells = [_cell(rng, kind) for kind in kinds_of_all]
        if is_sparse:
            pairs = [f"{j} {cell}" for j, cell in enumerate(cells) if rng.random() < 0.6]
            lines.append("{" + ",".join(pairs) + "}")
        else:
            lines.append(",".join(cells))
    return _joined(rng, lines)


def _cell(rng: Rng, kind: str) -> str:
    if kind.startswith("{"):
        names = kind[1:-1].split(",")
        return names[rng.integers(len(names))]
    return "?" if rng.random() < 0.1 else f"{rng.normal():.6g}"


def mulan_xml(rng: Rng) -> bytes:
    """Names of labels, at any depth."""
    names = "".join(f'<label name="l{i}"><label name="x{i}"/></label>' for i in range(2))
    text = f'<?xml version="1.0"?><labels xmlns="http://mulan.sf.net/labels">{names}</labels>'
    return text.encode("utf-8" if rng.random() < 0.8 else "utf-16-le")


def table(rng: Rng) -> bytes:
    """Comma-separated rows with a header."""
    n = int(rng.integers(1, 10))
    lines = ["qid,label,a,b,doc_id"]
    for i in range(n):
        first = '"1,5"' if rng.random() < 0.02 else f"{rng.normal():.5g}"
        lines.append(f"{i // 3},{rng.integers(3)},{first},{i if i % 4 else ''},d{i}")
    return _joined(rng, lines)


def parquet(rng: Rng) -> bytes:
    """The same columns as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    n = int(rng.integers(1, 30))
    columns = {
        "qid": np.arange(n) // 3, "label": rng.integers(0, 3, n), "a": rng.normal(size=n),
        "doc_id": [f"d{i}" for i in range(n)],
    }  # fmt: skip
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression=("none", "zstd")[int(rng.integers(2))])
    return out.getvalue()


def _joined(rng: Rng, lines: list[str]) -> bytes:
    end = "\r\n" if rng.random() < 0.1 else "\n"
    return (end.join(lines) + end * int(rng.random() < 0.9)).encode()


def trec_text(rng: Rng) -> bytes:
    """Documents, or topics, of a TREC file."""
    if rng.random() < 0.3:
        return b"".join(
            b"<top>\n<num> Number: %d\n<title> words %d &amp; more\n<desc>\nlong\n</top>\n" % (n, n)
            for n in range(int(rng.integers(1, 5)))
        )
    return b"".join(
        b"<DOC>\n<DOCNO> d%d </DOCNO>\n<TEXT>\na <b>bold</b> text\n</TEXT>\n</DOC>\n" % n
        for n in range(int(rng.integers(1, 6)))
    )


def json_lines(rng: Rng) -> bytes:
    """Documents as JSON lines."""
    return b"".join(
        b'{"_id": "d%d", "title": null, "text": "some words, \\u00e9"}\n' % n
        for n in range(int(rng.integers(1, 6)))
    )
