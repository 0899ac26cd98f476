"""Groups of options that several commands share, which reach them as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any


def add_options(
    name: str, options: Mapping[str, Any], group: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that shows options in the place of the parameter ``name`` of a command.

    ``options`` are annotations as Typer takes them. The parameter receives ``group``, a dataclass
    whose fields are the options, with their defaults.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        defaults = vars(group())
        signature = inspect.signature(command, eval_str=True)
        shown: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name != name:
                shown.append(parameter)
                continue
            shown += [
                parameter.replace(name=option, annotation=annotation, default=defaults[option])
                for option, annotation in options.items()
            ]

        signature = signature.replace(parameters=shown)

        @wraps(command)
        def run(*arguments: Any, **given: Any) -> Any:
            words = signature.bind(*arguments, **given).arguments
            found = {option: words.pop(option) for option in options if option in words}
            return command(**words, **{name: group(**found)})

        vars(run)["__signature__"] = signature
        return run

    return decorate
