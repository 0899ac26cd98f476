"""Table of measures: name in a spec string → path of the class.

A new measure needs a file, a test and one line here. A class is imported when its name is first
used. Names are case-insensitive; ALIASES are other spellings of the same measure.
"""

from __future__ import annotations

MEASURES: dict[str, str] = {
    "nDCG": "rankwise.metrics.measures.ndcg:NDCG",
    "DCG": "rankwise.metrics.measures.ndcg:DCG",
    "MeanNDCG": "rankwise.metrics.measures.ndcg:MeanNDCG",
    "AP": "rankwise.metrics.measures.relevance:AveragePrecision",
    "P": "rankwise.metrics.measures.relevance:Precision",
    "R": "rankwise.metrics.measures.relevance:Recall",
    "Rprec": "rankwise.metrics.measures.relevance:RPrecision",
    "Success": "rankwise.metrics.measures.relevance:Success",
    "RR": "rankwise.metrics.measures.relevance:ReciprocalRank",
    "Bpref": "rankwise.metrics.measures.relevance:BinaryPreference",
    "infAP": "rankwise.metrics.measures.relevance:InferredAveragePrecision",
    "Judged": "rankwise.metrics.measures.relevance:Judged",
    "Unjudged": "rankwise.metrics.measures.relevance:Unjudged",
    "ERR": "rankwise.metrics.measures.ndcg:ExpectedReciprocalRank",
    "RBP": "rankwise.metrics.measures.relevance:RankBiasedPrecision",
    "RBPResidual": "rankwise.metrics.measures.relevance:RankBiasedResidual",
    "MSD": "rankwise.metrics.measures.agreement:MSD",
    "M1D": "rankwise.metrics.measures.agreement:M1D",
    "Misranking": "rankwise.metrics.measures.agreement:Misranking",
    "RankingError": "rankwise.metrics.measures.agreement:RankingError",
    "Tau": "rankwise.metrics.measures.agreement:Tau",
    "Rho": "rankwise.metrics.measures.agreement:Rho",
    "Pearson": "rankwise.metrics.measures.agreement:Pearson",
    "MAE": "rankwise.metrics.measures.rank_errors:MAE",
    "ZeroOne": "rankwise.metrics.measures.rank_errors:ZeroOne",
    "MacroMAE": "rankwise.metrics.measures.rank_errors:MacroMAE",
    "Within": "rankwise.metrics.measures.rank_errors:Within",
    "Kappa": "rankwise.metrics.measures.rank_errors:Kappa",
    "LRAP": "rankwise.metrics.measures.label_measures:LRAP",
    "RankingLoss": "rankwise.metrics.measures.label_measures:RankingLoss",
    "Coverage": "rankwise.metrics.measures.label_measures:Coverage",
    "OneError": "rankwise.metrics.measures.label_measures:OneError",
}

# Only for matrices of labels: see rankwise.metrics.evaluate_labels.
LABEL_MEASURES: dict[str, str] = {
    "Hamming": "rankwise.metrics.measures.label_measures:Hamming",
    "SubsetAccuracy": "rankwise.metrics.measures.label_measures:SubsetAccuracy",
    "F1": "rankwise.metrics.measures.label_measures:F1",
    "MicroF1": "rankwise.metrics.measures.label_measures:MicroF1",
    "MacroF1": "rankwise.metrics.measures.label_measures:MacroF1",
    "PSP": "rankwise.metrics.measures.label_measures:PropensityPrecision",
}

ALIASES: dict[str, str] = {
    "map": "AP",
    "mrr": "RR",
    "precision": "P",
    "pre": "P",
    "recall": "R",
    "r_prec": "Rprec",
    "hit_rate": "Success",
    "inferred_ap": "infAP",
    "rbp_residual": "RBPResidual",
    "pairwise_misranking": "Misranking",
    "ranking_error": "RankingError",
    "kendall": "Tau",
    "kendalltau": "Tau",
    "spearman": "Rho",
    "spearmanr": "Rho",
    "pearsonr": "Pearson",
    "rank_loss": "MAE",
    "rankloss": "MAE",
    "mze": "ZeroOne",
    "zero_one": "ZeroOne",
    "macro_mae": "MacroMAE",
    "mmae": "MacroMAE",
    "cohen_kappa": "Kappa",
    "weighted_kappa": "Kappa",
    "label_ranking_average_precision": "LRAP",
    "label_ranking_loss": "RankingLoss",
    "ranking_loss": "RankingLoss",
    "coverage_error": "Coverage",
    "one_error": "OneError",
}
