from .pairwise_preferences import PairwisePreferences as PairwisePreferences
from .plackett_luce import PlackettLuce as PlackettLuce
from .preference_data import Comparisons as Comparisons
from .preference_data import Orders as Orders
from .preference_files import read_comparisons as read_comparisons
from .preference_files import read_orders as read_orders
from .strength_model import SimultaneousRanks as SimultaneousRanks
from .strength_model import rank_simultaneously as rank_simultaneously
