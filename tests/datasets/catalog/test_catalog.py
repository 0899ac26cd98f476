"""The catalog and fetch: found where it should be, refused where it is not what it should be."""

import bz2
import errno
import gzip
import hashlib
import importlib
import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rankwise.datasets import fetch, known_datasets
from rankwise.datasets.readers.textfiles import text_sha256
from rankwise.runtime.files import BUNDLED

TEXTS = {
    "a.txt": b"2 qid:1 1:0.5 # docid = x\n0 qid:1 1:1\n",
    "b.txt": b"1 qid:2 1:0.25\n",
}
SEEN = {"ohsumed", "ohsumed-min", "mq2008", "lambdarank", "mslr-slices"}
UNSEEN = {"td2003", "td2004"}  # their files have no checksums in the catalog
CLOSED = {"yahoo-ltrc-1", "yahoo-ltrc-2"}  # nor have these
FOLDER, OFFICIAL = "letor-toy", {"a.txt": "Fold2/test.txt", "b.txt": "Fold1/test.txt"}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A catalog of one set, whose gzip files lie in tmp_path/web; no data folder, own cache."""
    module = importlib.import_module("rankwise.datasets.catalog.entries")
    lines = [
        '[toy]\ntitle = "Toy"\naddress = "https://toy.example/page"\nhow_to_get = "Get toy.zip."',
        'terms = "None."\ncite = "Nobody"\nrows = 3\nqueries = 2\nfeatures = 1',
        f'labels = {{ 0 = 1, 1 = 1, 2 = 1 }}\nfolders = ["{FOLDER}", "TOY"]',
        'folds = [{ train = ["a.txt"], test = ["b.txt"], vali_share = 0.0 }]',
    ]
    web = tmp_path / "web" / FOLDER
    web.mkdir(parents=True)
    for name, text in TEXTS.items():
        packed = gzip.compress(text, mtime=0)
        (web / f"{name}.gz").write_bytes(packed)
        lines.append(
            f'[[toy.files]]\nname = "{name}"\nofficial = "{OFFICIAL[name]}"\nrows = 1\nqueries = 1'
            f'\nsha256 = "{hashlib.sha256(text).hexdigest()}"'
            f'\nsha256_gz = "{hashlib.sha256(packed).hexdigest()}"'
        )
    (tmp_path / "catalog.toml").write_text("\n".join(lines))
    monkeypatch.setattr(module, "CATALOG", tmp_path / "catalog.toml")
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    module.known_datasets.cache_clear()
    yield tmp_path
    module.known_datasets.cache_clear()


@pytest.fixture
def server(toy):
    """URL of a web server on this machine that serves tmp_path/web, and the paths it was asked."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=toy / "web"))
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/", asked
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def put(root, folder, name, data):
    (root / folder / name).parent.mkdir(parents=True, exist_ok=True)
    (root / folder / name).write_bytes(data)


def test_catalog_is_complete():
    entries = known_datasets()
    assert set(entries) == {*SEEN, *UNSEEN, *CLOSED}
    for name, entry in entries.items():
        assert entry.name == name
        assert entry.address.startswith("https://")
        assert all((entry.title, entry.how_to_get, entry.terms, entry.cite, entry.folds))
        if name not in UNSEEN:
            assert sum(file.rows for file in entry.files) == entry.rows
        if name in SEEN:
            assert sum(entry.labels.values()) == entry.rows
            assert all(len(file.sha256) == len(file.sha256_gz) == 64 for file in entry.files)
        assert sum(file.queries for file in entry.files) == entry.queries
        names = {file.name for file in entry.files}
        for fold in entry.folds:
            used = [*fold.train, *fold.vali, *fold.test]
            assert len(used) == len(set(used))
            assert set(used) == names
    with pytest.raises(TypeError):
        entries["x"] = None


def test_letor_folds_are_the_rotations():
    for name in ("ohsumed", "ohsumed-min", "mq2008", *UNSEEN):
        for k, fold in enumerate(known_datasets()[name].folds):
            ring = [f"S{(k + step) % 5 + 1}.txt" for step in range(5)]
            assert [*fold.train, *fold.vali, *fold.test] == ring
            assert len(fold.train) == 3
        official = {file.name: file.official for file in known_datasets()[name].files}
        # S1 is tested in fold 2, ..., S5 in fold 1.
        assert [official[f"S{i}.txt"][:5] for i in range(1, 6)] == [
            "Fold2", "Fold3", "Fold4", "Fold5", "Fold1",
        ]  # fmt: skip


def test_stored_files_have_the_checksums_of_the_catalog(data_root, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path))
    for name, entry in known_datasets().items():
        if name not in SEEN:
            continue
        paths = fetch(name)
        assert len(paths) == len(entry.files)
        for file, path in zip(entry.files, paths, strict=True):
            assert path.is_relative_to(data_root)
            assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256_gz
            text = gzip.decompress(path.read_bytes())
            assert hashlib.sha256(text).hexdigest() == file.sha256
            assert text.count(b"\n") == file.rows


def test_lambdarank_is_bundled(toy, monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setenv("RANKWISE_CACHE", str(toy / "cache"))
    importlib.import_module("rankwise.datasets.catalog.entries").known_datasets.cache_clear()
    assert [path.parent for path in fetch("lambdarank")] == [BUNDLED / "lightgbm-lambdarank"] * 2
    assert "MIT License" in (BUNDLED / "lightgbm-lambdarank" / "LICENSE").read_text()


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of ohsumed, .*, got 'nothing'"):
        fetch("nothing")


def test_missing_set_says_what_to_get_and_where_to_put_it(toy):
    with pytest.raises(FileNotFoundError) as caught:
        fetch("toy")
    for part in ("a.txt of toy", "letor-toy/a.txt", "Get toy.zip.", "RANKWISE_DATA",
                 "https://toy.example/page", "Terms: None."):  # fmt: skip
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "folder, name_of, pack",
    [
        (FOLDER, str, bytes),
        (FOLDER, "{}.gz".format, gzip.compress),
        (FOLDER, "{}.bz2".format, bz2.compress),
        ("TOY", OFFICIAL.get, bytes),
        ("TOY", lambda name: f"{OFFICIAL[name]}.gz", gzip.compress),
        ("TOY", OFFICIAL.get, lambda text: text.replace(b"\n", b"\r\n")),
    ],
)
def test_layouts_under_the_data_folder(toy, monkeypatch, folder, name_of, pack):
    monkeypatch.setenv("RANKWISE_DATA", str(toy / "data"))
    for name, text in TEXTS.items():
        put(toy / "data", folder, name_of(name), pack(text))
    assert fetch("toy") == [toy / "data" / folder / name_of(name) for name in TEXTS]


def test_wrong_file_is_refused(toy, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(toy / "data"))
    put(toy / "data", FOLDER, "a.txt", TEXTS["a.txt"] + b"1 qid:3 1:0\n")
    with pytest.raises(
        ValueError, match=r"a\.txt is not a\.txt of toy: sha256 .* got [0-9a-f]{64}"
    ):
        fetch("toy")


def test_data_folder_comes_before_the_cache(toy, monkeypatch, server):
    url, _ = server
    cached = fetch("toy", mirror=url)
    monkeypatch.setenv("RANKWISE_DATA", str(toy / "data"))
    put(toy / "data", FOLDER, "a.txt", TEXTS["a.txt"])
    assert fetch("toy") == [toy / "data" / FOLDER / "a.txt", cached[1]]


def test_download_from_a_mirror_once(toy, server):
    url, asked = server
    paths = fetch("toy", mirror=url)
    assert paths == [toy / "cache" / "data" / FOLDER / f"{name}.gz" for name in TEXTS]
    assert [gzip.decompress(path.read_bytes()) for path in paths] == list(TEXTS.values())
    assert asked == [f"/{FOLDER}/a.txt.gz", f"/{FOLDER}/b.txt.gz"]
    assert fetch("toy") == paths
    assert fetch("toy", mirror=url) == paths
    assert len(asked) == 2


def test_download_with_another_checksum_is_not_kept(toy, server):
    url, _ = server
    put(toy / "web", FOLDER, "a.txt.gz", gzip.compress(b"1 qid:1 1:9\n"))
    with pytest.raises(ValueError, match="hash"):
        fetch("toy", mirror=url)
    assert not list((toy / "cache" / "data").rglob("a.txt*"))


def test_a_file_without_checksums_is_found_but_not_downloaded(toy, server, monkeypatch):
    url, asked = server
    catalog = toy / "catalog.toml"
    lines = [line for line in catalog.read_text().splitlines() if not line.startswith("sha256")]
    catalog.write_text("\n".join(lines))
    known_datasets.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"Get toy\.zip\."):
        fetch("toy", mirror=url)
    assert asked == []
    monkeypatch.setenv("RANKWISE_DATA", str(toy / "data"))
    for name in TEXTS:
        put(toy / "data", FOLDER, name, b"1 qid:1 1:9\n")
    assert fetch("toy") == [toy / "data" / FOLDER / name for name in TEXTS]


def test_download_that_is_not_there(toy, server):
    url, _ = server
    (toy / "web" / FOLDER / "b.txt.gz").unlink()
    with pytest.raises(OSError, match="404"):
        fetch("toy", mirror=url)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_download_onto_a_full_disk_names_the_file(toy, server, monkeypatch, code):
    import pooch

    def full(*_, **__):
        raise OSError(code, os.strerror(code))

    url, _ = server
    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", full)
    with pytest.raises(OSError, match=r"a\.txt\.gz") as raised:
        fetch("toy", mirror=url)
    assert raised.value.errno == code
    assert not [path for path in (toy / "cache").rglob("*") if path.is_file()]


def test_checksums_are_remembered_until_the_file_changes(toy, monkeypatch):
    module = importlib.import_module("rankwise.datasets.readers.textfiles")
    computed = []
    monkeypatch.setattr(
        module, "compute_text_sha256", lambda path: computed.append(path) or f"{len(computed)}"
    )
    path = toy / "file.txt"
    path.write_bytes(b"one")
    assert [text_sha256(path), text_sha256(path)] == ["1", "1"]
    path.write_bytes(b"other")
    assert text_sha256(path) == "2"
    (toy / "cache" / "checksums.json").write_text("damaged")
    assert text_sha256(path) == "3"


def test_checksums_without_a_writable_cache(toy, monkeypatch):
    (toy / "file").write_bytes(b"x\n")
    monkeypatch.setenv("RANKWISE_CACHE", str(toy / "file" / "below"))
    assert text_sha256(toy / "file") == hashlib.sha256(b"x\n").hexdigest()
