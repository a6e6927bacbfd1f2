"""How functions of fairseq are replaced by ones around them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace ``owner.name`` by a function of the same name around it.

    Args:
        owner: a module, a class or an object.
        name: of its function or method.
        around: called with the original, and then with the arguments of the call, of a method
            ``self`` first; it returns what the call returns.
    """
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, wrapped)
