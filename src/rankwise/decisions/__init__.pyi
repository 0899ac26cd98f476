from .answer_rule import AnswerDecisions as AnswerDecisions
from .answer_rule import AnswerReport as AnswerReport
from .answer_rule import AnswerRule as AnswerRule
from .decision_file import load_decision as load_decision
from .risk_bounds import queries_needed as queries_needed
from .scored_lists import ScoredLists as ScoredLists
from .scored_lists import list_scores as list_scores
