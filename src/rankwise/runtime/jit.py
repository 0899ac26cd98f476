"""Compilation of kernels: every kernel in ``kernels/`` is decorated with this :func:`njit`.

Numba is imported by the first call of a kernel. A process that only loads a linear model and scores
with it avoids this import, which would take longer than everything else.

The compiled code is cached on disk if possible. If the cache cannot be written (read-only, full,
beyond a quota) or read (damaged, no permission), it is kept in memory only; plain Numba raises.

A few rows are handled by :func:`run_few` before Numba would have been imported.

With ``NUMBA_DISABLE_JIT=1`` in the environment, kernels run as plain Python: slowly, but debuggers,
coverage and ``print`` see every line.
"""

from __future__ import annotations

import atexit
import glob
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import IO, Any, ParamSpec, overload

import numpy as np

from rankwise.runtime.files import temporary_folder

# Any, because Numba returns Python numbers where the Python function returns NumPy scalars.
P = ParamSpec("P")

# IEEE semantics for NaN and infinities are kept; only reassociation and contraction are allowed.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp", "afn"})

# Steps of a loop, up to a microsecond each, that a kernel takes as plain Python in one call, and in
# all calls of a process before it is compiled, as more are likely to follow. They take less than
# importing Numba or, once it is imported, compiling one kernel.
_FEW_STEPS, _PATIENCE = 50_000, 200_000

_uses_cache = True  # until it cannot be read
# Also in the threads of thread_map, which work in a copy of the caller's context.
_always_compiles: ContextVar[bool] = ContextVar("always_compiles", default=False)
_started: list[CompiledFunction] = []
_stored: dict[Path, set[str]] = {}  # kernels with stored code by folder of the source
_locks: set[IO[str]] = set()  # files by which other processes wait for this one to compile
_at_exit = ExitStack()
atexit.register(_at_exit.close)


class CompiledFunction:
    """A function that Numba compiles at its first call; ``py_func`` is the uncompiled one.

    ``dispatcher`` compiles the function and caches the results. Other kernels that call this one
    use its type.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        fastmath: frozenset[str] | bool,
        unchecked_division: bool,
    ) -> None:
        self.py_func = py_func
        self._fastmath, self._unchecked_division = fastmath, unchecked_division
        self.plain_steps = 0  # counted by are_few
        self._is_compiled = False  # for any types
        update_wrapper(self, py_func)

    @cached_property
    def dispatcher(self) -> Any:
        import numba

        from rankwise.runtime.progress import announce_compilation

        announce_compilation()
        _register_instructions()
        _link_read_only_cache()
        fastmath = self._fastmath
        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": set(fastmath) if isinstance(fastmath, frozenset) else fastmath,
            "error_model": "numpy" if self._unchecked_division else "python",
            "no_cfunc_wrapper": True,  # missing in numba's stubs, hence the dictionary
            # Private kernels are called by kernels only. Code that converts arguments from Python
            # would be a tenth of what is compiled.
            "no_cpython_wrapper": self.py_func.__name__.startswith("_"),
        }
        try:
            compiled = numba.njit(cache=_uses_cache, **options)(self.py_func)
        except (RuntimeError, OSError):  # "no locator available": no writable cache folder
            compiled = numba.njit(cache=False, **options)(self.py_func)
        if compiled is self.py_func:  # NUMBA_DISABLE_JIT
            # Machine code wraps around and overflows in silence; so must NumPy's scalars, or the
            # wrap-around of a hash counts as overflow in the user's numbers.
            return np.errstate(all="ignore")(self.py_func)
        _started.append(self)
        return compiled

    @property
    def is_stored(self) -> bool:
        """Whether its compiled code was on disk, from where it loads within milliseconds."""
        source = Path(self.py_func.__code__.co_filename).parent
        if source not in _stored:
            import numba

            _link_read_only_cache()
            try:
                function = numba.njit(cache=_uses_cache)(self.py_func)
                names = os.listdir(function.stats.cache_path)
            except (RuntimeError, OSError, AttributeError, TypeError):  # no folder, or no compiler
                names = []
            _stored[source] = {name.partition("-")[0] for name in names if name.endswith(".nbi")}
        return self._file_stem in _stored[source]

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function in plain Python; the kernels that it calls are plain Python, too."""
        code, names = self.py_func.__code__, {**self.py_func.__globals__}
        for name in code.co_names:
            kernel = names.get(name)
            if isinstance(kernel, CompiledFunction) and kernel is not self:
                names[name] = kernel.plain
        return FunctionType(code, names, closure=self.py_func.__closure__)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        try:
            if not self._is_compiled:
                self._compile_once(arguments)
            return self.dispatcher(*arguments)
        except Exception as error:
            if not self._is_of_cache(error, arguments):
                raise
        return self._call_despite_cache(arguments)

    def _compile_once(self, arguments: tuple[Any, ...]) -> None:
        """Compile, or load what another process compiles at the moment."""
        import numba

        stats = getattr(self.dispatcher, "stats", None)  # None: NUMBA_DISABLE_JIT
        with ExitStack() as stack:
            if stats is not None and stats.cache_path is not None:
                with suppress(ImportError, OSError):  # no fcntl on Windows, a read-only folder
                    from fcntl import LOCK_EX, flock

                    path = Path(stats.cache_path) / f"{self._file_stem}.lock"
                    file = stack.enter_context(path.open("w"))
                    _locks.add(file)
                    stack.callback(_locks.discard, file)
                    flock(file, LOCK_EX)
                self.dispatcher.compile(tuple(map(numba.typeof, arguments)))
        self._is_compiled = True

    def _is_of_cache(self, error: Exception, arguments: tuple[Any, ...]) -> bool:
        """Whether reading or writing compiled code failed, before the kernel ran."""
        import numba

        if isinstance(error, numba.NumbaError) or not hasattr(self.dispatcher, "signatures"):
            return False
        if isinstance(error, OSError):  # kernels use no files
            return True
        # Damaged files raise errors of any kind. Without them the signature would be compiled.
        return tuple(map(numba.typeof, arguments)) not in self.dispatcher.signatures

    def _call_despite_cache(self, arguments: tuple[Any, ...]) -> Any:
        """Call again after the cache failed, here or in a kernel that this one calls."""
        global _uses_cache
        while True:
            before = count_signatures()
            try:
                return self.dispatcher(*arguments)
            except Exception as error:
                if not self._is_of_cache(error, arguments):
                    raise
                # Numba keeps what it compiled, also if it could not store it: each try gets further
                # unless the cache cannot be read.
                is_damaged = not isinstance(error, OSError)
                if count_signatures() > before or (is_damaged and _remove_damaged()):
                    continue
                if not _uses_cache:
                    raise
                _uses_cache = False
                while _started:
                    vars(_started.pop()).pop("dispatcher", None)

    def _remove_from_cache(self) -> int:
        """Delete the lists of stored code, without which Numba stores it anew; their number."""
        folder = self.dispatcher.stats.cache_path
        if folder is None:
            return 0
        found = list(Path(folder).glob(f"{glob.escape(self._file_stem)}-*.nbi"))
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)

    @property
    def _file_stem(self) -> str:
        """First part of the names of Numba's files."""
        return f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__qualname__}"

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


@cache
def _link_read_only_cache() -> None:
    """Read code from a NUMBA_CACHE_DIR that is read-only, by links in a temporary folder.

    Numba takes only folders that it can write to.
    """
    from numba import config as numba_config

    config: Any = numba_config  # its options are made at run time
    folder = Path(config.CACHE_DIR or os.devnull)
    if not folder.is_dir() or os.access(folder, os.W_OK):
        return
    with suppress(OSError):  # no folder for temporary files: Numba looks for another one, or none
        links = _at_exit.enter_context(temporary_folder())
        for path in folder.glob("*/*.nb[ic]"):
            link = links / path.relative_to(folder)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(path)
        config.CACHE_DIR = str(links)


def _close_locks() -> None:
    """Leave the locks to the process that was forked: they last until all copies are closed."""
    while _locks:
        _locks.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_locks)


def count_signatures() -> int:
    """Number of forms of all kernels that are compiled or were loaded."""
    return sum(len(kernel.dispatcher.signatures) for kernel in _started.copy())


def _remove_damaged() -> bool:
    """Remove stored code of kernels that did not load, or else of all; whether there was any."""
    waiting = [kernel for kernel in _started if not kernel.dispatcher.signatures]
    with suppress(OSError):
        for kernels in (waiting, _started.copy()):
            if sum(kernel._remove_from_cache() for kernel in kernels):
                return True
    return False


# One instruction each in compiled kernels, see rankwise.runtime.instructions.
def leading_zeros(word: Any) -> Any:
    """Number of zeros before the highest one of 64 bits."""
    return np.uint64(64 - int(word).bit_length())


def trailing_zeros(word: Any) -> Any:
    """Number of zeros after the lowest one of 64 bits; 64 for 0."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


def prefetch(address: Any) -> None:
    """Fetch the line of memory at an address into the cache, without waiting for it.

    A kernel that knows which rows it reads next, in any order but that of memory, would wait for
    each of them in turn.
    """


@cache
def _register_instructions() -> None:
    from rankwise.runtime.instructions import register

    register(prefetch, leading_zeros, trailing_zeros)


@overload
def njit(func: Callable[P, Any], /) -> Callable[P, Any]: ...


@overload
def njit(
    *, fastmath: frozenset[str] | bool = False, unchecked_division: bool = False
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


def njit(
    func: Callable[..., Any] | None = None,
    *,
    fastmath: frozenset[str] | bool = False,
    unchecked_division: bool = False,
) -> Any:
    """Compile ``func`` at its first call, without the GIL, cached on disk where possible.

    A function whose name begins with an underscore can be called by other kernels only.

    With ``unchecked_division``, x / 0 is infinite or NaN. Otherwise it raises ZeroDivisionError,
    whose branch keeps a loop from being vectorised.
    """
    if func is None:
        return lambda f: CompiledFunction(f, fastmath, unchecked_division)
    return CompiledFunction(func, fastmath, unchecked_division)


def run_few(kernel: Callable[..., Any], n_steps: int, /, *arguments: Any) -> Any:
    """Call a kernel that takes about ``n_steps`` steps; as plain Python if they are few.

    Compiling takes seconds and loading compiled code tenths of a second, once in a process. The
    results are bit-identical, so the kernel must not be one with ``fastmath``.
    """
    if are_few(kernel, n_steps):
        with np.errstate(all="ignore"):
            return kernel.plain(*arguments)  # type: ignore[attr-defined]
    return kernel(*arguments)


def are_few(kernel: Callable[..., Any], n_steps: int, n_calls: int = 1) -> bool:
    """Whether to take steps without a kernel, which it would compile; counts them if so.

    A step of NumPy, which takes many values at a time, counts as a fraction. ``n_calls`` like this
    one are likely to follow.
    """
    assert isinstance(kernel, CompiledFunction)
    if n_steps > _FEW_STEPS or is_ready(kernel):
        return False
    steps = kernel.plain_steps + n_steps
    patience = 0 if numba_is_imported() and kernel.is_stored else _PATIENCE
    if max(steps, n_calls * n_steps) > patience:
        return False
    kernel.plain_steps = steps
    return True


def convert_layout(X: Any) -> Any:
    """``X`` as kernels are compiled for it: in C order, aligned and writable.

    Requests are often read-only, as arrays over the bytes of a body or of a frame are. Numba would
    compile a kernel for them anew, which takes longer than any copy of a block.
    """
    return X if X.flags.carray else np.array(X, order="C")


def is_ready(kernel: Callable[..., Any]) -> bool:
    """Whether a kernel was called before, so that a call does not import Numba."""
    return "dispatcher" in vars(kernel) or _always_compiles.get()


@contextmanager
def always_compiled() -> Iterator[None]:
    """Compile kernels for few rows too, to have them ready before there are many."""
    token = _always_compiles.set(True)
    try:
        yield
    finally:
        _always_compiles.reset(token)


def numba_is_imported() -> bool:
    """Whether this process has paid for Numba's import already."""
    return "numba" in sys.modules or _always_compiles.get()
