from .partition_scores import evaluate as evaluate  # needs dask
from .partition_scores import predict as predict  # needs dask
from .steps import Plan as Plan
from .steps import Statistics as Statistics
from .steps import merge as merge
from .steps import partition_statistics as partition_statistics
from .steps import plan as plan
from .steps import solve as solve
from .with_dask import fit as fit  # needs dask
