"""Values of named architectures."""

from argparse import Namespace
from dataclasses import fields
from typing import Any


def defaults_of(options: type) -> dict[str, Any]:
    """The default of each option of a dataclass, for models that take a namespace."""
    return {field.name: field.default for field in fields(options) if field.name != "_name"}


def set_defaults(args: Namespace, **values: Any):
    """Fill in the options that were not given, and so are not there.

    Args:
        args: the options.
        values: those of the architecture, by field.
    """
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))
