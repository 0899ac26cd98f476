"""
Query ids through a grid search
===============================

Rankers request the query id from scikit-learn's metadata routing, so that a pipeline inside a
grid search passes it on to ``fit`` and to ``score``. The user only switches routing on.
"""

import matplotlib.pyplot as plt
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import PairwiseELM
from rankwise.datasets import load_dataset
from rankwise.report.axes import MARKERS, series, style

sklearn.set_config(enable_metadata_routing=True)
train = load_dataset("lambdarank", fold=1).train

# %%
# A search over nodes and penalty
# -------------------------------
# ``groups`` keeps the rows of a query in one fold; ``qid`` goes to the ranker.
search = GridSearchCV(
    make_pipeline(StandardScaler(with_mean=False), PairwiseELM(random_state=0)),
    {
        "pairwiseelm__n_nodes": [10, 100, 300],
        "pairwiseelm__C": [1e-8, 1e-6, 1e-4, 1e-2, 1.0],
    },
    cv=GroupKFold(4),
)
search.fit(train.X, train.y, groups=train.qid, qid=train.qid)
print(search.best_params_, f"nDCG@10 = {search.best_score_:.4f}")

# %%
# As a picture
# ------------
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
table = search.cv_results_
for number, n_nodes in enumerate((10, 100, 300)):
    rows = table["param_pairwiseelm__n_nodes"] == n_nodes
    axes.semilogx(
        table["param_pairwiseelm__C"][rows].astype(float),
        table["mean_test_score"][rows],
        color=series(number),
        marker=MARKERS[number],
        label=f"{n_nodes} nodes",
    )
style(axes)
axes.set(xlabel="C", ylabel="nDCG@10", title="Mean of four folds of queries")
axes.legend()
plt.show()
