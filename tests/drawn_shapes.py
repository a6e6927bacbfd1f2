"""What the tests of pictures ask of shapes."""

import itertools

from fairseq_struct.pages.drawing.shapes import Label
from fairseq_struct.pages.drawing.text import width_of


def of(kind, picture):
    return [shape for shape in picture.shapes if isinstance(shape, kind)]


def assert_to_be_read(picture):
    """No two labels overlap, and none leaves the picture."""
    for one, other in itertools.combinations(of(Label, picture), 2):
        if abs(one.y - other.y) < 14:
            both = width_of(one.text, one.size) + width_of(other.text, other.size)
            assert abs(one.x - other.x) >= both / 2 - 1e-6
    for label in of(Label, picture):
        half = width_of(label.text, label.size) / 2
        assert half - 1e-6 <= label.x <= picture.width - half + 1e-6
        assert 14 <= label.y <= picture.height
