"""Take the behaviour out of one symbol, so that a test of it has to fail.

A function does nothing and returns None: its code is swapped, so that tables which already hold the function are
stubbed with it. A class loses what its methods do; one that has none cannot be built. A field reads as None. A dict,
list or set is emptied, any other constant is None wherever it was imported.

    stub("parley.coordinator.machine", "step")
    stub("parley.schemas.protocols.consensus", "Settings.threshold")
"""

import importlib
import inspect
import sys
from types import CodeType, FunctionType
from typing import Any


class NoSuchSymbol(Exception):
    """The map names something that the code does not have."""


class Stubbed(Exception):
    """Raised where a class without behaviour is built."""


def resolve(module: str, symbol: str) -> tuple[Any, str, Any]:
    """What holds the symbol, its name there, and the thing itself.

    Raises
    ------
    NoSuchSymbol
        There is no such module or symbol.
    """
    try:
        owner: Any = importlib.import_module(module)
    except ImportError as error:
        raise NoSuchSymbol(f"{module}: {error}") from error
    *path, name = symbol.split(".")
    for step in path:
        if not hasattr(owner, step):
            raise NoSuchSymbol(f"{module} has no {symbol}")
        owner = getattr(owner, step)
    if name in vars(owner):
        return owner, name, vars(owner)[name]
    for base in inspect.getmro(owner) if inspect.isclass(owner) else ():
        if name in getattr(base, "__annotations__", {}):  # a field without a default
            return owner, name, None
    raise NoSuchSymbol(f"{module} has no {symbol}")


def stub(module: str, symbol: str) -> None:
    """Take the behaviour out of one symbol of this process; it cannot be put back."""
    owner, name, thing = resolve(module, symbol)
    functions = list(_functions(thing))
    if functions:
        for function in functions:
            _swap(function)
    elif inspect.isclass(thing):
        _rename(name, thing, type(name, (), {"__init__": _refuse, "__doc__": "Stubbed."}), owner)
    elif inspect.isclass(owner):
        setattr(owner, name, property(lambda self: None, lambda self, value: None))
    elif isinstance(thing, dict | list | set):
        thing.clear()
    else:
        _rename(name, thing, None, owner)


def _refuse(self: object, *args: object, **kwargs: object) -> None:
    raise Stubbed(type(self).__name__)


def _functions(thing: Any) -> list[FunctionType]:
    """The functions whose code is the behaviour of a thing, through every common wrapping."""
    if inspect.isclass(thing):
        return [f for value in vars(thing).values() if not inspect.isclass(value) for f in _functions(value)]
    if isinstance(thing, property):
        return [f for part in (thing.fget, thing.fset) for f in _functions(part)]
    if isinstance(thing, staticmethod | classmethod):
        return _functions(thing.__func__)
    thing = (
        inspect.unwrap(thing) if callable(thing) else getattr(thing, "func", thing)
    )  # func: functools.cached_property
    return [thing] if isinstance(thing, FunctionType) else []


def _swap(function: FunctionType) -> None:
    code: CodeType = _nothing(function).__code__
    function.__code__ = code.replace(
        co_freevars=function.__code__.co_freevars, co_name=function.__name__, co_filename=function.__code__.co_filename
    )


def _nothing(function: FunctionType) -> FunctionType:
    """A function of the same kind that does nothing."""

    def plain(*args: object, **kwargs: object) -> None:
        return None

    async def coroutine(*args: object, **kwargs: object) -> None:
        return None

    def generator(*args: object, **kwargs: object) -> Any:
        return
        yield

    async def stream(*args: object, **kwargs: object) -> Any:
        return
        yield

    chosen: Any = plain
    if inspect.isasyncgenfunction(function):
        chosen = stream
    elif inspect.iscoroutinefunction(function):
        chosen = coroutine
    elif inspect.isgeneratorfunction(function):
        chosen = generator
    assert isinstance(chosen, FunctionType)
    return chosen


def _rename(name: str, old: object, new: object, owner: Any) -> None:
    """Put `new` wherever a module knows `old` by this name."""
    setattr(owner, name, new)
    for module in list(sys.modules.values()):
        space = getattr(module, "__dict__", {})
        if name in space and space[name] is old:
            space[name] = new
