"""Measure what a reader sees: outputs, words, pictures, links, cut blocks, search, terminal.

    python -m benchmarks.pages [HTML] [--browser chromium] [--only NAME ...] [--seed 0]

HTML is the folder of the built pages (default ``docs/_build/html``; build it by ``make docs``). The
figures are

``outputs``          share of outputs in ``docs/*.rst`` that are True, False, a number or a shape
``first``            pages of first steps with an output such as ``0.7...``
``words``            words of the ten longest pages, as built
``pictures``         tutorials, how-tos and explanations without a picture
``links``            external addresses in the text of the pages
``guides``           pages of estimators without a link to a page outside the reference
``terminal``         words broken at the end of a line in a terminal of 80 columns
``representations``  characters of ``repr`` of results for 300 features
``cut``              blocks of code wider than their column at 1400 px (needs the browser)
``search``           first hit of the site's search for 20 words (needs the browser)
``sample``           40 random paragraphs for a reader to judge (only if asked; ``--seed``)

The browser reads the pages from a server of this process, one after the other in a frame.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import http.server
import itertools
import json
import os
import pty
import random
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.pages import count_outputs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FIRST_PAGES = ("index", "start", "from_your_csv", "ltr_in_five_minutes", "tutorials")
LISTS = ("tutorials", "howto", "explanation")
SEARCHED = {
    "csv": ("from_your_csv", "data"),
    "significance": ("is_the_difference_real",),
    "p-value": ("is_the_difference_real",),
    "tune": ("tune_a_ranker",),
    "Optuna": ("tune_a_ranker",),
    "GPU": ("operate",),
    "docker": ("operate",),
    "licence": ("project",),
    "changelog": ("project",),
    "custom loss": ("loss_of_your_own",),
    "click log": ("clicks", "clicks_to_judgements"),
    "feature importance": ("explain", "explain_a_ranking"),
    "categorical": ("data", "boosters", "lambdamart"),
    "missing values": ("data", "boosters"),
    "position bias": ("clicks", "clicks_explained", "clicks_to_judgements"),
    "LightGBM migration": ("migrate",),
    "MAP": ("measures", "glossary"),
    "nDCG": ("measures", "glossary", "ltr_in_five_minutes"),
    "confidence interval": ("is_the_difference_real", "boards"),
    "export ONNX": ("export", "deploy"),
}
COMMANDS = ("compare", "cv", "fit", "predict", "evaluate", "lint", "list", "board", "fuse")


# Outputs in the sources


def report_outputs() -> None:
    counts = {path.stem: count_outputs(path) for path in sorted(DOCS.glob("*.rst"))}
    total = sum(counts.values(), Counter())
    n_outputs = total.total()
    bare = total["truth"] + total["number"]
    print(
        f"{n_outputs} outputs, {total['truth']} True or False ({total['truth'] / n_outputs:.1%}), "
        f"{total['number']} numbers or shapes; together {bare / n_outputs:.1%}"
    )
    for name, kinds in counts.items():
        if kinds["truth"] + kinds["number"]:
            print(f"  {name:35}{kinds.total():4}{kinds['truth']:4}{kinds['number']:4}")


def pages_with_cut_numbers(names: tuple[str, ...] = FIRST_PAGES) -> list[str]:
    """Pages among ``names``, or the README ("README"), with an output such as ``0.7...``."""
    sources = {name: DOCS / f"{name}.rst" for name in names} | {"README": ROOT / "README.md"}
    return [
        name
        for name, path in sources.items()
        if path.exists() and re.search(r"\d\.\d*\.\.\.", path.read_text("utf-8"))
    ]


def report_first() -> None:
    print(", ".join(pages_with_cut_numbers()) or "none")


def paragraphs(path: Path) -> Iterator[str]:
    """Paragraphs and items of lists of a page with at least 15 words, without code and tables."""
    directive_indent = None
    for block in re.split(r"\n\s*\n", path.read_text("utf-8")):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        first, indent = lines[0].lstrip(), len(lines[0]) - len(lines[0].lstrip())
        if directive_indent is not None and indent > directive_indent:
            continue
        directive_indent = indent if first.startswith("..") else None
        is_title = any(re.fullmatch(r"([=~^\"-])\1+", line.strip()) for line in lines)
        if first.startswith((">>>", "..", ":")) or is_title:
            continue
        for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines)):
            if len(words := item.split()) >= 15:
                yield " ".join(words)


def report_sample(seed: int, n: int = 40) -> None:
    found = [
        (path.stem, text)
        for path in sorted(DOCS.glob("*.rst"))
        if path.stem != "references"
        for text in paragraphs(path)
    ]
    print(f"{n} of {len(found)} paragraphs, seed {seed}")
    for i, (name, text) in enumerate(random.Random(seed).sample(found, n), 1):
        print(f"\n{i}. [{name}] {text}")


# Built pages


def read_articles(html: Path) -> dict[str, object]:
    """The text column of each built page, by its address without ``.html``."""
    from bs4 import BeautifulSoup  # comes with the theme of the pages

    articles = {}
    for path in sorted(html.rglob("*.html")):
        name = path.relative_to(html).with_suffix("").as_posix()
        if not name.startswith("_"):
            soup = BeautifulSoup(path.read_text("utf-8"), "lxml")
            if (article := soup.select_one("article.bd-article")) is not None:
                articles[name] = article
    return articles


def listed_pages() -> list[str]:
    """Tutorials, how-tos and explanations, as their tables of contents list them."""
    names = []
    for name in LISTS:
        entries = (DOCS / f"{name}.rst").read_text("utf-8").partition(".. toctree::")[2]
        names += re.findall(r"^   (\w+)$", entries, re.M)
    return names


def report_words(articles) -> None:
    words = {name: len(article.get_text(" ").split()) for name, article in articles.items()}
    own = {name: n for name, n in words.items() if not name.startswith(("generated", "genindex"))}
    for name, n in sorted(own.items(), key=lambda item: -item[1])[:10]:
        print(f"  {name:35}{n:6}")


def report_pictures(articles) -> None:
    listed = [name for name in listed_pages() if name in articles]
    without = [
        name for name in listed if not articles[name].select("img, figure svg, .chooser svg")
    ]
    print(f"{len(without)} of {len(listed)} pages without a picture: {', '.join(without)}")


def report_links(articles) -> None:
    pages: dict[str, set[str]] = {}
    for name, article in articles.items():
        for link in article.select("a[href^=http]"):
            pages.setdefault(link["href"], set()).add(name)
    hosts = Counter(urlsplit(address).netloc for address in pages)
    linking = set().union(*pages.values()) if pages else set()
    print(f"{len(pages)} external addresses on {len(linking)} of {len(articles)} pages")
    print("  " + ", ".join(f"{host} {n}" for host, n in hosts.most_common(12)))


def report_guides(articles) -> None:
    found = {
        name.rpartition("/")[2]: article
        for name, article in articles.items()
        if name.startswith("generated/api/") and article.select_one('dl.py.class dt[id$=".fit"]')
    }
    without = []
    for name, article in found.items():
        targets = [link["href"].partition("#")[0] for link in article.select("a.reference[href]")]
        guides = [
            target
            for target in targets
            if target.startswith("../../") and target[6:].removesuffix(".html") not in NO_GUIDES
        ]
        if not any("/" not in target[6:] for target in guides):
            without.append(name)
    print(f"{len(without)} of {len(found)} pages of estimators without a link to a guide")
    print("  " + ", ".join(without))


NO_GUIDES = ("references", "errata", "genindex", "reference")  # literature and lists


# The terminal


def run_cli(arguments: list[str], columns: int) -> str:
    """Output of the command line in a terminal of so many columns, without colours."""
    terminal, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "rankwise", *arguments]
    with subprocess.Popen(command, stdout=program, stderr=program, env=environment):
        os.close(program)
        parts = []
        with contextlib.suppress(OSError):  # Linux ends a terminal by an error
            while part := os.read(terminal, 65536):
                parts.append(part)
    os.close(terminal)
    text = b"".join(parts).decode("utf-8").replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def broken_words(narrow: str, wide: str, columns: int = 80) -> list[str]:
    """Words of ``wide`` that a line of ``narrow`` ends in the middle of.

    A line beyond the width is cut by the terminal, whatever stands there.
    """
    whole = set(re.sub("[│|]", " ", wide).split())
    broken = []
    rows = [re.sub("[│|]", " ", line) for line in narrow.splitlines()]
    for row, following in itertools.pairwise([*rows, ""]):
        for cut in range(columns, len(row), columns):
            if not (row[cut - 1].isspace() or row[cut].isspace()):
                broken.append(row[:cut].split()[-1] + row[cut:].split()[0])
        words, after = row.split(), following.split()
        if len(row) >= columns - 4 and words and words[-1] not in whole:
            broken += [words[-1] + word for word in after if words[-1] + word in whole][:1]
    return broken


def report_terminal() -> None:
    calls = [[command, "--help"] for command in COMMANDS]
    compared = ["compare", "lambdarank:1", "--rankers", "rank_lr,pairwise_elm"]
    calls += [["--help"], ["list"], ["lint", "lambdarank:1"], compared]
    total = 0
    for arguments in calls:
        narrow, wide = (run_cli(arguments, columns) for columns in (80, 1000))
        broken = broken_words(narrow, wide)
        total += len(broken)
        lines = narrow.splitlines()
        print(
            f"  {' '.join(arguments[:2]):28}{len(lines):4} lines, widest "
            f"{max(map(len, lines), default=0):4}, {len(broken):3} broken: {' '.join(broken[:6])}"
        )
    print(f"{total} words broken")


# Representations


def report_representations() -> None:
    import numpy as np

    from rankwise import LambdaMART, compare, evaluate
    from rankwise.datasets import lint, load_dataset
    from rankwise.explain import (
        explain_pair,
        explain_ranking,
        feature_effect,
        feature_importances,
    )

    fold = load_dataset("lambdarank", fold=1)
    train, test = fold.train, fold.test
    ranker = LambdaMART(n_estimators=20, random_state=0).fit(train.X, train.y, qid=train.qid)
    first = test.X[test.qid == test.qid[0]]
    ranking = explain_ranking(ranker, test.X, test.qid)
    board = compare(["rank_lr", "pairwise_elm"], fold)
    scores = ranker.predict(test.X)
    results = {
        "compare": board,
        "evaluate": evaluate(test.y, scores, test.qid, ["nDCG@10", "AP"]),
        "explain_pair": explain_pair(ranker, first[0], first[1]),
        "explain_ranking": explain_ranking(ranker, first),
        "explain_ranking, all": ranking,
        "feature_importances": feature_importances(ranking),
        "feature_effect": feature_effect(ranker, test.X, test.qid, 0),
        "lint": lint(train),
        "RankingData": train,
        "scores": np.asarray(scores),
    }
    for name, result in results.items():
        rich = "html" if hasattr(result, "_repr_html_") else ""
        print(f"  {name:25}{type(result).__name__:25}{len(repr(result)):6} {rich}")


# The browser

FRAME = """<!doctype html><body style="margin:0"><iframe id=frame
style="border:0;width:1400px;height:900px"></iframe><script>
const frame = document.getElementById("frame"), wait = ms => new Promise(r => setTimeout(r, ms));
const open = address => new Promise(r => { frame.onload = r; frame.src = address; });
const post = found => fetch("/measured", {method: "POST", body: JSON.stringify(found)});
(async () => {
  const {pages, words} = await (await fetch("/asked")).json();
  const cut = {}, hits = {};
  for (const page of pages) {
    await open("/" + page + ".html");
    const blocks = [...frame.contentDocument.querySelectorAll("article pre")];
    const wide = blocks.filter(block => block.scrollWidth > block.clientWidth + 1).length;
    if (wide) cut[page] = wide;
  }
  for (const word of words) {
    await open("/search.html?q=" + encodeURIComponent(word));
    const found = () => frame.contentDocument.querySelector("#search-results h2")?.textContent;
    for (let i = 0; i < 200 && found() !== "Search Results"; i++) await wait(100);
    const links = [...frame.contentDocument.querySelectorAll("#search-results li > a")];
    hits[word] = links.slice(0, 5).map(link => link.getAttribute("href"));
  }
  await post({cut, hits});
})().catch(error => post({error: String(error)}));
</script>"""


def ask_browser(html: Path, browser: str, pages: list[str], words: list[str]) -> dict:
    """Blocks of code that are cut, by page, and the first hits of the search, by word."""
    measured: dict = {}
    done = threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, directory=str(html), **named)

        def log_message(self, *arguments):
            pass

        def do_GET(self):
            answers = {"/frame": FRAME, "/asked": json.dumps({"pages": pages, "words": words})}
            if (answer := answers.get(self.path)) is None:
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(answer.encode())

        def do_POST(self):
            measured.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"]
        command += [f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        address = f"http://127.0.0.1:{server.server_port}/frame"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([*command, address], **quiet) as process:
            try:
                if not done.wait(1800):
                    raise TimeoutError(f"{browser} has not answered for half an hour.")
            finally:
                process.terminate()
        server.shutdown()
    if "error" in measured:
        raise RuntimeError(measured["error"])
    return measured


def report_cut(html: Path, browser: str, articles) -> None:
    cut = ask_browser(html, browser, list(articles), [])["cut"]
    print(f"{sum(cut.values())} blocks cut on {len(cut)} of {len(articles)} pages")
    for name, n in sorted(cut.items(), key=lambda item: -item[1])[:15]:
        print(f"  {name:60}{n:4}")


def report_search(html: Path, browser: str) -> None:
    hits = ask_browser(html, browser, [], list(SEARCHED))["hits"]
    right = 0
    for word, wanted in SEARCHED.items():
        names = [re.sub(r"\.html.*", "", address) for address in hits[word]]
        found = bool(names) and names[0] in wanted
        right += found
        print(f"  {'ok' if found else '--'} {word:22}{', '.join(names[:3]) or 'nothing'}")
    print(f"{right} of {len(SEARCHED)} words lead to their page first")


REPORTS = (
    *("outputs", "first", "words", "pictures", "links", "guides", "terminal"),
    *("representations", "cut", "search"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("html", nargs="?", type=Path, default=DOCS / "_build" / "html")
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--only", nargs="+", choices=(*REPORTS, "sample"), default=REPORTS)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    built = {"words", "pictures", "links", "guides", "cut"} & set(asked.only)
    articles = read_articles(asked.html) if built else {}
    calls = {
        "outputs": report_outputs,
        "first": report_first,
        "words": lambda: report_words(articles),
        "pictures": lambda: report_pictures(articles),
        "links": lambda: report_links(articles),
        "guides": lambda: report_guides(articles),
        "terminal": report_terminal,
        "representations": report_representations,
        "cut": lambda: report_cut(asked.html, asked.browser, articles),
        "search": lambda: report_search(asked.html, asked.browser),
        "sample": lambda: report_sample(asked.seed),
    }
    for name in asked.only:
        print(f"\n== {name}", flush=True)
        calls[name]()


if __name__ == "__main__":
    main()
