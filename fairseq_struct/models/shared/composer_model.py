"""Base and options of the models that compose sentences, for ``--task grammar_induction``."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import BaseFairseqModel
from torch import Tensor, nn

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.models.shared.known_vectors import set_known_vectors
from fairseq_struct.modules.recurrent_mechanisms import (
    Composer,
    Composition,
    Followed,
    compose_freely,
    follow,
)
from fairseq_struct.modules.schedules import SCHEDULES, make_schedule
from fairseq_struct.option_checks import option_name, require_at_least, require_share

NEVER = "never"


@dataclass
class ComposerConfig(FairseqDataclass):
    """Options of all composers."""

    embed_dim: int = field(
        default=100,
        metadata={"help": "size of the word vectors, and of the symbols that take their places"},
    )
    embed_path: Optional[str] = field(  # noqa: UP045
        default=None, metadata={"help": "text file of initial word vectors, such as GloVe"}
    )
    layers: int = field(default=1, metadata={"help": "number of layers"})
    dropout: float = field(
        default=0.0, metadata={"help": "dropout of words and new symbols (the thesis has none)"}
    )
    predict_category: bool = field(
        default=False,
        metadata={
            "help": "also predict the category of each new symbol, so that trees have labels (not "
            "in the thesis)"
        },
    )
    category_weight: float = field(
        default=1.0, metadata={"help": "weight of the cross-entropy of categories"}
    )
    own_spans: ChoiceEnum((NEVER, *SCHEDULES)) = field(
        default=NEVER,
        metadata={
            "help": "schedule by which the share of training steps that go on from the gold span "
            "decays; the others go on from the model's own span (not in the thesis)"
        },
    )
    own_spans_k: Optional[float] = field(  # noqa: UP045
        default=None,
        metadata={"help": "k of this schedule: offset of linear (default: 1), base of exponential, "
                  "shape of inverse_sigmoid, value of constant"},
    )  # fmt: skip
    own_spans_end_update: Optional[int] = field(  # noqa: UP045
        default=None, metadata={"help": "update at which the linear schedule reaches 0"}
    )
    own_spans_floor: float = field(
        default=0.0, metadata={"help": "smallest share of steps that go on from the gold span"}
    )


class ComposerModel(BaseFairseqModel):
    """A composer on ``--task grammar_induction``.

    Args:
        network: the composer.
        cfg: the options.

    Attributes:
        composes: what tools recognise it by.
        category_weight: weight of the losses of categories.
    """

    for_tasks = ("grammar_induction",)
    ONLY_FOR_TRAINING = ("embed_path",)
    composes = True

    def __init__(self, network: Composer, cfg: ComposerConfig):
        super().__init__()
        self.network = network
        self.category_weight = cfg.category_weight
        self.schedule, self.updates = schedule_of(cfg), 0

    def set_num_updates(self, num_updates: int):
        """Take the number of finished updates, on which the share of own spans depends."""
        super().set_num_updates(num_updates)
        self.updates = num_updates

    @property
    def own_share(self) -> float:
        """Share of the steps that go on from the model's own span; 0 while not training."""
        if self.schedule is None or not self.training:
            return 0.0
        return 1.0 - self.schedule(self.updates)

    def forward(
        self, tokens: Tensor, lengths: Tensor, starts: Tensor, ends: Tensor, step_counts: Tensor,
        categories: Tensor | None = None,
    ) -> Followed:  # fmt: skip
        """Compose sentences along gold steps: see :func:`.follow`."""
        return follow(
            self.network, tokens, lengths, starts, ends, step_counts, categories, self.own_share
        )

    def compose(
        self, tokens: Tensor, lengths: Tensor, beam: int = 1, keep: bool = False,
        word_categories: Tensor | None = None,
    ) -> Composition:  # fmt: skip
        """Compose sentences by the model's own spans: see :func:`.compose_freely`."""
        return compose_freely(self.network, tokens, lengths, beam, keep, word_categories)


def schedule_of(cfg: ComposerConfig):
    """The schedule of gold spans; None if all are gold.

    Raises:
        InputError: options that contradict each other.
    """
    name = str(cfg.own_spans)
    if name == NEVER:
        for option in ("own_spans_k", "own_spans_end_update", "own_spans_floor"):
            if getattr(cfg, option):
                raise InputError(f"{option_name(option)} needs --own-spans")
        return None
    if name == "linear" and cfg.own_spans_end_update is None:
        raise InputError("--own-spans linear needs --own-spans-end-update")
    with as_input(f"--own-spans {name}: "):
        return make_schedule(name, cfg.own_spans_k, None, cfg.own_spans_end_update,
                             cfg.own_spans_floor)  # fmt: skip


def check_options(cfg: ComposerConfig):
    """Refuse options out of range.

    Raises:
        InputError: with the name of the option.
    """
    require_at_least(cfg, 1, "embed_dim", "layers")
    require_share(cfg, "dropout")
    require_at_least(cfg, 0, "category_weight")


def word_embedding(cfg: ComposerConfig, words) -> nn.Embedding:
    """Embeddings of a dictionary's words, initialised from ``--embed-path`` where it has them.

    Raises:
        InputError: the file does not exist or does not fit, or has none of the words.
    """
    embedding = nn.Embedding(len(words), cfg.embed_dim, words.pad())
    if cfg.embed_path:
        set_known_vectors(embedding.weight, cfg.embed_path, words)
    return embedding
