from .comparisons import Comparisons as Comparisons
from .orders import Orders as Orders
from .pairwise_preferences import PairwisePreferences as PairwisePreferences
from .plackett_luce import PlackettLuce as PlackettLuce
from .read_comparisons import read_comparisons as read_comparisons
from .read_orders import read_orders as read_orders
from .simultaneous_ranks import SimultaneousRanks as SimultaneousRanks
from .simultaneous_ranks import rank_simultaneously as rank_simultaneously
