from .normalization import normalize as normalize
from .result_lists import as_run as as_run
from .rules import fuse as fuse
from .run_pool import RunPool as RunPool
from .run_pool import pool_runs as pool_runs
