"""Table of measures: name in a spec string → path of the class.

A new measure needs a file, a test and one line here. A class is imported when its name is first
used. Names are case-insensitive; ALIASES are other spellings of the same measure.
"""

from __future__ import annotations

MEASURES: dict[str, str] = {
    "nDCG": "rankwise.metrics.ranking.ndcg:NDCG",
    "DCG": "rankwise.metrics.ranking.ndcg:DCG",
    "MeanNDCG": "rankwise.metrics.ranking.ndcg:MeanNDCG",
    "AP": "rankwise.metrics.ranking.average_precision:AveragePrecision",
    "P": "rankwise.metrics.ranking.precision:Precision",
    "R": "rankwise.metrics.ranking.precision:Recall",
    "Rprec": "rankwise.metrics.ranking.precision:RPrecision",
    "Success": "rankwise.metrics.ranking.precision:Success",
    "RR": "rankwise.metrics.ranking.reciprocal_rank:ReciprocalRank",
    "Bpref": "rankwise.metrics.ranking.bpref:BinaryPreference",
    "infAP": "rankwise.metrics.ranking.inferred_ap:InferredAveragePrecision",
    "Judged": "rankwise.metrics.ranking.judged:Judged",
    "Unjudged": "rankwise.metrics.ranking.judged:Unjudged",
    "ERR": "rankwise.metrics.ranking.err:ExpectedReciprocalRank",
    "RBP": "rankwise.metrics.ranking.rbp:RankBiasedPrecision",
    "RBPResidual": "rankwise.metrics.ranking.rbp:RankBiasedResidual",
    "MSD": "rankwise.metrics.agreement.magnitude:MSD",
    "M1D": "rankwise.metrics.agreement.magnitude:M1D",
    "Misranking": "rankwise.metrics.agreement.misranking:Misranking",
    "RankingError": "rankwise.metrics.agreement.ranking_error:RankingError",
    "Tau": "rankwise.metrics.agreement.kendall:Tau",
    "Rho": "rankwise.metrics.agreement.correlation:Rho",
    "Pearson": "rankwise.metrics.agreement.correlation:Pearson",
    "MAE": "rankwise.metrics.ordinal.rank_errors:MAE",
    "ZeroOne": "rankwise.metrics.ordinal.rank_errors:ZeroOne",
    "MacroMAE": "rankwise.metrics.ordinal.rank_errors:MacroMAE",
    "Within": "rankwise.metrics.ordinal.rank_errors:Within",
    "Kappa": "rankwise.metrics.ordinal.kappa:Kappa",
    "LRAP": "rankwise.metrics.labels.label_ranking:LRAP",
    "RankingLoss": "rankwise.metrics.labels.label_ranking:RankingLoss",
    "Coverage": "rankwise.metrics.labels.label_ranking:Coverage",
    "OneError": "rankwise.metrics.labels.label_ranking:OneError",
}

# Only for matrices of labels: see rankwise.metrics.evaluate_labels.
LABEL_MEASURES: dict[str, str] = {
    "Hamming": "rankwise.metrics.labels.label_sets:Hamming",
    "SubsetAccuracy": "rankwise.metrics.labels.label_sets:SubsetAccuracy",
    "F1": "rankwise.metrics.labels.label_sets:F1",
    "MicroF1": "rankwise.metrics.labels.label_sets:MicroF1",
    "MacroF1": "rankwise.metrics.labels.label_sets:MacroF1",
    "PSP": "rankwise.metrics.labels.propensity:PropensityPrecision",
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
