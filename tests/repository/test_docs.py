"""Examples in docstrings, documentation pages and the README run and print what they say."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import shlex
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from typer import Context
from typer.main import get_command
from typer.testing import CliRunner

import rankwise
from rankwise._registry import REGISTRY
from rankwise.cli.main import app
from rankwise.datasets import load_dataset
from rankwise.selection import Leaderboard
from tests.pages import OPTIONS, PageChecker, count_outputs, kind_of_output

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(rankwise.__path__, "rankwise.")
    if not info.name.startswith("rankwise.kernels")
)
MOST_BARE = 0.02  # of all outputs
PAGES = sorted((ROOT / "docs").glob("*.rst"))
# Pages of use, whose studies and rules are pages of their own, and the most words that they have.
SHORT = ("clicks_explained", "cluster", "data", "lambdamart", "measures", "pairwise", "speed")
MOST_WORDS = 1220


def run(test):
    report = io.StringIO()
    runner = doctest.DocTestRunner(PageChecker(), optionflags=OPTIONS)
    result = runner.run(test, out=report.write, clear_globs=False)
    assert result.failed == 0, report.getvalue()


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    if name.startswith("rankwise.rankers.neural."):
        pytest.importorskip("torch", reason="needs rankwise[neural]")
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # of the tool that the module is for
        if not name.startswith("rankwise.integrations."):
            raise
        pytest.skip(str(error))
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        run(test)


def resolves(name):
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        with contextlib.suppress(ImportError):
            if cut == len(parts) and importlib.util.find_spec(name):
                return True  # a module, perhaps for a tool that is not installed
            value = importlib.import_module(".".join(parts[:cut]))
            return all(
                hasattr(value, part) and (value := getattr(value, part)) for part in parts[cut:]
            )
    return False


def test_dotted_names_in_pages_exist():
    recipes = {"rankwise.metrics.measures.top_grade", "rankwise.losses.pairwise_exponential"}
    recipes |= {"rankwise.solvers.newton.score_lbfgs", "rankwise.datasets.readers.feather"}
    recipes |= {"rankwise_papers.nobody2000.experiment"}
    names = set()
    for path in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "papers/README.md"]:
        text = re.sub(r"https?://\S+", "", path.read_text("utf-8"))
        names |= set(re.findall(r"\brankwise(?:_papers)?(?:\.[A-Za-z_]\w*)+", text))
    assert [name for name in sorted(names - recipes) if not resolves(name)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text("utf-8")
    if "import onnxruntime" in text:
        pytest.importorskip("onnxruntime", reason="needs rankwise[onnx]")
    page = doctest.DocTestParser().get_doctest(text, {}, path.stem, str(path), 0)
    run(page)
    for name in re.findall(r"^\.\. figure-of:: (\w+)$", text, re.M):
        assert isinstance(page.globs[name], Figure), name
    if "matplotlib.pyplot" in sys.modules:  # which warns of more than 20 open figures
        sys.modules["matplotlib.pyplot"].close("all")


def test_pages_show_results():
    """Most outputs show a result; what is True of it belongs to the tests."""
    counts = sum(map(count_outputs, PAGES), Counter())
    assert counts["truth"] + counts["number"] <= MOST_BARE * counts.total(), counts


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.stem)
def test_pages_show_whole_numbers(path):
    """An output such as ``0.7...`` hides the result from the reader."""
    examples = doctest.DocTestParser().get_examples(path.read_text("utf-8"))
    cut = [example.want for example in examples if re.search(r"\d\.\d*\.\.\.", example.want)]
    assert cut == []


@pytest.mark.parametrize("name", SHORT)
def test_pages_of_use_are_short(name):
    text = (ROOT / "docs" / f"{name}.rst").read_text("utf-8")
    text = re.sub(r"^\.\. raw:: html\n(?:\n|   .*\n)+", "", text, flags=re.M)
    text = re.sub(r"^ *(?::[\w-]+:.*|\.\. (?:\S+::|_).*|[-=~]{4,})$", "", text, flags=re.M)
    text = re.sub(r"^ +(?:\* )?- ", "", text, flags=re.M)
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize(
    ("want", "kind"),
    [
        ("True", "truth"),
        ("np.True_", "truth"),
        ("(True, False)", "truth"),
        ("True\nTrue", "truth"),
        ("0.7...", "number"),
        ("np.float64(0.5)", "number"),
        ("(768,)", "number"),
        ("(597, 5)", "number"),
        ("[0.718, 0.749]", "result"),
        ("'shop'", "result"),
    ],
)
def test_kind_of_output(want, kind):
    assert kind_of_output(want) == kind


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("nDCG@10 0.713", "nDCG@10 0.714", True),
        ("nDCG@10 0.713", "nDCG@10 0.720", False),
        ("weight 0.49727090308504923", "weight 0.49727090308504811", True),
        ("weight 0.49727090308504923", "weight 0.49728090308504811", False),
        ("nDCG@10 0.713", "nDCG@5 0.713", False),
        ("0.50 0.20", "0.50", False),
        ("12 rows", "13 rows", False),
        (
            "a  fit s  predict s  MB\nx  0.1  0.2  3\n",
            "a  fit s  predict s  MB\nx  9.1  0.7  5\n",
            True,
        ),
        (
            "a  fit s  predict s  MB\nx  0.1  0.2  3\n",
            "a  fit s  predict s  MB\ny  9.1  0.7  5\n",
            False,
        ),
    ],
)
def test_page_checker(want, got, same):
    assert PageChecker().check_output(want, got, OPTIONS) == same


def test_every_tutorial_shows_a_figure():
    listed = (
        (ROOT / "docs" / "tutorials.rst").read_text("utf-8").partition(":maxdepth: 1")[2].split()
    )
    assert len(listed) >= 11
    without = [
        name
        for name in listed
        if ".. figure-of::" not in (ROOT / f"docs/{name}.rst").read_text("utf-8")
    ]
    assert without == []


def test_the_snippet_of_the_readme_runs(monkeypatch):
    """With the stored board in place of a comparison of half a minute."""
    stored = Leaderboard.from_json(ROOT / "docs" / "leaderboards" / "lambdarank.json")
    called = []
    monkeypatch.setattr(rankwise, "compare", lambda *args, **named: called.append(args) or stored)
    readme = (ROOT / "README.md").read_text("utf-8")
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(snippet, "README.md", "exec"), {})
    ((rankers, data),) = called
    assert rankers == stored.rankers
    assert data.n_queries == len(stored.qids)
    assert "".join(f"> {line}\n" for line in printed.getvalue().splitlines()) in readme


def test_the_search_with_optuna_runs():
    optuna = pytest.importorskip("optuna", reason="needs optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    page = (ROOT / "docs" / "tune_a_ranker.rst").read_text("utf-8")
    blocks = page.partition("\nOptuna\n")[2].partition(".. code-block:: python\n")[2]
    code, _, output = blocks.partition("\n.. code-block:: text\n\n")
    fold = load_dataset("lambdarank", fold=1)
    names = {"train": fold.train, "vali": fold.vali, "LambdaMART": rankwise.LambdaMART}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(textwrap.dedent(code), names)
    want = textwrap.dedent(output.partition("\n\n")[0])
    assert PageChecker().check_output(want, printed.getvalue().rstrip("\n"), OPTIONS)


def test_the_commands_of_the_command_line_page_run(tmp_path, monkeypatch):
    """In this process; that ``rankwise`` starts as a program is tested in tests/cli."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "command_line.rst").read_text("utf-8")
    page = re.sub(r"\\\n\s*", "", page)  # a command on two lines
    commands = re.findall(r"^   rankwise (.*)$", page, re.M)
    assert {command.split()[0] for command in commands} >= {
        "list", "lint", "compare", "cv", "fit", "info", "predict", "evaluate"
    }  # fmt: skip
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command), prog_name="rankwise")
        assert done.exit_code == 0, f"{command}\n{done.output}"
    assert (tmp_path / "out.html").stat().st_size > 10_000


def commands_of(group, before=()):
    """Options of every command, by the words that call it."""
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "commands"):
            yield from commands_of(command, (*before, name))
        else:
            options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
            yield (*before, name), options | {"--help", "-h", "--debug"}


def test_options_in_pages_exist():
    """Command lines that no test runs name options of today, too."""
    known = dict(commands_of(get_command(app)))
    wrong, n_lines = [], 0
    for path in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"\\\n\s*", " ", path.read_text("utf-8"))
        for line in re.findall(r"^(?:\s+|\$ )rankwise ([a-z].*)$", text, re.M):
            words = line.split()
            command = next((tuple(words[:n]) for n in (2, 1) if tuple(words[:n]) in known), None)
            if command is None:
                continue
            n_lines += 1
            given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            wrong += [f"{path.name}: {line}" for _ in given - known[command]]
    assert wrong == []
    assert n_lines > 50


def test_readme_names_targets_of_the_makefile():
    named = set(re.findall(r"\bmake (\w+)", (ROOT / "README.md").read_text("utf-8")))
    assert {"demo", "test"} <= named
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert named <= targets


def test_every_source_in_the_registry_has_a_reference():
    labels = set(
        re.findall(r"^\.\. _(\w+):$", (ROOT / "docs/references.rst").read_text("utf-8"), re.M)
    )
    assert {entry.paper for entry in REGISTRY.values()} - {""} <= labels


def test_architecture_page_shows_every_package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    rooms = importlib.import_module("rooms")
    packages = {info.name for info in pkgutil.iter_modules(rankwise.__path__)}
    assert {name for layer in rooms.layers() for name in layer} == packages == set(rooms.ROOMS)
    picture = rooms.picture()
    assert all(f">{name}</text>" in picture for name in packages)
    for layer in rooms.layers():  # a character takes about 6.5 pixels
        assert 6.5 * max(len(rooms.ROOMS[name]) for name in layer) < rooms.WIDTH / len(layer) - 12
    assert "generated/rooms.svg" in (ROOT / "docs" / "architecture.rst").read_text("utf-8")


def test_architecture_page_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.rst").read_text("utf-8")
    paths = set(re.findall(r"``(\w+/[\w/]+(?:\.\w+)?)/?``", page)) - {"papers/tests", "tests/cli"}
    missing = [p for p in sorted(paths) if "NAME" not in p and "FAMILY" not in p
               and not any((ROOT / top / p).exists() for top in ("src/rankwise", "."))]  # fmt: skip
    assert missing == []


def test_architecture_page_names_objects_that_exist():
    page = (ROOT / "docs" / "architecture.rst").read_text("utf-8")
    names = sorted(set(re.findall(r"``(rankwise\.[\w.]+)``", page)))
    assert len(names) > 30 and [name for name in names if not resolves(name)] == []
