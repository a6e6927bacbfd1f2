"""The kinds of pictures of ``fairseq-struct draw``, by the value of ``--what``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairseq_struct.cli.pictures import attention, images, marginals, memory, trees


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Args:
        help: what it shows.
        title: of the page.
        ability: of the tool that is needed.
        method: of the tool that gives what is drawn; a tool without it has no such pictures.
        column: of sentences: a function from a checkpoint's name, its tool, the sentences and their
            gold trees to a list of captions and pictures for each sentence. Of other kinds, None.
        row: of other kinds: a function from a tool, the most passes, and images or None, to a
            picture.
        takes_gold: whether gold dependency trees can be drawn beside it.
        explain: a function to the text below the title.
    """

    help: str
    title: str
    ability: str
    method: str
    column: Callable | None = None
    row: Callable | None = None
    takes_gold: bool = False
    explain: Callable[[], str] = str


# If --what is not given, the first kind that all models have; kinds of images must be named.
KINDS = {
    "memory": Kind(
        "slots by steps, below the induced tree (figure 4 of Shen's thesis)",
        "Slots by steps: blue, in use (π→); red, the head of the stack (p)", "draw", "memories",
        memory.column, explain=memory.explain,
    ),
    "attention": Kind(
        "its weights in each pass of an undirected network (figure 5.4 of Mihaylova's thesis)",
        "Attention weights", "draw", "attentions", attention.column, explain=attention.explain,
    ),
    "trees": Kind(
        "those of all checkpoints side by side, constituents (figure 6 of Shen's thesis) without "
        "the round brackets of formulas", "Trees", "parse", "trees", trees.column, takes_gold=True,
    ),
    "marginals": Kind(
        "probabilities of arcs (figure 5.7 of Mihaylova's thesis)", "Marginals of arcs", "draw",
        "marginals", marginals.column, takes_gold=True, explain=marginals.explain,
    ),
    "prototypes": Kind(
        "an image of each label, after 1, 2, … passes (figure 5.3 of Mihaylova's thesis)",
        "Prototypes by passes: images inferred from labels", "images", "prototypes",
        row=images.prototypes,
    ),
    "completions": Kind(
        "images whose lower half is hidden",
        "Images with their lower half hidden, and inferred by passes", "images", "complete",
        row=images.completions,
    ),
}  # fmt: skip
