"""Base of the tasks whose input is sentences."""

from fairseq.data import Dictionary
from fairseq.tasks import FairseqTask

from fairseq_struct.tasks.shared.strict_task import StrictTask


class SentenceTask(StrictTask, FairseqTask):
    """A task that reads sentences of one dictionary's words.

    As in fairseq's base class, sentences may have any length (``max_positions`` is None), and
    there is no ``target_dictionary`` unless the task defines one.

    Args:
        cfg: the options.
        words: dictionary of words.
    """

    def __init__(self, cfg, words: Dictionary):
        super().__init__(cfg)
        self.words = words

    @property
    def source_dictionary(self) -> Dictionary:
        """The dictionary of words."""
        return self.words
