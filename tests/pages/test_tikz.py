"""TikZ of pictures: every shape, words without commands, and what a TeX makes of it."""

import shutil
import subprocess

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.pages import (
    constituency_svg,
    constituency_tikz,
    dependency_svg,
    dependency_tikz,
)
from fairseq_struct.pages.drawing.shapes import Image, Picture
from fairseq_struct.pages.drawing.tikz import escaped, tikz

HOSTILE = ["50%", "$x_1$", r"\end{document}", "a&b", "#1", "~^", "{", "--", '<">', "e\u0301"]


def balanced(text):
    depth, before = 0, ""
    for letter in text:
        if letter in "{}" and before != "\\":
            depth += 1 if letter == "{" else -1
            assert depth >= 0
        before = "" if before == "\\" else letter
    return depth == 0


def pictures():
    n = len(HOSTILE)
    heads = [0, *range(1, n)]
    yield dependency_tikz(HOSTILE, heads, labels=HOSTILE, gold=[2, 0, *heads[2:]], title="100 %")
    spans = [(0, n), (1, n), (1, 4)]
    yield constituency_tikz(HOSTILE, spans, distances=range(n), gold=[(0, 3)])


def test_nothing_in_a_word_is_a_command():
    for drawn in pictures():
        comment, _, drawn = drawn.partition("\n")
        assert comment[0] == "%" and balanced(drawn)
        assert drawn.count(r"\end{") == drawn.count(r"\begin{") == 1
        for word in HOSTILE:
            assert f"{{{escaped(word)}}};" in drawn
        assert all(line.lstrip().startswith("\\") for line in drawn.splitlines())
    assert escaped(r"\a_{b}") == r"\textbackslash{}a\_\{b\}"


def test_every_shape_is_drawn():
    words, heads, spans = ["a", "b", "c"], [2, 0, 2], [(0, 3), (1, 3)]
    drawn, svg = dependency_tikz(words, heads), dependency_svg(words, heads)
    assert drawn.count(r"\draw[") == drawn.count(r"\fill[") == svg.count("<path ") == 3
    assert drawn.count(r"\node[") == svg.count("<text ") == 3
    drawn, svg = constituency_tikz(words, spans), constituency_svg(words, spans)
    assert drawn.count(r"\draw[") == svg.count("<path ")


def test_images_are_refused():
    with pytest.raises(InputError, match="images are not drawn"):
        tikz(Picture(9, 9, [Image(0, 0, 9, 9, [[0.0]])]))


def test_a_comment_is_one_line():
    assert dependency_tikz(["a\nb\r%"], [0]).splitlines()[1].startswith(r"\begin")


@pytest.mark.parametrize("encoding", ["", r"\usepackage[T1]{fontenc}"])
def test_in_a_document(encoding, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here")
    found = subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True)
    if found.returncode:
        pytest.skip("this LaTeX has no TikZ")
    document = rf"\documentclass{{article}}{encoding}\usepackage{{tikz}}\begin{{document}}"
    (tmp_path / "a.tex").write_text(f"{document}{''.join(pictures())}" + r"\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout
