"""Option names of version 0.1.0: they still work, and a note gives the current name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_RENAMED = {
    "--folds": "--cv",
    "--seed": "--random-state",
    "--vali": "--vali-data",
    "--paired-test": "--test",
}
_RENAMED_IN_PREDICT = {"--as": "--format"}
# Commands that had these options in version 0.1.0.
_COMMANDS = ("compare", "cv", "fit", "lint")
_PAIRED_TESTS = ("t", "wilcoxon", "randomisation")


def current_words(arguments: Sequence[str], say: Callable[[str], object]) -> list[str]:
    """Replace old option names by current ones, and report each of them through ``say``.

    In version 0.1.0, ``--test FILE`` named the test part. Its value distinguishes it from the
    current ``--test t``.
    """
    words = list(arguments)
    renamed = _RENAMED_IN_PREDICT if words[:1] == ["predict"] else _RENAMED
    if not words or words[0] not in (*_COMMANDS, "predict"):
        return words
    for i, word in enumerate(words):
        option, equals, value = word.partition("=")
        current = renamed.get(option)
        if option == "--test" and renamed is _RENAMED:
            value = value if equals else "".join(words[i + 1 : i + 2])
            current = "--test-data" if _is_file(value, words[0]) else None
        if current is not None:
            say(f"note: {option} is now called {current}.")
            words[i] = current + word[len(option) :]
    return words


def _is_file(value: str, command: str) -> bool:
    """Whether the value of ``--test`` looks like a file rather than a paired test."""
    return command == "lint" or (value not in _PAIRED_TESTS and any(c in value for c in "./*?:"))
