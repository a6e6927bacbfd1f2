"""The optional library ``transformers``, imported where it is needed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from fairseq_struct.errors import DependencyError


def import_transformers(purpose: str) -> ModuleType:
    """Import ``transformers``.

    Args:
        purpose: what needs it, for the message: ``--encoder-folder``.

    Raises:
        DependencyError: it is missing or unusable.
    """
    _hide_broken_torchaudio()
    try:
        import transformers

        transformers.AutoModel  # noqa: B018 - imported on first use
    except (ImportError, OSError) as error:
        raise DependencyError(
            f"{purpose} needs the package transformers, which cannot be imported ({error})",
            "pip install 'fairseq-struct[transformers]'",
        ) from None
    return transformers


def _hide_broken_torchaudio():
    """Let ``transformers`` do without a torchaudio that cannot be loaded.

    fairseq requires torchaudio and never uses it here. Beside a torch for CPUs, pip installs one
    for CUDA. ``transformers`` would import it for its text models, too, and fail.
    """
    if "torchaudio" in sys.modules:
        return
    try:
        importlib.import_module("torchaudio")
    except ImportError:
        return
    except OSError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchaudio"]:
            del sys.modules[name]
        sys.modules["torchaudio"] = None  # as if it were not installed
        known = sys.modules.get("transformers.utils.import_utils")  # it remembers what it has found
        clear = getattr(getattr(known, "is_torchaudio_available", None), "cache_clear", None)
        if clear is not None:
            clear()
