"""Adapters of boosting libraries to the API of rankwise (extra ``gbdt``)."""
