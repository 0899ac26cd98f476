"""
Which terms match?
==================

BM25 is a sum over the terms of the query. Searching for each term alone gives its part, so that the
score of every document found can be taken apart.
"""

import numpy as np

from rankwise.report.axes import light, panels, series, style
from rankwise.text import TextIndex

documents = {
    "Cabin by the lake": "A quiet cabin by the lake with a boat, a sauna and a view of the lake.",
    "Lake hotel": "Hotel at the lake. Rooms with a view, breakfast, sauna, parking.",
    "Forest cabin": "Wooden cabin in the forest. Quiet, no neighbours, a stove and a sauna.",
    "City flat": "Flat in the old town with parking, close to the station and the lake.",
    "Boat house": "Sleep on the water: a boat with two beds, quiet at night.",
    "Mountain hut": "Hut above the tree line, quiet, with a view of three valleys.",
    "Castle": "Rooms in a castle with a park, a library and a long history.",
    "Beach house": "House at the beach with a terrace, a view of the sea and a barbecue.",
}
query = "quiet cabin sauna lake"
index = TextIndex().add(documents)

# %%
# Terms one by one
# ----------------
whole = index.search(query)
terms = query.split()
parts = np.zeros((len(whole.doc_ids), len(terms)))
for column, term in enumerate(terms):
    found = index.search(term)
    score = dict(
        zip(found.doc_ids.tolist(), found.scores.tolist(), strict=True)
    )
    parts[:, column] = [score.get(name, 0.0) for name in whole.doc_ids.tolist()]
print(
    "parts add up to the scores:",
    np.allclose(parts.sum(axis=1), whole.scores, rtol=1e-5),
)

# %%
# As a picture
# ------------
figure, (axes,) = panels(1, height=2.9, most=1)
places, left = np.arange(len(parts)), np.zeros(len(parts))
for column, term in enumerate(terms):
    axes.barh(
        places,
        parts[:, column],
        0.7,
        left=left,
        color=series(column),
        label=term,
    )
    left += parts[:, column]
axes.set_yticks(places, whole.doc_ids.tolist())
axes.invert_yaxis()
axes.set_xlabel("BM25")
axes.legend(frameon=False, fontsize=9, labelcolor=light("ink"))
style(axes)
axes.grid(False, axis="y")
