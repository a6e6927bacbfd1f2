"""Completion of sequences whose symbols are partly hidden (Mihaylova's thesis, section 5.4)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.tasks import register_task

from fairseq_struct.data.datasets.hidden_symbols import HiddenSymbols
from fairseq_struct.data.prepared.completion_folder import read_part
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.errors import InputError
from fairseq_struct.tasks.shared.sentence_task import SentenceTask
from fairseq_struct.tasks.shared.strict_task import TrainedConfig


@dataclass
class SequenceCompletionConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={"help": "folder data-bin made by fairseq-struct prepare sequence_completion"},
    )


@register_task("sequence_completion", dataclass=SequenceCompletionConfig)
class SequenceCompletionTask(SentenceTask):
    """Prediction of the hidden symbols of sequences.

    Use it with the criterion of the same name, which logs ``accuracy`` and ``exact_match``.

    Args:
        cfg: the options.
        words: dictionary of the symbols.
    """

    own_criterion = "sequence_completion"
    kind_of_models = "undirected_attention"

    @classmethod
    def setup_task(cls, cfg: SequenceCompletionConfig, **kwargs):
        """Load the dictionary.

        Raises:
            InputError: the folder or its dictionary does not exist.
        """
        path = Path(cfg.data or "") / "dict.txt"
        if not cfg.data or not path.is_file():
            raise InputError(
                f"{path}: no such file; fairseq-struct prepare sequence_completion makes such "
                "folders"
            )
        return cls(cfg, load_dictionary(path))

    @property
    def symbols(self) -> list[str]:
        """The symbols, in the order of their numbers."""
        return self.words.symbols[self.words.nspecial :]

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a part of the folder.

        Raises:
            InputError: the part does not exist, or a file is damaged.
        """
        part = read_part(self.cfg.data, split, len(self.symbols))
        self.datasets[split] = HiddenSymbols(part, self.trains_on(split), self.cfg.seed)
