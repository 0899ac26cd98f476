"""Files of decision rules: JSON that only the known fields pass, and plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.exceptions import NotFittedError

from rankwise.runtime.files import write_file, writing
from rankwise.runtime.messages import ArgumentError, check_choice, did_you_mean, join_lines
from rankwise.runtime.result import Result

FORMAT, VERSION = "rankwise-decision", 1
_MOST_BYTES = 1_000_000
# Largest size of a number in a file: its square is finite.
LARGEST = 1e150
_KINDS = {"answer": "AnswerRule", "cut": "CutRule"}
Check = Callable[[Any], Any]


class DecisionReport(Result):
    """Base class of what judged queries say about a rule; annotations tell what a file may hold."""

    notes: list[str]

    def __str__(self) -> str:
        return join_lines([*self._verdict(), *(f"note: {note}" for note in self.notes)])


class DecisionRule:
    """Base class of decision rules: how they are stored, and how they become plain Python."""

    kind: ClassVar[str]
    _report_type: ClassVar[type[Any]]
    # Fields of the file between the common ones, "rel" and "report", with a check for each.
    _fields: ClassVar[Mapping[str, Check]]
    # Methods of a subclass.
    _record: Any  # () -> values of these fields
    _restore: Any  # (checked fields) -> fitted rule; ValueError if they do not fit each other
    _source: Any  # () -> Python code of a function that decides one list
    _examples: Any  # (generator) -> pairs of arguments of that function and the rule's decision

    def _set_common(self, policy: str, policies: tuple[str, ...], rel: float) -> None:
        """Check and set parameters that all rules have."""
        check_choice("policy", policy, policies)
        if not isinstance(rel, Real) or not np.isfinite(float(rel)):
            raise ArgumentError("rel", f"must be a finite number, got {rel!r}.")
        self.policy, self.rel = policy, float(rel)

    def _set_report(self, report: Any, never: float, risk: float | None) -> Self:
        """Set what the report says; ``never``: threshold if the promise cannot be kept."""
        self.threshold_ = never if report.threshold is None else report.threshold
        self.policy_, self.risk_ = report.policy, risk
        self.n_queries_needed_, self.report_ = report.n_queries_needed, report
        return self

    @classmethod
    def _read_fields(cls, record: Any) -> Self:
        """Fitted rule of the fields of a file."""
        known = {"rel": number(), **cls._fields, "report": lambda value: value}
        values = check_fields(record, known)
        report = check_fields(values["report"], dict(_checks_of(cls._report_type)), "report.")
        return cls._restore(values | {"report": cls._report_type(**report)})

    def __str__(self) -> str:
        return str(getattr(self, "report_", repr(self)))

    def _check_fitted(self) -> None:
        if not hasattr(self, "threshold_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted. Call fit first.")

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the fitted rule as JSON, which :func:`load_decision` reads.

        Parameters
        ----------
        path : str or Path, optional
            File to write; None: return the text.

        Raises
        ------
        OSError
            If the file cannot be written; the message names it.
        ValueError
            If a number is too large for a file, because scores are too small, or a name too long.
        """
        self._check_fitted()
        head = {"format": FORMAT, "version": VERSION, "kind": self.kind}
        record = {"rel": self.rel, **self._record(), "report": self.report_.to_dict()}
        try:
            self._read_fields(record)
        except ValueError as error:
            raise ValueError(f"the rule cannot be stored: {error}") from None
        text = json.dumps(head | record, allow_nan=False, ensure_ascii=False, indent=2)
        if path is None:
            return text
        with writing(Path(path)):
            write_file(path, f"{text}\n".encode())
        return None

    def to_python(self) -> str:
        """Code of the fitted rule: a function of one list, without imports.

        Returns
        -------
        str
            The code has been run on random lists and decided as the rule does.

        Raises
        ------
        RuntimeError
            If the code decides a list in another way.
        """
        self._check_fitted()
        source, names = self._source(), {}
        exec(source, {}, names)  # written here, from numbers
        (function,) = names.values()
        for arguments, decision in self._examples(np.random.default_rng(0)):
            if (found := function(*arguments)) != decision:
                raise RuntimeError(f"the code gives {found}, not {decision}, for {arguments}.")
        return source


def load_decision(path: str | Path) -> Any:
    """Read a rule that ``to_json`` of an ``AnswerRule`` or a ``CutRule`` has written.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    AnswerRule or CutRule
        Fitted.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not a decision rule, has another version, lacks a field, has an unknown one,
        or a value breaks its rule. The message names the file and the field.

    Notes
    -----
    Only data are read, and no code of the file is run.
    """
    where = str(path)
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        record = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not a decision rule: {error}.") from None
    if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
        raise ValueError(
            f'{where} is not a decision rule: it lacks "format": "{FORMAT}". '
            "Write rules with to_json or 'rankwise decide'."
        )
    version, kind = record.pop("version", None), record.pop("kind", None)
    if type(version) is not int or version != VERSION:
        raise ValueError(
            f"{where} has version {version!r} of the format, but this rankwise reads version "
            f"{VERSION}. Fit the rule again, or update rankwise."
        )
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"{where}: kind must be one of {', '.join(_KINDS)}, got {kind!r}.")
    try:
        return getattr(import_module("rankwise.decisions"), _KINDS[kind])._read_fields(record)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def check_fields(record: Any, known: Mapping[str, Check], within: str = "") -> dict[str, Any]:
    """Checked values of a JSON object with exactly these fields."""
    if not isinstance(record, dict):
        raise ValueError(f"{within or 'the file'} must be an object, got {record!r}.")
    for name in record:
        if name not in known:
            hint = did_you_mean(name, known, f"Known fields: {', '.join(known)}.")
            raise ValueError(f"{within}{name} is not a field. {hint}")
    values = {}
    for name, check in known.items():
        if name not in record:
            raise ValueError(f"{within}{name} is missing. Fit the rule again.")
        try:
            values[name] = check(record[name])
        except ValueError as error:
            raise ValueError(f"{within}{name} {error}") from None
    return values


def number(low: float = -LARGEST, high: float = LARGEST, kind: type = float) -> Check:
    """Check for a number between two bounds, both included; ``kind``: int for a whole number."""

    def check(value: Any) -> Any:
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            what = f"a number from {low:g} to {high:g}"
            if kind is int:
                what = f"a whole number from {low:,} to {high:,}"
            raise ValueError(f"must be {what}, got {_shown(value)}.")
        return kind(value)

    return check


def whole(low: int = 0, high: int = 2**53) -> Check:
    """Check for a whole number between two bounds, both included."""
    return number(low, high, int)


def word(*known: str) -> Check:
    """Check for one of a few words; for any short text if there are none."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or (known and value not in known) or len(value) > 200:
            rule = f"must be one of {', '.join(known)}" if known else "must be a short text"
            raise ValueError(f"{rule}, got {_shown(value)}.")
        return value

    return check


def numbers_by_name(value: Any) -> dict[str, float]:
    """Check for an object of finite numbers."""
    if not isinstance(value, dict) or len(value) > 1000:
        raise ValueError(f"must be an object of numbers, got {_shown(value)}.")
    return {word()(name): number()(entry) for name, entry in value.items()}


def texts(value: Any) -> list[str]:
    """Check for a list of short texts."""
    if not isinstance(value, list) or len(value) > 100:
        raise ValueError(f"must be a list of texts, got {_shown(value)}.")
    return [word()(entry) for entry in value]


def or_none(check: Check) -> Check:
    """Check that lets null pass."""
    return lambda value: None if value is None else check(value)


# Numbers of a report, with what a file may hold.
Share = Annotated[float, number(0, 1)]
Amount = Annotated[float, number(0)]


def _checks_of(report: type) -> Iterator[tuple[str, Check]]:
    """Names of the fields of a report, with the checks that their annotations tell."""
    hints = get_type_hints(report, include_extras=True)
    for name in (field.name for field in fields(report)):
        kinds = get_args(hints[name])
        kind = kinds[0] if NoneType in kinds else hints[name]
        if get_origin(kind) is Annotated:
            check = get_args(kind)[1]
        elif get_origin(kind) is Literal:
            check = word(*get_args(kind))
        else:
            check = {float: number(), int: whole()}.get(kind, texts)
        yield name, or_none(check) if NoneType in kinds else check


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of too many digits
        return "a huge number"
    return text if len(text) <= 60 else f"{text[:60]}…"
