"""What a lean installation does: ``python -m tests.lean`` in an environment without extras.

``make lean`` runs this with the packages of the page *Deployment* only; a test of every run blocks
the imports of all others.
"""

from __future__ import annotations

import importlib.abc
import os
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from importlib.resources import files
from pathlib import Path

# Of packages that `pip install --no-deps rankwise` is completed with, and of what these need.
ALLOWED = {
    "sklearn", "numba", "narwhals", "lazy_loader", "skops", "threadpoolctl", "numpy", "scipy",
    "joblib", "cloudpickle", "llvmlite", "packaging", "prettytable", "wcwidth", "rankwise", "tests",
}  # fmt: skip


class BlockedImports(importlib.abc.MetaPathFinder):
    """Imports of everything but the standard library and some packages fail."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        package = name.partition(".")[0]
        if package not in ALLOWED | sys.stdlib_module_names and not package.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main() -> None:
    """Fit, save, load, measure, compare, explain and export, with few kernels to compile."""
    import numpy as np

    import rankwise
    from rankwise._registry import REGISTRY

    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 6)
    X = rng.normal(size=(len(qid), 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=len(qid)), [-0.5, 0.7])
    doc_ids = np.tile([f"d{j}" for j in range(6)], 12)
    warnings.simplefilter("ignore")  # five steps do not converge
    with tempfile.TemporaryDirectory() as folder:
        for key in _RANKERS:
            model = REGISTRY[key].load()()
            takes = {"max_iter", "n_estimators", "n_rounds"} & set(model.get_params())
            model.set_params(**dict.fromkeys(takes, 5)).fit(X, y, qid=qid)
            rankwise.save(model, Path(folder) / key)
            again = rankwise.load(Path(folder) / key)
            assert np.array_equal(again.predict(X), model.predict(X)), key
    model = rankwise.LambdaMART(n_estimators=5, random_state=0).fit(X, y, qid=qid)
    scores = model.predict(X)
    found = rankwise.evaluate(y, scores, qid, ["nDCG@10", "AP"], doc_ids=doc_ids)
    assert found["nDCG@10"] > 0.7
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.5, "b": 1.0}}
    assert rankwise.evaluate(qrels=qrels, run=run, measures="AP")["AP"] == 1
    data = rankwise.RankingData(X, y, qid=qid)
    board = rankwise.compare(["ridge", "rank_svm"], data, measures=["nDCG@10"])
    print(board)
    print(rankwise.explain_ranking(model, X[:6]))
    assert rankwise.explain.feature_importances(model) is not None
    source = rankwise.export.to_python(model)
    scope: dict[str, object] = {}
    exec(source, scope)
    assert files("rankwise").joinpath(".agents/skills/rankwise/SKILL.md").is_file()
    print("lean:", *sorted({name.partition(".")[0] for name in sys.modules} & _HEAVY))


def check_size(most: int) -> None:
    """Print the size of site-packages without pip and setuptools in MB; exit if it is above."""
    folder = Path(sysconfig.get_path("purelib"))
    command = ["du", "-sm", "--exclude=pip*", "--exclude=setuptools*", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    size = int(done.stdout.split()[0])
    print(f"{size} MB in {folder}")
    if size > most:
        sys.exit(f"error: more than {most} MB")


# Of each way to fit: least squares, random nodes, pairs, trees, boosting, thresholds, classes.
_RANKERS = ("ridge", "pairwise_elm", "rank_svm", "lambdamart", "mc_rank", "ranking_tree", "orboost")
_HEAVY = {"pyarrow", "pandas", "matplotlib", "jinja2", "typer", "rich", "pooch"}

if __name__ == "__main__":
    if "--block" in sys.argv:
        sys.meta_path.insert(0, BlockedImports())
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
    if "--most-mb" in sys.argv:
        check_size(int(sys.argv[-1]))
