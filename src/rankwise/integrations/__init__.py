"""Adapters for other people's tools: one module per tool, which needs the tool itself.

Import the module that you need, such as ``rankwise.integrations.pyterrier``.
"""
