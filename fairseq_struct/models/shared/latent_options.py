"""Options of models with a latent structure: how the structure is learned."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "int | None"

from fairseq.dataclass import FairseqDataclass

from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.structure.pullback import METHODS

STEP_SIZE_HELP = (
    "eta, the size of the steps towards the pulled-back tree, along the gradient of a sentence's "
    "own loss, whatever its batch; where a paper steps along the gradient of the mean loss of B "
    "sentences (Mihaylova's thesis, table A.1), its eta divided by B"
)


@dataclass
class LatentStructureConfig(FairseqDataclass):
    """Options for learning any latent structure."""

    latent_method: str = field(
        default="marginals",
        metadata={"help": f"how to learn the latent structure: {', '.join(METHODS)}"},
    )
    pullback_step_size: float = field(
        default=1.0, metadata={"help": "eta, the size of the steps towards the pulled-back label"}
    )
    pullback_steps: int = field(
        default=1, metadata={"help": "number of steps towards the pulled-back label"}
    )
    temperature: float = field(
        default=1.0, metadata={"help": "temperature of the methods with Gumbel noise"}
    )


@dataclass
class LatentTreeConfig(LatentStructureConfig):
    """Options for learning a latent dependency tree, and which trees are allowed."""

    latent_method: str = field(
        default="marginals",
        metadata={"help": f"how to learn the latent tree: {', '.join(METHODS)}"},
    )
    pullback_step_size: float = field(default=0.1, metadata={"help": STEP_SIZE_HELP})
    pullback_steps: int = field(
        default=1, metadata={"help": "number of steps towards the pulled-back tree"}
    )
    pullback_weight: float = field(
        default=1.0,
        metadata={
            "help": "weight of the pulled-back loss beside the decoder's loss; the code of "
            "Mihaylova's thesis sums the first over a batch of B sentences and averages the "
            "second: give B for that"
        },
    )
    sparsemap_steps: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "most best-tree searches in a projection of sparsemap and spigot, 5 or more "
            "(default: until the projection is exact); a lower limit is faster and warns if the "
            "projection is not exact"
        },
    )
    non_projective: bool = field(
        default=False, metadata={"help": "let arcs of the latent tree cross"}
    )
    single_root: bool = field(
        default=False, metadata={"help": "attach exactly one word to the root"}
    )


def latent_tree(cfg) -> LatentTree:
    """Build the latent tree from the options.

    Args:
        cfg: options of :class:`LatentTreeConfig`, optionally with ``heads_weight``.

    Raises:
        InputError: an unknown method, or a number out of range.
    """
    return LatentTree(
        cfg.latent_method, not cfg.non_projective, bool(cfg.single_root), cfg.pullback_step_size,
        cfg.pullback_steps, cfg.temperature, getattr(cfg, "heads_weight", 1.0),
        # Older checkpoints lack these.
        getattr(cfg, "sparsemap_steps", None), getattr(cfg, "pullback_weight", 1.0),
    )  # fmt: skip
