"""What ``torch.compile`` leaves alone, because its tracer fails in kernels and in numpy."""

import functools
import sys
from collections.abc import Callable
from inspect import isfunction

import torch


def untraced(what: Callable) -> Callable:
    """A decorator: a function, or the constructor and verbs of a class, are not part of a graph.

    ``torch.compile`` ends its graph there, calls them as Python does, and begins a new graph with
    their results. Gradients pass.
    """
    if not isinstance(what, type):
        return _outside_of_graphs(what)
    for name, member in list(vars(what).items()):
        if isinstance(member, property):
            setattr(what, name, member.getter(_outside_of_graphs(member.fget)))
        elif isinstance(member, functools.cached_property):
            member.func = _outside_of_graphs(member.func)
        elif isfunction(member) and (name == "__init__" or not name.startswith("_")):
            setattr(what, name, _outside_of_graphs(member))
    return what


def _outside_of_graphs(function: Callable) -> Callable:
    disabled = None

    @functools.wraps(function)
    def call(*arguments, **options):
        nonlocal disabled
        if "torch._dynamo" not in sys.modules:  # a large import, only for those who compile
            return function(*arguments, **options)
        if disabled is None:
            disabled = torch.compiler.disable(function)
        return disabled(*arguments, **options)

    # The tracer gives up code that it meets with many functions in its closure.
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    return call
