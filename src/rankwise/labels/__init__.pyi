from .cost_sensitive.cost_sensitive_one_vs_all_regression import (
    CostSensitiveOneVsAllRegression as CostSensitiveOneVsAllRegression,
)
from .cost_sensitive.csovo import CSOVO as CSOVO
from .cost_sensitive.ordinal_reduction import OrdinalReduction as OrdinalReduction
from .cost_sensitive.weighted_all_pairs import WeightedAllPairs as WeightedAllPairs
from .costs import ClassCosts as ClassCosts
from .costs import RowCosts as RowCosts
from .costs import all_pairs_costs as all_pairs_costs
from .costs import confusion_costs as confusion_costs
from .costs import ordinal_costs as ordinal_costs
from .costs import random_costs as random_costs
from .multi_label.binary_relevance import BinaryRelevance as BinaryRelevance
from .multi_label.calibrated_label_ranking import CalibratedLabelRanking as CalibratedLabelRanking
from .multi_label.compressed_sensing import CompressedSensing as CompressedSensing
from .multi_label.cplst import CPLST as CPLST
from .multi_label.label_powerset import LabelPowerset as LabelPowerset
from .multi_label.linear_label_space_transform import (
    LinearLabelSpaceTransform as LinearLabelSpaceTransform,
)
from .multi_label.partial_binary_relevance import PartialBinaryRelevance as PartialBinaryRelevance
from .multi_label.plst import PLST as PLST
from .multi_label.subset_fits import fit_splits as fit_splits
from .multi_label.subset_fits import plst_path as plst_path
