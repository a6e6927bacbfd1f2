"""Lists of results, which a notebook draws."""

from __future__ import annotations

from html import escape

_GAP = '<div style="margin:0.8em 0;overflow-x:auto">{}</div>\n'
# Pictures of a list that a notebook shows; hundreds would freeze it.
SHOWN = 20


class Results(list):
    """A list of results, in the order of the sentences; a notebook draws the first ones."""

    def _repr_html_(self) -> str:
        parts = []
        for one in self[:SHOWN]:
            draw = getattr(one, "_repr_html_", None)
            parts.append(_GAP.format(draw() if draw else escape(repr(one))))
        if len(self) > SHOWN:
            parts.append(_GAP.format(f"… and {len(self) - SHOWN} more"))
        return "".join(parts)
