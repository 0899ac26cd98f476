"""Runner of published experiments; it comes with the package rankwise-papers."""

try:
    from rankwise_papers.framework import __all__ as __all__  # pyright: ignore
    from rankwise_papers.framework import __dir__ as __dir__  # pyright: ignore
    from rankwise_papers.framework import __getattr__ as __getattr__  # pyright: ignore
except ModuleNotFoundError as error:
    raise ImportError(
        "rankwise.experiments needs rankwise-papers, which is not installed. "
        "Run: pip install rankwise-papers"
    ) from error
