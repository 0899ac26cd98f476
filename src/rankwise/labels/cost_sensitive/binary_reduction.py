"""Cost-sensitive classification by weighted yes-or-no questions, answered by any classifier."""

from __future__ import annotations

from typing import Any, ClassVar

from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier


class BinaryReduction(BinaryQuestions, CostSensitiveClassifier):
    """Base of the reductions of costs to weighted binary classification."""

    _parameter_constraints: ClassVar[dict[str, Any]] = BinaryQuestions._parameter_constraints
