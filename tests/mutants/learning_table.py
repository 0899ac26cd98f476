"""Mutations of what learns: features, losses, kernels, solvers, trees and estimators."""

from __future__ import annotations

from tests.mutants.mutation import Mutation

# fmt: off
LEARNING = [
    Mutation("row_order.py", 'groups.sizes[np.argsort(query_key, kind="stable")]',
             "groups.sizes", "rows/test_row_hash.py"),
    Mutation(
        "features/query_scaling.py",
        "copies * (above - mean) ** 2, indptr) / count",
        "copies * (above - mean) ** 2, indptr)",
        "features/test_query_scaling.py",
    ),
    Mutation(
        "features/query_scaling.py",
        "(below - above) / (2 * (before[",
        "(below - above) / (1 * (before[",
        "features/test_query_scaling.py",
    ),
    Mutation(
        "features/polynomial_terms.py",
        "(self.n_features + 1) * (self.n_features + 2) // 2",
        "(self.n_features + 1) * self.n_features // 2",
        "features/test_affine_powers.py",
    ),
    Mutation(
        "kernels/perceptron_ranking.py",
        "score >= thresholds[number]",
        "score > thresholds[number]",
        "ordinal/test_online.py",
    ),
    Mutation(
        "kernels/lambda_gradients.py",
        "(scores[above] == score and above < row)",
        "(scores[above] == score and above > row)",
        "kernels/test_lambda_gradients.py",
    ),
    Mutation(
        "kernels/ensemble_scores.py",
        "if categories[middle] < value:\n                    lo = middle + 1",
        "if categories[middle] <= value:\n                    lo = middle + 1",
        "trees/test_tree.py trees/test_growth.py",
    ),
    Mutation(
        "labels/cost_sensitive/binary_questions.py",
        "(3.0 * (np.abs(total) + 1.0))",
        "(np.abs(total) + 1.0)",
        "labels/cost_sensitive/test_csovo.py labels/cost_sensitive/test_cost_regression.py",
    ),
    Mutation("labels/multi_label/plst.py", "return total - label_statistics(",
             "return total + label_statistics(",
             "labels/multi_label/test_label_splits.py"),
    Mutation(
        "losses/class_costs.py",
        "steps /= np.arange(1, max(n_classes, 1))",
        "steps /= np.arange(2, max(n_classes, 1) + 1)",
        "labels/cost_sensitive/test_pair_costs.py",
    ),
    Mutation("losses/squared_loss.py", "u[self.tied_rows] += self.weight",
             "u[self.tied_rows] -= self.weight", "losses/test_laplacian.py"),
    Mutation("losses/cumulative_link.py", "np.diff(below), -np.diff(above)",
             "np.diff(below), np.diff(above)", "losses/test_cumulative_link.py"),
    Mutation(
        "kernels/ranking_agreement.py",
        "(p - s) * pool_share",
        "pool_share",
        "kernels/test_inferred_precision.py metrics/measures/test_incomplete_judgements.py",
    ),
    Mutation(
        "ordinal/orboost.py",
        "weight *= 2.0**data.y",
        "weight *= data.y",
        "ordinal/test_orboost.py",
    ),
    Mutation(
        "ordinal/voted_prank.py",
        "np.arange(len(self.classes_) - 1) + 0.5",
        "np.arange(len(self.classes_) - 1) + 1.0",
        "ordinal/test_online.py",
    ),
    Mutation(
        "rankers/boosting/mc_rank.py",
        "(classes >= k).astype(np.int64)",
        "(classes > k).astype(np.int64)",
        "rankers/boosting/test_mc_rank.py",
    ),
    Mutation(
        "rankers/ensemble/blends_and_stacks.py",
        "(sizes + 1) / 2 - sizes * scaled",
        "(sizes + 1) / 2 + sizes * scaled",
        "rankers/ensemble/test_ensemble.py",
    ),
    Mutation(
        "rankers/streamed.py",
        "kept = weight > 0",
        "kept = weight >= 0",
        "rankers/test_stream.py streams",
    ),
    Mutation(
        "solvers/boosting/tree_boosting.py",
        "len(dropped) / (len(dropped) + 1)",
        "len(dropped) / (len(dropped) + 2)",
        "rankers/boosting/test_lambdamart_sampling.py",
    ),
    Mutation(
        "solvers/least_squares/expansion.py",
        "x += (rho / curvature) * direction",
        "x -= (rho / curvature) * direction",
        "rankers/kernel/test_kernel_rankers.py",
    ),
    Mutation("solvers/newton/score_newton.py", "value = 0.5 * float(w @ w) + C * hinge",
             "value = 0.25 * float(w @ w) + C * hinge", "rankers/svm/test_rank_svm.py"),
    Mutation(
        "solvers/many_labels.py",
        "< size[:, None]",
        "<= size[:, None]",
        "labels/multi_label/test_compressed_sensing.py",
    ),
    Mutation("streams/cutter.py", "chosen = fold_of_row == fold", "chosen = fold_of_row != fold",
             "rankers/test_stream.py"),
    Mutation(
        "trees/tree_ensemble.py",
        "goes_left[starts + sizes - 1] = trees.missing_left[nodes]",
        "goes_left[starts + sizes - 2] = trees.missing_left[nodes]",
        "trees/test_tree_ensemble.py",
    ),
    Mutation(
        "kernels/ensemble_scores.py",
        "every if values[i] <= cut else kept",
        "kept if values[i] > cut else every",
        "kernels/test_leaf_masks.py trees/test_tree_ensemble.py",
    ),
    Mutation(
        "trees/tree_ensemble.py",
        "np.add.accumulate(terms)[-1]",
        "terms[::-1].sum(axis=0)",
        "trees/test_tree_ensemble.py",
    ),
    Mutation(
        "kernels/boosted_trees.py",
        "sums[features[k]] += term",
        "sums[features[k]] = term",
        "kernels/test_sparse_histograms.py trees/boosted/test_sparse_rows.py",
    ),
    Mutation(
        "trees/boosted/coded_rows.py",
        "goes_left[EVERY_CODE ^ zero]",
        "goes_left[EVERY_CODE]",
        "trees/boosted/test_sparse_rows.py",
    ),
    Mutation(
        "trees/node_splits.py",
        "gains >= gains.max(axis=0) - ties",
        "gains > gains.max(axis=0) - ties",
        "trees/test_frontier.py",
    ),
    Mutation(
        "trees/leaves.py",
        "np.arange(weights.shape[1])).sum(axis=1)",
        "np.arange(1, weights.shape[1] + 1)).sum(axis=1)",
        "ordinal/test_ranking_tree.py trees/test_tree_text.py",
    ),
    Mutation(
        "trees/tree.py",
        "splits[parent[node]] += splits[node]",
        "splits[parent[node]] += 1",
        "trees/test_pruning.py",
    ),
    Mutation(
        "tuning.py",
        "permutation(len(distinct))) % n_folds",
        "permutation(len(distinct))) // n_folds % n_folds",
        "tuning/test_folds.py",
    ),
    Mutation(
        "tuning.py",
        "np.where(defined, values, 0.0).sum(axis=0)",
        "np.where(defined, values, 1.0).sum(axis=0)",
        "tuning rankers/kernel/test_kernel_search.py",
    ),
]
