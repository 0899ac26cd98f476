from .comparisons import Comparisons as Comparisons
from .pairwise_preferences import PairwisePreferences as PairwisePreferences
from .read_comparisons import read_comparisons as read_comparisons
from .simultaneous_ranks import SimultaneousRanks as SimultaneousRanks
from .simultaneous_ranks import rank_simultaneously as rank_simultaneously
