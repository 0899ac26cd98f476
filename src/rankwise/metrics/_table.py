"""The one table of measures: name in a spec string → where its class lives.

Adding a measure is its file, its test and one line here; nothing is imported until the name is
used. Names are matched without regard to case; ALIASES are other spellings of the same measure.
"""

from __future__ import annotations

MEASURES: dict[str, str] = {
    "nDCG": "rankwise.metrics.ndcg:NDCG",
    "DCG": "rankwise.metrics.ndcg:DCG",
    "MeanNDCG": "rankwise.metrics.ndcg:MeanNDCG",
    "AP": "rankwise.metrics.average_precision:AveragePrecision",
    "P": "rankwise.metrics.precision:Precision",
    "R": "rankwise.metrics.precision:Recall",
    "Rprec": "rankwise.metrics.precision:RPrecision",
    "Success": "rankwise.metrics.precision:Success",
    "RR": "rankwise.metrics.reciprocal_rank:ReciprocalRank",
    "ERR": "rankwise.metrics.err:ExpectedReciprocalRank",
    "RBP": "rankwise.metrics.rbp:RankBiasedPrecision",
    "MSD": "rankwise.metrics.magnitude:MSD",
    "M1D": "rankwise.metrics.magnitude:M1D",
    "Misranking": "rankwise.metrics.misranking:Misranking",
    "RankingError": "rankwise.metrics.ranking_error:RankingError",
    "Tau": "rankwise.metrics.kendall:Tau",
    "Rho": "rankwise.metrics.correlation:Rho",
    "Pearson": "rankwise.metrics.correlation:Pearson",
    "MAE": "rankwise.metrics.ordinal:MAE",
    "ZeroOne": "rankwise.metrics.ordinal:ZeroOne",
    "MacroMAE": "rankwise.metrics.ordinal:MacroMAE",
    "Within": "rankwise.metrics.ordinal:Within",
    "Kappa": "rankwise.metrics.kappa:Kappa",
    "LRAP": "rankwise.metrics.label_ranking:LRAP",
    "RankingLoss": "rankwise.metrics.label_ranking:RankingLoss",
    "Coverage": "rankwise.metrics.label_ranking:Coverage",
    "OneError": "rankwise.metrics.label_ranking:OneError",
}

# Of matrices of labels alone: see rankwise.metrics.evaluate_labels.
LABEL_MEASURES: dict[str, str] = {
    "Hamming": "rankwise.metrics.label_sets:Hamming",
    "SubsetAccuracy": "rankwise.metrics.label_sets:SubsetAccuracy",
    "F1": "rankwise.metrics.label_sets:F1",
    "MicroF1": "rankwise.metrics.label_sets:MicroF1",
    "MacroF1": "rankwise.metrics.label_sets:MacroF1",
    "PSP": "rankwise.metrics.propensity:PropensityPrecision",
}

ALIASES: dict[str, str] = {
    "map": "AP",
    "mrr": "RR",
    "precision": "P",
    "pre": "P",
    "recall": "R",
    "r_prec": "Rprec",
    "hit_rate": "Success",
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
