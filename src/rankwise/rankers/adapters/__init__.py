"""Boosting libraries behind the qid API (extra ``gbdt``)."""
