"""NIST's scores of TREC-COVID runs, and fusion of the runs."""
