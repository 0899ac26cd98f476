from .scored_lists import ScoredLists as ScoredLists
from .scored_lists import list_scores as list_scores
from .weight_formula import format_weights as format_weights
from .weight_formula import parse_weights as parse_weights
from .weights import WeightComparison as WeightComparison
from .weights import compare_weights as compare_weights
