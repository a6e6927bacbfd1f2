"""Pictures as SVG, TikZ, PNG and HTML pages: trees, grids of numbers, learning curves.

Nothing but plain Python loads before a picture is drawn::

    from fairseq_struct.pages import dependency_svg

    svg = dependency_svg(["the", "cat", "sleeps"], [2, 3, 0], labels=["det", "nsubj", "root"])
"""

from importlib import import_module

_HOMES = {
    "Picture": "drawing.shapes",
    "Row": "drawing.rows",
    "attention_svg": "public",
    "confusion_matrix": "grids.confusion_matrix",
    "confusion_svg": "public",
    "constituency_svg": "public",
    "constituency_tikz": "public",
    "constituent_picture": "constituents.constituent_picture",
    "dependency_picture": "dependencies.dependency_picture",
    "dependency_svg": "public",
    "dependency_tikz": "public",
    "gallery_page": "html.gallery",
    "learning_curves_svg": "curves.learning_curves",
    "memory_svg": "public",
    "write_pictures": "writing",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
