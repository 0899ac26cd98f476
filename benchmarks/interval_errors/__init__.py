"""How often intervals, p values, ranks and probabilities err on data made to be hard for them.

Each module of this folder lists the cells of some procedures in ``CELLS``. The command

    python -m benchmarks.interval_errors [--draws 1000] [--store docs/interval_errors.csv] [NAME …]

simulates the cells whose procedure contains a NAME (all by default) and replaces their lines in
the stored table.
"""
