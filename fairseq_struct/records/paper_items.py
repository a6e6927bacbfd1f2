"""The tables and figures of the papers, and what the recipes have in their place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError
from fairseq_struct.files.lists import read_list
from fairseq_struct.records.experiments import known_experiments
from fairseq_struct.records.results import results_of

LIST = "papers.tsv"
# What may stand in place of experiments and pictures: state of the item.
_WITHOUT = {"": "no result", "-": "absent", "draw": "on demand"}


@dataclass(frozen=True)
class PaperItem:
    """A line of ``recipes/papers.tsv``.

    Attributes:
        paper: the paper.
        item: its table or figure, or several.
        content: what it shows.
        shown: what stands for it here: SYSTEM/EXPERIMENT and pictures, paths from the folder of the
            recipes, separated by spaces; ``draw`` if a command draws it, ``-`` if nothing does,
            empty if it shows no result.
        note: how the setting is reduced, the command, or why there is nothing.
    """

    paper: str
    item: str
    content: str
    shown: str
    note: str

    def state(self, recipes: str | Path) -> str:
        """In Markdown, what of :attr:`shown` is done, reduced, drawn, or not run.

        Raises:
            InputError: there is no such experiment or picture, or a note is missing.
        """
        if self.shown in _WITHOUT:
            if not self.note:
                raise InputError(f"{Path(recipes) / LIST}: {self.item} of {self.paper} has no note")
            return _WITHOUT[self.shown]
        found: dict[str, list[str]] = {}
        for name in self.shown.split():
            state, link = self._one(name, Path(recipes))
            found.setdefault(state, []).append(link)
        if "reduced" in found and not self.note:
            raise InputError(
                f"{Path(recipes) / LIST}: {self.item} of {self.paper} is reduced, but has no note"
            )
        return "; ".join(f"{state}: {', '.join(links)}" for state, links in found.items())

    def _one(self, name: str, recipes: Path) -> tuple[str, str]:
        path = Path(name)
        if path.suffix:
            if not (recipes / path).is_file():
                raise InputError(f"{recipes / LIST}: {name} of {self.item} does not exist")
            return "drawn", f"[{path.name}]({name})"
        if name not in known_experiments(recipes):
            raise InputError(f"{recipes / LIST}: {name} of {self.item} is no experiment")
        system, _, experiment = name.partition("/")
        results = results_of(system, experiment, recipes)
        if not results:
            return "not run", f"`{name}`"
        whole = all(one.scale == "paper" for one in results)
        return "done" if whole else "reduced", f"[{name}]({system}/RESULTS.md)"


def read_paper_items(recipes: str | Path) -> list[PaperItem]:
    """Read the list of tables and figures, in its order; empty if the file does not exist.

    Raises:
        InputError: a line has too few or too many fields.
    """
    return read_list(Path(recipes) / LIST, PaperItem)


def papers_table(recipes: str | Path) -> str:
    """All tables and figures of the papers as a Markdown table.

    Raises:
        InputError: as for :func:`read_paper_items` and :meth:`PaperItem.state`.
    """
    lines = ["| paper | table or figure | of | here | how |", "| --- | --- | --- | --- | --- |"]
    for one in read_paper_items(recipes):
        cells = (one.paper, one.item, one.content, one.state(recipes), one.note)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
