from .partition import partition_statistics as partition_statistics
from .planning import Plan as Plan
from .planning import plan as plan
from .planning import solve as solve
from .sums import Statistics as Statistics
from .sums import merge as merge
from .with_dask import fit as fit
