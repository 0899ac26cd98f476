from .cost_sensitive import ClassCosts as ClassCosts
from .cost_sensitive import RowCosts as RowCosts
from .cost_sensitive import all_pairs_costs as all_pairs_costs
from .cost_sensitive import confusion_costs as confusion_costs
from .cost_sensitive import ordinal_costs as ordinal_costs
from .cost_sensitive import random_costs as random_costs
from .cost_sensitive.cost_sensitive_one_vs_all_regression import (
    CostSensitiveOneVsAllRegression as CostSensitiveOneVsAllRegression,
)
from .cost_sensitive.reductions import CSOVO as CSOVO
from .cost_sensitive.reductions import OrdinalReduction as OrdinalReduction
from .cost_sensitive.reductions import WeightedAllPairs as WeightedAllPairs
from .multi_label.label_codes import BinaryRelevance as BinaryRelevance
from .multi_label.label_codes import CompressedSensing as CompressedSensing
from .multi_label.label_codes import LinearLabelSpaceTransform as LinearLabelSpaceTransform
from .multi_label.label_codes import PartialBinaryRelevance as PartialBinaryRelevance
from .multi_label.label_powerset import CalibratedLabelRanking as CalibratedLabelRanking
from .multi_label.label_powerset import LabelPowerset as LabelPowerset
from .multi_label.plst import CPLST as CPLST
from .multi_label.plst import PLST as PLST
from .multi_label.plst import fit_splits as fit_splits
from .multi_label.plst import plst_path as plst_path
