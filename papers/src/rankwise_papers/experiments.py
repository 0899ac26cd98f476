"""The table of experiments that ``rankwise reproduce`` knows through an entry point.

Adding an experiment is its folder, its test and one entry here. The folder holds ``__init__.py``
(empty but for a docstring), the computation, ``tables.py`` (what is shown; editing a file of that
ending keeps stored cells valid), ``protocol.md`` and the published values as CSV files. Nothing
else is imported here, so that ``rankwise reproduce list`` starts at once.
"""

from rankwise.experiments import Entry

EXPERIMENTS: dict[str, Entry] = {
    "rankelm-ohsumed": Entry(
        "rankwise_papers.zong2013.experiment:RankELM",
        title="RankELM: random nodes and linear kernels, pointwise and pairwise, on LETOR",
        paper="Zong & Huang, Neural Processing Letters 39 (2014) 155-166, Tables 1 to 3, Figure 2",
        data=("ohsumed", "td2003", "td2004", "mq2008", "ohsumed-min"),
    ),
    "rankelm-cf-letor": Entry(
        "rankwise_papers.rankelm_cf_letor.experiment:RankELMOnCFLetor",
        title="RankELM's seven columns on CF-LETOR, a stand-in for TD2003 and TD2004",
        paper="Beyond Zong & Huang, Neural Processing Letters 39 (2014) 155-166, Tables 1 and 3",
        data=("cystic-fibrosis-text",),
    ),
    "elmrank-recommendation": Entry(
        "rankwise_papers.elmrank_recommendation.experiment:Recommendation",
        title="ELMRank, MPRank and SVRank on MovieLens, Jester and Book-Crossing (partial)",
        paper="Chen, Peng, Zhou, Li & Pan, Neural Networks 53 (2014) 119-126, Tables 1 to 3",
        data=("movielens-1m", "jester", "book-crossing-partial"),
    ),
    "elmrank-penalties": Entry(
        "rankwise_papers.elmrank_penalties.experiment:PenaltyPaths",
        title="MPRank and SVRank at every penalty: where the published values lie",
        paper="Chen, Peng, Zhou, Li & Pan, Neural Networks 53 (2014) 119-126, Tables 1 to 3",
        data=("movielens-1m", "jester"),
    ),
    "rankboost-missing": Entry(
        "rankwise_papers.rankboost_missing.experiment:MissingRatings",
        title="RankBoost on MovieLens and Jester: missing ratings left missing, beside medians",
        paper="Beyond Chen, Peng, Zhou, Li & Pan, Neural Networks 53 (2014) 119-126, Table 3",
        data=("movielens-1m", "jester"),
    ),
    "elmrank-qsar": Entry(
        "rankwise_papers.elmrank_qsar.experiment:Qsar",
        title="ELMRank, SVR and LS-SVR on inhibitors of DHFR and COX2, and six sets more",
        paper="Chen, Peng, Zhou, Li & Pan, Neural Networks 53 (2014) 119-126, Table 4, Figs 1, 2",
        data=(
            "qsar-dhfr",
            "qsar-cox2",
            "qsar-bzr",
            "qsar-ace",
            "qsar-ache",
            "qsar-thr",
            "qsar-therm",
            "qsar-gpb",
        ),
    ),
    "clsrrank": Entry(
        "rankwise_papers.clsrrank.experiment:Clsrrank",
        title="LSRRank against CLSRRank with Gaussian, indefinite and non-symmetric kernels",
        paper="Chen, Pan & Li, Neurocomputing (2014); its text has no tables",
        data=("movielens-1m", "jester", "qsar-dhfr", "qsar-cox2"),
    ),
    "challenge-ordinal": Entry(
        "rankwise_papers.lin2010_challenge.experiment:ChallengeOrdinal",
        title="ORSVM, Poly-ORSVM and ORBoost of the Yahoo! challenge, on open sets in its place",
        paper="Tsai et al. and Lin (2010), Tables 3, 4 and 7; the challenge's own set is closed",
        data=("mq2008", "ohsumed", "mslr-slices"),
    ),
    "pruned-ranksvm": Entry(
        "rankwise_papers.pruned_ranksvm.experiment:PrunedPairs",
        title="RankSVM on chosen pairs against random pairs, all pairs and regression",
        paper="Method named by Lin (2010), section 3; its rule and its tables are not at hand",
        data=(
            "ohsumed-min",
            "mq2008",
            "movielens-1m",
            "ordinal-abalone",
            "ordinal-bank8fm",
            "ordinal-computer-cpu-act",
            "ordinal-california",
            "ordinal-census-house8l",
        ),
    ),
    "challenge-methods": Entry(
        "rankwise_papers.challenge_methods.experiment:ChallengeMethods",
        title="All methods of the Yahoo! challenge's report and its ensemble of 20, on open sets",
        paper="Tsai et al. and Lin (2010), Tables 3, 8 and 10; the challenge's own set is closed",
        data=("mq2008", "ohsumed", "lambdarank", "mslr-slices", "yahoo-ltrc-1", "ohsumed-min"),
    ),
    "plst": Entry(
        "rankwise_papers.tai2012.experiment:LabelSpaces",
        title="Full and partial binary relevance, PLST and compressed sensing, ridge and trees",
        paper="Tai & Lin, Neural Computation 24 (2012), Tables 1-3, Figs 2, 3",
        data=(
            "mulan-delicious",
            "mulan-corel5k",
            "mulan-mediamill-discretized",
            "mulan-yeast",
            "mulan-emotions",
        ),
    ),
    "stacking": Entry(
        "rankwise_papers.stacking.experiment:Stacking",
        title="Tuned rankers, blends of them, and a stack on their held-out scores",
        paper="Method of Tsai et al. (2010), section 8; its set is closed, no value is published",
        data=("ohsumed", "mq2008"),
    ),
    "ranking-tree-cystic-fibrosis": Entry(
        "rankwise_papers.liu2007_ratings.experiment:CysticFibrosis",
        title="Ranking tree, Gini tree and perceptrons: one rater's grades from three others'",
        paper="Liu, Pan & Wang, Journal of Southeast University 23 (2007); it prints no number",
        data=("cystic-fibrosis",),
    ),
    "ranking-tree-movielens": Entry(
        "rankwise_papers.liu2007_ratings.experiment:MovieLens",
        title="Ranking tree, Gini tree and perceptrons: one user's ratings from a panel's",
        paper="Liu, Pan & Wang, Journal of Southeast University 23 (2007); it prints no number",
        data=("movielens-1m",),
    ),
    "ranking-tree-synthetic": Entry(
        "rankwise_papers.liu2007_synthetic.experiment:SyntheticRanks",
        title="Ranking tree, Gini tree and twelve online perceptrons on drawn points",
        paper="Liu, Pan & Wang, Journal of Southeast University 23 (2007), Table 1",
    ),
    "csovo": Entry(
        "rankwise_papers.lin2010_csovo.experiment:CostSensitive",
        title="CSOVO beside other reductions of costs, with random and with ordinal costs",
        paper="Lin (2010), costs and base from memory of it; its sets and figures are not at hand",
        data=(
            "ordinal-balance-scale",
            "ordinal-new-thyroid",
            "ordinal-tae",
            "ordinal-eucalyptus",
            "ordinal-car",
            "ordinal-swd",
            "ordinal-lev",
            "ordinal-wine-quality-red",
        ),
    ),
    "ordinal-benchmark": Entry(
        "rankwise_papers.ordinal_benchmark.experiment:OrdinalBenchmark",
        title="Every ordinal estimator on thirty sets, beside mord, statsmodels and LightGBM",
        paper="No publication; Chu & Ghahramani's splits (2005), ORCA's, and drawn ones",
        data=(
            "ordinal-chu-pyrimidines",
            "ordinal-chu-machinecpu",
            "ordinal-chu-bostonhousing",
            "ordinal-chu-diabetes",
            "ordinal-chu-triazines",
            "ordinal-chu-wisconsin",
            "ordinal-orca-toy",
            "ordinal-orca-pasture",
            "ordinal-era",
            "ordinal-esl",
            "ordinal-lev",
            "ordinal-swd",
            "ordinal-tae",
            "ordinal-new-thyroid",
            "ordinal-balance-scale",
            "ordinal-eucalyptus",
            "ordinal-wine-quality-red",
            "ordinal-car",
            "ordinal-nursery",
            "ordinal-stock",
            "ordinal-abalone",
            "ordinal-bank8fm",
            "ordinal-computer-cpu-act",
            "ordinal-california",
            "ordinal-census-house8l",
        ),
    ),
    "fusion-robust03": Entry(
        "rankwise_papers.fusion_robust03.experiment:FusionRobust03",
        title="Rules and learnt weights that fuse nine runs of TREC 2003 Robust",
        paper="Beyond Cormack, Clarke & Büttcher, SIGIR 2009",
        data=("trec-robust03-runs",),
    ),
    "text-collections": Entry(
        "rankwise_papers.text_collections.experiment:TextCollections",
        title="BM25 and learnt reranking from raw text on five collections",
        paper="Beyond Thakur et al., BEIR, NeurIPS 2021",
        data=("vaswani", "cranfield", "cystic-fibrosis-text", "scifact", "nfcorpus"),
    ),
}
