from .scored_lists import ScoredLists as ScoredLists
from .scored_lists import list_scores as list_scores
