"""Mutations of the library, each with the tests that must notice it.

A mutation replaces a short piece of a line that occurs once in its file. The tests are those of the
mirrored folder that are expected to fail: files or single tests, so that a mutation costs seconds.
"""

from __future__ import annotations

from tests.mutants.learning_table import LEARNING
from tests.mutants.mutation import Mutation

# fmt: off
TABLE = [
    *LEARNING,
    Mutation(
        "base.py",
        '__metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True',
        '__metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": False',
        "common/test_routing.py",
    ),
    Mutation(
        "base.py",
        "return mean_score(self._measure_of_score(y), y, scores, groups, weight)",
        "return mean_score(self._measure_of_score(y), y, scores, groups, None)",
        "rankers/test_closed_form.py",
    ),
    Mutation(
        "groups.py",
        "np.arange(len(scores)) - self.indptr[query] + 1",
        "np.arange(len(scores)) - self.indptr[query]",
        "test_groups.py",
    ),
    Mutation(
        "groups.py",
        "np.lexsort((-self.sort(scores), query))",
        "np.lexsort((self.sort(scores), query))",
        "test_groups.py",
    ),
    Mutation(
        "persistence.py",
        "if len({entry.filename for entry in entries}) < len(entries):",
        "if len({entry.filename for entry in entries}) > len(entries):",
        "persistence",
    ),
    Mutation(
        "_registry.py",
        'return self.path.partition(":")[2]',
        'return self.path.partition(":")[0]',
        "common/test_registry.py",
    ),
    Mutation(
        "checks/rows.py",
        "differs[groups.indptr[1:-1] - 1] = False",
        "differs[groups.indptr[1:-1]] = False",
        "checks/test_queries.py",
    ),
    Mutation(
        "checks/column_sizes.py",
        "(len(varying) - 1) // 2",
        "len(varying) - 1",
        "checks/test_dominant_columns.py",
    ),
    Mutation(
        "cli/_scoring.py",
        "np.lexsort((-scores, codes))",
        "np.lexsort((scores, codes))",
        "cli/test_predict.py",
    ),
    Mutation("cli/_scoring.py", "ranks <= top", "ranks < top", "cli/test_predict.py"),
    Mutation(
        "datasets/judged_source.py",
        "key=lambda child: int(child.name[4:])",
        "key=lambda child: child.name",
        "cli/test_fold_folders.py",
    ),
    Mutation("datasets/catalog/ordinal.py", "return 1 + np.searchsorted(SQUARE_THRESHOLDS",
             "return np.searchsorted(SQUARE_THRESHOLDS", "datasets/catalog/test_synthetic.py"),
    Mutation(
        "datasets/rating_features.py",
        "(ratings.counts + 1) // 2",
        "ratings.counts // 2",
        "datasets/test_ratings_task.py",
    ),
    Mutation(
        "datasets/rating_features.py",
        "cosine * common / (common + _COMMON)",
        "cosine * common / _COMMON",
        "datasets/test_ratings_task.py",
    ),
    Mutation(
        "datasets/letor_text.py",
        "np.arange(n_rows + 1, dtype=np.int64) * n_features",
        "np.arange(n_rows + 1, dtype=np.int64) * (n_features - 1)",
        "datasets/writers/test_write.py",
    ),
    Mutation(
        "distributed/steps.py",
        "if ranges and part.first == ranges[-1].last + 1:",
        "if ranges and part.first == ranges[-1].last + 2:",
        "distributed/test_steps.py",
    ),
    Mutation(
        "distributed/steps.py",
        "n_samples=a.n_samples + b.n_samples",
        "n_samples=a.n_samples",
        "distributed/test_steps.py",
    ),
    Mutation(
        "../../papers/src/rankwise_papers/framework/experiment.py",
        "abs(difference) <= self.tolerance + _FUZZ",
        "abs(difference) < self.tolerance",
        "experiments/test_experiment.py",
    ),
    Mutation(
        "../../papers/src/rankwise_papers/framework/reproduction.py",
        "self.texts.index(text) + 1",
        "self.texts.index(text)",
        "experiments/test_reproduction_text.py",
    ),
    Mutation(
        "explain/games.py",
        "worth[without + (1 << j)] - worth[without]",
        "worth[without] - worth[without + (1 << j)]",
        "explain/test_explain.py",
    ),
    Mutation(
        "explain/feature_effect.py",
        "return self.values.mean(axis=0)",
        "return self.values.mean(axis=1)",
        "explain/test_feature_effect.py",
    ),
    Mutation(
        "explain/importances.py",
        'np.argsort(-self.values, kind="stable")',
        "np.argsort(self.values)",
        "explain/test_importances.py explain/test_permutation.py",
    ),
    Mutation(
        "export/elasticsearch.py",
        "int(tree.feature[node]) + 1",
        "int(tree.feature[node])",
        "export/test_engines.py",
    ),
    Mutation(
        "export/parts.py",
        "return values <= thresholds",
        "return values < thresholds",
        "export/test_float32.py export/test_engines.py",
    ),
    Mutation(
        "export/chains.py",
        "range(1, estimator.degree + 1)",
        "range(1, estimator.degree)",
        "export/test_onnx.py::test_settings",
    ),
    Mutation(
        "fusion/run_pool.py",
        "1.0 - (pool.ranks - 1) / np.maximum(_lengths(pool), 1)",
        "1.0 - pool.ranks / np.maximum(_lengths(pool), 1)",
        "fusion/test_rules.py",
    ),
    Mutation("fusion/rules.py", "_isr_sum(pool) * np.log(count + sigma)",
             "_isr_sum(pool) * np.log(count - sigma)", "fusion/test_rules.py"),
    Mutation(
        "fusion/probabilistic_fusion.py",
        "np.lexsort((lists.rank, lists.query))",
        "np.lexsort((-lists.rank, lists.query))",
        "fusion/test_probabilistic_fusion.py",
    ),
    Mutation("integrations/pyterrier.py", "return rows, labels,", "return rows, judged,",
             "integrations/test_pyterrier.py"),
    Mutation(
        "metrics/measures/ndcg.py",
        "values[scored.sizes < self.depth] = 0.0",
        "values[scored.sizes <= self.depth] = 0.0",
        "metrics/test_letor.py metrics/test_convention_table.py metrics/measures",
    ),
    Mutation(
        "metrics/measures/relevance.py",
        "(1.0 - p) * p **",
        "p **",
        "metrics/measures metrics/test_convention_table.py metrics/test_peers_ir.py",
    ),
    Mutation(
        "selection/judging/completions.py",
        "orders = [(best[0], worst[1]), (worst[0], best[1])]",
        "orders = [(best[0], best[1]), (worst[0], worst[1])]",
        "selection/judging",
    ),
    Mutation(
        "metrics/statistics/prediction_powered.py",
        "free = n - 2 if is_tuned else n - 1",
        "free = n - 1",
        "metrics/statistics/test_prediction_powered.py",
    ),
    Mutation(
        "metrics/statistics/paired.py",
        'np.searchsorted(b, a, side="right")',
        'np.searchsorted(b, a, side="left")',
        "metrics/statistics metrics/test_significance.py",
    ),
    Mutation(
        "report/ordinal_plots.py",
        'np.searchsorted(classes, cell["classes"])',
        'np.arange(len(cell["classes"]))',
        "report/test_rank_plots.py report/test_plots.py",
    ),
    Mutation(
        "report/html.py",
        "len(finished) < _FEWEST_RANKED",
        "len(finished) <= _FEWEST_RANKED",
        "report/test_report.py",
    ),
    Mutation(
        "runtime/threads.py",
        "n_threads + 1 + n_jobs",
        "n_threads + n_jobs",
        "runtime/test_threads.py",
    ),
    Mutation(
        "runtime/threads.py",
        'indptr[first] + rows_per_chunk, side="right"',
        'indptr[first] + rows_per_chunk, side="left"',
        "runtime/test_threads.py",
    ),
    Mutation(
        "selection/splits.py",
        "turn = [parts[(i + j) % k] for j in range(k)]",
        "turn = [parts[(i + j + 1) % k] for j in range(k)]",
        "selection/test_splits.py",
    ),
    Mutation(
        "selection/cells/fold_tuning.py",
        "best[float(value)] > best[neighbour]",
        "best[float(value)] < best[neighbour]",
        "selection/test_edges.py",
    ),
    Mutation(
        "selection/cells/fold_tuning.py",
        "score if select.greater_is_better else -score",
        "score",
        "selection/test_tuning.py",
    ),
    Mutation(
        "selection/cells/measured.py",
        "np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1]",
        "np.cumsum(shares, axis=1)[:, :-1]",
        "selection/test_predicted_ranks.py",
    ),
    Mutation(
        "structure/state_rules.py",
        "self.low is not None and low < self.low",
        "self.low is not None and low > self.low",
        "structure",
    ),
    Mutation(
        "structure/state_rules.py",
        "limit is not None and high >= limit",
        "limit is not None and high > limit",
        "structure persistence",
    ),
    Mutation(
        "text/models.py",
        "weight * part.counts / norm",
        "part.counts / norm",
        "text/test_search.py text/test_text_index.py",
    ),
    Mutation(
        "text/models.py",
        "return self.n_tokens / max(self.n_documents, 1)",
        "return self.n_tokens / max(self.n_documents - 1, 1)",
        "text/test_search.py text/test_text_index.py",
    ),
    Mutation(
        "metrics/statistics/all_pairs.py",
        "len(is_better) - is_better.sum(axis=1)",
        "len(is_better) - is_better.sum(axis=0)",
        "metrics/statistics/test_rank_intervals.py",
    ),
    Mutation(
        "metrics/statistics/stratified.py",
        "squares = sum(f * (f + 1) * error**2",
        "squares = sum(f * f * error**2",
        "metrics/statistics/test_rank_intervals.py",
    ),
    Mutation(
        "metrics/statistics/sample_size.py",
        "tail = -2.0 * math.log(1.0 - confidence_level)",
        "tail = -1.0 * math.log(1.0 - confidence_level)",
        "metrics/statistics/test_sample_size.py",
    ),
    Mutation(
        "selection/gate.py",
        "is_worse = bool(against[\"separable\"]) and loss.loss > 0",
        "is_worse = bool(against[\"separable\"])",
        "selection/test_table_leaderboard.py",
    ),
    Mutation(
        "selection/drift.py",
        "p = float(fdtrc(degrees, queries, distance / noise / freedom))",
        "p = float(fdtrc(freedom, queries, distance / noise / freedom))",
        "selection/test_drift.py",
    ),
    Mutation(
        "clicks/shrinkage.py",
        "return gammaln(C + a) - gammaln(a) + a * np.log(kappa)",
        "return gammaln(C + a) - gammaln(a) - a * np.log(kappa)",
        "clicks/test_judgement.py",
    ),
    Mutation(
        "clicks/click_ranker.py",
        "weight = np.concatenate([clicks, n - clicks])",
        "weight = np.concatenate([clicks, n])",
        "clicks/test_click_ranker.py",
    ),
    Mutation(
        "clicks/shrinkage.py",
        "return _share(self.exposure, self.strength)",
        "return _share(self.exposure, self.trust)",
        "clicks/test_click_ranker.py",
    ),
    Mutation(
        "preferences/strength_newton.py",
        "ahead, behind = strong[winners[across]], strong[losers[across]]",
        "ahead, behind = strong[losers[across]], strong[winners[across]]",
        "preferences/test_win_graph.py",
    ),
    Mutation(
        "preferences/strength_model.py",
        "each.diagonal()[:, None] + each.diagonal() - 2.0 * each",
        "each.diagonal()[:, None] + each.diagonal() - each",
        "preferences/test_simultaneous_ranks.py",
    ),
]
