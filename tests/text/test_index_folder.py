"""Saved indexes: replaced at once, checked when they are loaded, equal to new ones after edits."""

from __future__ import annotations

import hashlib
import io
import json
import warnings

import numpy as np
import pytest

from rankwise import RidgeRanker
from rankwise.persistence import ModelFileError
from rankwise.runtime import array_folder
from rankwise.runtime.array_folder import HEADER, sign_header
from rankwise.structure.state_rules import StructureError
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex, TextRanker
from tests.text.corpus import QUERIES, as_lists, random_corpus

PLAIN = Analyzer(stop_words=None, stemmer=None)
FIELDS = ("title", "text")


def two_fields(texts):
    """Documents of two fields."""
    return {name: {"title": text[:9], "text": text} for name, text in texts.items()}


def assert_same(index, other):
    """All arrays are equal, bit for bit, and so are ids and terms with their numbers."""
    assert index.doc_ids == other.doc_ids
    assert list(index.vocabulary.items()) == list(other.vocabulary.items())
    for field in index.fields:
        for found, wanted in zip(index.tokens(field), other.tokens(field), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    for name in ("starts", "documents", "counts", "lengths"):
        found, wanted = getattr(index.postings, name), getattr(other.postings, name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_saving_into_its_own_folder(tmp_path):
    texts = random_corpus(3)
    index = TextIndex(analyzer=PLAIN).add(texts)
    folder = index.save(tmp_path / "index")
    loaded, kept = TextIndex.load(folder), TextIndex.load(folder)
    loaded.save(folder)
    loaded.add({"new": "w1 w2"}).save(folder)
    again = TextIndex.load(folder)
    assert_same(again, TextIndex(analyzer=PLAIN).add({**texts, "new": "w1 w2"}))
    assert_same(kept, index)
    for store in (again.save(folder), again.save(tmp_path / "other")):
        assert_same(TextIndex.load(store), again)
    files = [entry["file"] for entry in header_of(folder)["arrays"].values()]
    assert sorted(path.name for path in folder.iterdir()) == sorted([HEADER, *files])


@pytest.mark.parametrize("documents", [{}, {"d": ""}, {"d": "", "e": "cat"}])
def test_empty_documents_are_saved(tmp_path, documents):
    index = TextIndex(analyzer=PLAIN).add(documents)
    assert_same(TextIndex.load(index.save(tmp_path)), index)


def test_a_save_between_two_opens_is_seen(tmp_path, monkeypatch):
    folder = TextIndex(analyzer=PLAIN).add({"d": "cat"}).save(tmp_path)
    newer, map_array = TextIndex(analyzer=PLAIN).add({"e": "dog"}), array_folder._map

    def map_late(*arguments):
        monkeypatch.setattr(array_folder, "_map", map_array)
        newer.save(folder)
        return map_array(*arguments)

    monkeypatch.setattr(array_folder, "_map", map_late)
    assert_same(TextIndex.load(folder), newer)


def test_two_first_saves_do_not_mix(tmp_path, monkeypatch):
    """One process has begun its first save into a folder when another makes its own."""
    one, other = (TextIndex(analyzer=PLAIN).add({name: "cat"}) for name in "de")
    replace_files = array_folder.replace_files

    def write_late(paths):
        monkeypatch.setattr(array_folder, "replace_files", replace_files)
        other.save(tmp_path)
        return replace_files(paths)

    monkeypatch.setattr(array_folder, "replace_files", write_late)
    one.save(tmp_path)
    assert_same(TextIndex.load(tmp_path), one)


@pytest.mark.parametrize("seed", range(6))
def test_history_leaves_no_trace(tmp_path, seed):
    """Random additions, replacements and removals, and saves, against a new index."""
    rng = np.random.default_rng(seed)
    texts = list(random_corpus(seed, n_documents=80).values())
    documents: dict[str, dict[str, str]] = {}
    index = TextIndex(FIELDS, analyzer=PLAIN)
    for step in range(12):
        names = [f"d{k}" for k in rng.permutation(20)[: rng.integers(0, 9)]]
        kind = rng.integers(3)
        if kind == 0:
            names = [name for name in names if name in documents]
            index.remove(iter(names))
            documents = {name: text for name, text in documents.items() if name not in names}
        else:
            chosen = rng.choice(texts, len(names)).tolist()
            new = two_fields(dict(zip(names, chosen, strict=True)))
            if kind == 1:
                new = {name: text for name, text in new.items() if name not in documents}
            index.add(new, replace=kind == 2)
            documents |= new
        if step % 4 == 3:
            index = TextIndex.load(index.save(tmp_path))
        fresh = TextIndex(FIELDS, analyzer=PLAIN).add(documents)
        assert_same(index, fresh)
    for model in ("bm25", "bm25f", "dirichlet"):
        wanted = as_lists(fresh.search(QUERIES, model=model))
        assert as_lists(index.search(QUERIES, model=model)) == wanted


def test_features_follow_replaced_documents():
    index = TextIndex(analyzer=PLAIN).add({"d": "cat", "e": "dog"})
    features = QueryDocumentFeatures(index)
    features.compute(["cat"], ["1"], ["d"])
    index.add({"d": "dog cat cat"}, replace=True)
    found = features.compute(["cat"], ["1"], ["d"])
    fresh = TextIndex(analyzer=PLAIN).add({"d": "dog cat cat", "e": "dog"})
    np.testing.assert_array_equal(
        found, QueryDocumentFeatures(fresh).compute(["cat"], ["1"], ["d"])
    )


def test_refused_edits_change_nothing():
    index = TextIndex(analyzer=PLAIN).add({"d": "cat", "e": "dog"})
    for edit, said in (
        (lambda: index.remove(["d", "x"]), "document 'x' is not in the index"),
        (lambda: index.remove([None]), "document id 0 is missing, got None"),
        (lambda: index.add({"f": "x", "d": "y"}), "'d' comes a second time.*or pass replace=True"),
        (
            lambda: index.add([{"id": "f", "text": ""}, {"id": "f", "text": ""}], replace=True),
            "'f' comes a second time",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            edit()
        assert_same(index, TextIndex(analyzer=PLAIN).add({"d": "cat", "e": "dog"}))
    assert index.remove("d").remove([]).doc_ids == ["e"]
    assert list(index.vocabulary) == ["dog"]
    assert len(index.remove("e").search("dog")) == 0


def header_of(folder):
    return json.loads((folder / HEADER).read_bytes())


def file_of(folder, name):
    """File of an array, or the header."""
    return folder / (HEADER if name == HEADER else header_of(folder)["arrays"][name]["file"])


def write_signed(folder, header):
    """Write the header with a checksum of what it now says."""
    if isinstance(header, dict):
        header["signature"] = sign_header(header)
    (folder / HEADER).write_text(json.dumps(header))


def changed(folder, name, change):
    """Write ``change`` of an array, or of the JSON values of the header or of the texts."""
    path = file_of(folder, name)
    if name == HEADER:
        write_signed(folder, change(json.loads(path.read_text())))
        return
    array = np.load(path)
    if name == "texts":
        text = json.dumps(change(json.loads(array.tobytes())))
        array = np.frombuffer(text.encode(), dtype=np.uint8)
    else:
        array = change(array)
    replaced(folder, name, array)


def replaced(folder, name, array):
    """Write another array, and its dtype, shape and checksum into the header."""
    np.save(file_of(folder, name), array, allow_pickle=True)
    header = header_of(folder)
    header["arrays"][name] |= {"dtype": array.dtype.str, "shape": array.shape}
    if name in header["sha256"]:
        header["sha256"][name] = hashlib.sha256(array.tobytes()).hexdigest()
    write_signed(folder, header)


def with_entry(at, value):
    def change(values):
        values[at] = value
        return values

    return change


ARRAYS = ("tokens0", "bounds0", "starts", "documents", "counts")
DAMAGE = {
    "int16": lambda a: a.astype(np.int16),
    "uint32": lambda a: a.astype(np.uint32),
    "float": lambda a: a.astype(float),
    "object": lambda a: a.astype(object),
    "text": lambda a: a.astype(str),
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "two dimensions": lambda a: a[None],
    "a scalar": lambda a: a[0],
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.append(a, a[-1]),
    "empty": lambda a: a[:0],
    "too large": with_entry(-1, 10**6),
    "negative": with_entry(-1, -1),
    "reversed": lambda a: a[::-1].copy(),
    "smaller inside": with_entry(1, -(2**31)),
    "other numbers": lambda a: a + 1,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_damaged_arrays_are_refused(tmp_path, name):
    folder = TextIndex(analyzer=PLAIN).add({"a": "b c", "d": "c d c", "e": "b"}).save(tmp_path)
    path, header = file_of(folder, name), (folder / HEADER).read_bytes()
    whole = path.read_bytes()
    for damage, change in DAMAGE.items():
        if damage == "reversed" and name in ("tokens0", "counts"):
            continue  # may be another valid index
        changed(folder, name, change)
        with pytest.raises(ValueError, match=rf"{folder}/[\w-]+\.npy: .*Build the index anew"):
            TextIndex.load(folder)
        (folder / HEADER).write_bytes(header)
        if np.load(path, allow_pickle=True).dtype != np.load(io.BytesIO(whole)).dtype:
            with pytest.raises(ValueError, match=f"{path.name}: .*(have dtype|not an array)"):
                TextIndex.load(folder)
        path.write_bytes(whole)
    for data in (
        b"", whole[:5], whole[:70], whole[:-1], whole + b"x", b"PK\3\4",
        b"\x93NUMPY\1\0" + b"(" * 999,
    ):  # fmt: skip
        path.write_bytes(data)
        with pytest.raises(ValueError, match=path.name):
            TextIndex.load(folder)
    path.unlink()
    with pytest.raises(ValueError, match=f"{path.name}: the file is missing"):
        TextIndex.load(folder)


def test_postings_of_other_tokens_are_refused(tmp_path):
    """The counts of all terms and all documents agree, but which term is in which does not."""
    documents = {"d": {"title": "a", "text": "a b c"}, "e": {"title": "b", "text": "c c a"}}
    folder = TextIndex(FIELDS, analyzer=PLAIN).add(documents).save(tmp_path)
    changed(folder, "tokens1", lambda tokens: tokens[[0, 1, 5, 3, 4, 2]])
    with pytest.raises(
        ValueError, match=r"documents-\w+\.npy: the postings are not those of the texts"
    ):
        TextIndex.load(folder)


JSON_DAMAGE = {
    HEADER: [
        lambda f: [], lambda f: {}, lambda f: 3, with_entry("format", 1), with_entry("format", "2"),
        with_entry("format", True), with_entry("fields", []), with_entry("fields", "text"),
        with_entry("fields", ["text", "text"]), with_entry("fields", [3]),
        with_entry("fields", [""]),
        with_entry("fields", ["text", "title"]), with_entry("analyzer", []),
        with_entry("analyzer", {"lowercase": 1}), with_entry("analyzer", {"pattern": 3}),
        with_entry("analyzer", {"stemmer": "klingon"}), with_entry("analyzer", {"stop_words": 3}),
        with_entry("analyzer", {"unknown": 1}), with_entry("analyzer", {"pattern": "("}),
        with_entry("sample", None), with_entry("sample", [3]), with_entry("arrays", []),
        with_entry("arrays", {}), lambda f: {**f, "arrays": {"texts": f["arrays"]["texts"]}},
        lambda f: {**f, "arrays": {**f["arrays"], "starts": f["arrays"]["counts"]}},
        *(lambda f, file=file: {**f, "arrays": {**f["arrays"], "starts": {"file": file}}}
          for file in ("../starts.npy", "/starts.npy", ".", "", 3, HEADER)),
        with_entry("is_default", 1), with_entry("sha256", {}), with_entry("sha256", None),
        with_entry("ranker", []), with_entry("ranker", {"a": 1}),
    ],
    "texts": [
        lambda f: [], lambda f: {}, with_entry("doc_ids", 3), with_entry("doc_ids", ["a", "d"]),
        with_entry("doc_ids", ["a", "a", "d"]), with_entry("doc_ids", ["a", "d", None]),
        with_entry("terms", {"b": 1}), with_entry("terms", ["b", "c"]),
        with_entry("terms", ["b", "c", 1]), with_entry("terms", ["b", "c", "c"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", JSON_DAMAGE)
def test_damaged_json_is_refused(tmp_path, name):
    folder = TextIndex(analyzer=PLAIN).add({"a": "b c", "d": "c d c", "e": "b"}).save(tmp_path)
    path, header = file_of(folder, name), (folder / HEADER).read_bytes()
    whole = path.read_bytes()
    for change in JSON_DAMAGE[name]:
        changed(folder, name, change)
        with pytest.raises(ValueError, match=str(folder)):
            TextIndex.load(folder)
        path.write_bytes(whole)
        (folder / HEADER).write_bytes(header)
    text = whole if name == HEADER else np.load(path).tobytes()
    for data in (b"", b"{", text[:-3], b"[" * 10**5, b"\xff", b"{}" * 2, b'{"a": 1' + b"0" * 5000):
        if name == HEADER:
            path.write_bytes(data)
        else:
            replaced(folder, name, np.frombuffer(data, dtype=np.uint8))
        with pytest.raises(ValueError, match=f"{path.name}: not JSON|{path.name}.* got"):
            TextIndex.load(folder)
    path.unlink()
    kind = FileNotFoundError if name == HEADER else ValueError
    with pytest.raises(kind, match=f"{path.name}.* is missing"):
        TextIndex.load(folder)


def test_damaged_rankers_are_refused(tmp_path):
    index = TextIndex(analyzer=PLAIN).add({"a": "b c", "d": "c d c", "e": "b"})
    ranker = TextRanker(index, estimator=RidgeRanker()).fit({"1": "b"}, {"1": {"a": 1, "e": 0}})
    folder = ranker.save(tmp_path)
    model = np.load(file_of(folder, "ranker"))
    for damaged in (model[:-9], model[:0], np.append(model[:99], model[98:])):
        replaced(folder, "ranker", damaged)
        with pytest.raises(ModelFileError, match=str(folder)):
            TextRanker.load(folder)
    file_of(folder, "ranker").unlink()
    for load in (TextRanker.load, TextIndex.load):
        with pytest.raises(ValueError, match=r"ranker-\w+\.npy: the file is missing"):
            load(folder)


def cut_header(folder):
    path = folder / HEADER
    path.write_bytes(path.read_bytes()[:-9])


def cut_array(name):
    def cut(folder):
        path = file_of(folder, name)
        path.write_bytes(path.read_bytes()[:-9])

    return cut


def flip_model(folder):
    path = file_of(folder, "ranker")
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "is_kept"),
    [
        (lambda folder: None, True),
        (cut_array("texts"), True),
        (cut_array("documents"), True),
        (cut_array("ranker"), False),
        (flip_model, False),
        (lambda folder: file_of(folder, "ranker").unlink(), False),
        (cut_header, False),
    ],
    ids=["nothing", "texts", "documents", "cut model", "flipped bit", "no model", "header"],
)
def test_a_new_index_keeps_the_ranker_or_says_why_not(tmp_path, damage, is_kept):
    index = TextIndex(analyzer=PLAIN).add({"a": "b c", "d": "c d c", "e": "b"})
    ranker = TextRanker(index, estimator=RidgeRanker()).fit({"1": "b"}, {"1": {"a": 1, "e": 0}})
    damage(ranker.save(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        index.save(tmp_path)
    said = [str(warning.message) for warning in caught]
    assert_same(TextIndex.load(tmp_path), index)
    if is_kept:
        assert said == []
        assert (
            TextRanker.load(tmp_path).rank("b").scores.tolist() == ranker.rank("b").scores.tolist()
        )
    else:
        assert len(said) == 1
        assert said[0].startswith(f"the text ranker in {tmp_path} cannot be read and is not kept")
        assert caught[0].filename == __file__
        with pytest.raises(FileNotFoundError, match="has no ranker"):
            TextRanker.load(tmp_path)


def test_an_index_without_a_ranker_is_replaced_without_a_word(tmp_path):
    index = TextIndex(analyzer=PLAIN).add({"a": "b c"})
    for damage in (cut_array("texts"), cut_header):
        damage(index.save(tmp_path) or tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            index.save(tmp_path)
        assert_same(TextIndex.load(tmp_path), index)


def test_no_flipped_byte_changes_a_result(tmp_path):
    """Of any file of an index and its ranker: it is refused by name, or has no effect."""
    documents = {"a": {"title": "b", "text": "b c"}, "d": {"text": "c d c"}, "e": {"text": "b"}}
    index = TextIndex(FIELDS, analyzer=PLAIN).add(documents)
    ranker = TextRanker(index, estimator=RidgeRanker()).fit({"1": "b"}, {"1": {"a": 1, "e": 0}})
    folder = ranker.save(tmp_path)
    wanted = index.search("b c", model="bm25f"), ranker.rank("b c")
    n_refused = 0
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        step = -(-len(whole) // 600)  # all bytes of the arrays and texts
        for position in range(0, len(whole), step):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # NumPy, on versions of its format
                    loaded = TextIndex.load(folder)
            except ValueError as error:
                assert path.name in str(error), (position, error)
                n_refused += 1
                continue
            assert_same(loaded, index)
            found = loaded.search("b c", model="bm25f"), TextRanker.load(folder).rank("b c")
            for run, other in zip(found, wanted, strict=True):
                assert as_lists(run) == as_lists(other)
                np.testing.assert_array_equal(run.scores, other.scores)
        path.write_bytes(whole)
    assert n_refused > 1000


def test_a_wrong_count_of_the_first_term_in_the_first_document_is_seen(tmp_path):
    folder = TextIndex(analyzer=PLAIN).add({"a": "b b c", "d": "c"}).save(tmp_path)
    changed(folder, "counts", with_entry(0, 3))
    with pytest.raises(ValueError, match="the postings are not those of the texts"):
        TextIndex.load(folder)


def test_a_file_in_the_place_of_the_folder_is_kept(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("a,b")
    with pytest.raises(NotADirectoryError, match=r"file\.csv is a file\. Pass a folder"):
        TextIndex(analyzer=PLAIN).add({"d": "cat"}).save(path)
    assert path.read_text() == "a,b"


def test_indexes_with_other_rules_of_analysis_are_refused(tmp_path):
    folder = TextIndex(analyzer=PLAIN).add({"d": "cat"}).save(tmp_path)
    changed(folder, HEADER, lambda facts: {**facts, "sample": facts["sample"][1:]})
    with pytest.raises(ValueError, match="was made with another analyzer"):
        TextIndex.load(folder)
    changed(folder, HEADER, lambda facts: {**facts, "format": "4"})
    with pytest.raises(ValueError, match=r"format must be 4, got '4'\. Build the index anew"):
        TextIndex.load(folder)


def as_version_02(folder):
    """Names of the files as in 0.2.0, which had no checksums."""
    arrays = header_of(folder)["arrays"]
    (folder / HEADER).unlink()
    for name, entry in arrays.items():
        (folder / entry["file"]).rename(folder / f"{name}.npy")
    (folder / "texts.npy").unlink()
    (folder / "texts.json").write_text(json.dumps({"doc_ids": ["d"], "terms": ["cat"]}))
    (folder / "index.json").write_text(json.dumps({"format": 1, "fields": ["text"]}))


OTHER_VERSIONS = {
    "0.2": (as_version_02, "an old version of rankwise saved.*\\. Build the index anew: rankwise"),
    "older": (
        lambda folder: changed(folder, HEADER, lambda facts: {**facts, "format": 3}),
        "an old version of rankwise saved.*\\. Build the index anew: rankwise index",
    ),
    "newer": (
        lambda folder: changed(folder, HEADER, lambda facts: {**facts, "format": 5}),
        "a newer version of rankwise saved.*\\. Upgrade rankwise, or build the index anew: ",
    ),
}


@pytest.mark.parametrize("name", OTHER_VERSIONS)
def test_indexes_of_other_versions_say_so(tmp_path, name):
    change, said = OTHER_VERSIONS[name]
    folder = TextIndex(analyzer=PLAIN).add({"d": "cat"}).save(tmp_path / "index")
    change(folder)
    for read in (TextIndex.load, TextRanker.load):
        with pytest.raises(StructureError, match=said):
            read(folder)
    assert TextIndex.load(TextIndex().add({"d": "cat"}).save(folder)).doc_ids == ["d"]


def test_other_folders_with_the_old_name_of_the_header_are_no_indexes(tmp_path):
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="has no index"):
        TextIndex.load(tmp_path)
