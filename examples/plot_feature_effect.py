"""
What does a feature do to the place of a document?
==================================================

:func:`rankwise.explain.feature_effect` changes one feature of one document at a time and asks which
share of the other documents of its query the document would outrank.
"""

import numpy as np
import pandas as pd

from rankwise import LambdaMART
from rankwise.explain import feature_effect
from rankwise.report import plot_feature_effect

rng = np.random.default_rng(0)
n_queries, per_query = 120, 15
n = n_queries * per_query
match, age, clicks = (
    rng.gamma(2.0, 3.0, n),
    rng.exponential(300.0, n),
    rng.poisson(3.0, n),
)
X = pd.DataFrame(
    {"text match": match, "age in days": age, "clicks": clicks.astype(float)}
)
signal = 1.5 * np.log1p(match) - 0.4 * (np.log1p(age) - 5.0) ** 2 + 0.2 * clicks
y = np.digitize(
    signal + 0.5 * rng.normal(size=n), np.quantile(signal, [0.5, 0.8, 0.95])
)
qid = np.repeat(np.arange(n_queries), per_query)
ranker = LambdaMART(n_estimators=60, random_state=0).fit(X, y, qid=qid)

# %%
# Documents of about 150 days rank best, all else being equal. The band holds the middle half of the
# queries; the dots are quantiles of the feature.
effects = [feature_effect(ranker, X, qid, name) for name in X.columns]
figure = plot_feature_effect(effects)
