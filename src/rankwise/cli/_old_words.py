"""Options as version 0.1.0 called them: they still work, and a note names the current word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_RENAMED = {
    "--folds": "--cv",
    "--seed": "--random-state",
    "--vali": "--vali-data",
    "--paired-test": "--test",
}
_RENAMED_IN_PREDICT = {"--as": "--format"}
# Those that had them; ``reproduce`` has none of these options.
_COMMANDS = ("compare", "cv", "fit", "lint")
_PAIRED_TESTS = ("t", "wilcoxon", "randomisation")


def current_words(arguments: Sequence[str], say: Callable[[str], object]) -> list[str]:
    """The command line in current words; ``say`` gets one note for each old one.

    ``--test FILE`` named the test part. It is told from ``--test t`` by its value.
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
            say(f"note: {option} is called {current} now.")
            words[i] = current + word[len(option) :]
    return words


def _is_file(value: str, command: str) -> bool:
    """Whether the value of ``--test`` is no paired test, judged by its look."""
    return command == "lint" or (value not in _PAIRED_TESTS and any(c in value for c in "./*?:"))
