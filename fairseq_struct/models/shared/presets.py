"""Values of named architectures."""

from argparse import Namespace
from typing import Any


def set_defaults(args: Namespace, **values: Any):
    """Fill in the options that were not given, and so are not there.

    Args:
        args: the options.
        values: those of the architecture, by field.
    """
    for name, value in values.items():
        setattr(args, name, getattr(args, name, value))
