from .label_budget import LabelBudget as LabelBudget
from .label_budget import label_budget as label_budget
from .rerank_budget import RerankBudget as RerankBudget
from .rerank_budget import RerankSignal as RerankSignal
from .rerank_budget import rerank_budget as rerank_budget
from .scored_lists import ScoredLists as ScoredLists
from .scored_lists import list_scores as list_scores
