"""A dependency tree that a network infers for itself and reads."""

from torch import Tensor, nn

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.modules.past_losses import PastLosses, unknown_loss
from fairseq_struct.modules.workers import own_generator
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.independent import Independent
from fairseq_struct.structure.pullback import ALIASES, METHODS, Latent, Loss, latent

# Methods that read a mean of trees; all others read one tree.
RELAXED = ("marginals", "sparsemap", "gumbel_softmax")
# Methods whose projections can be cut off, and the least number of searches that do something.
CUT_OFF = ("sparsemap", "spigot")
LEAST_STEPS = 5


class LatentTree(nn.Module):
    """From arc scores to what a decoder reads, with a gradient by one of many methods.

    While training it is :func:`fairseq_struct.structure.pullback.latent` that makes the value;
    while evaluating, the relaxed methods read their mean of trees, without noise, and all others
    the best tree.

    Args:
        method: ``marginals``, ``sparsemap``, ``perturb_and_map``, ``ste_marginals``,
            ``ste_identity``, ``spigot``, ``spigot_ce``, ``spigot_eg``, or another one of
            ``pullback.METHODS``.
        projective, single_root: which trees.
        step_size, pullback_weight: eta of the pulled-back methods, for the loss of one instance,
            and the weight of the pulled-back loss: see :mod:`fairseq_struct.structure.pullback`.
        steps: their number of steps k.
        temperature: of the methods with Gumbel noise.
        supervision_weight: weight of -log p(known heads) in the losses.
        sparsemap_steps: most searches for a best tree in a projection of ``sparsemap`` or
            ``spigot``, 5 or more (few of them find the tree that is there already), with a warning
            where they do not suffice. The papers' projections are exact, as they are by default:
            a gradient must not depend on last digits, which differ between batches.

    Raises:
        InputError: an unknown method, or a number out of range.
    """

    def __init__(
        self,
        method: str = "marginals",
        projective: bool = True,
        single_root: bool = False,
        step_size: float = 1.0,
        steps: int = 1,
        temperature: float = 1.0,
        supervision_weight: float = 1.0,
        sparsemap_steps: int | None = None,
        pullback_weight: float = 1.0,
    ):
        super().__init__()
        if method not in METHODS and method not in ALIASES:
            raise InputError(unknown_name("latent method", method, METHODS))
        numbers = {
            "pullback step size": step_size, "pullback weight": pullback_weight,
            "temperature": temperature,
        }  # fmt: skip
        for name, value in numbers.items():
            if not 0 < value < float("inf"):
                raise InputError(f"the {name} must be above 0 and finite, not {value}")
        if steps < 1:
            raise InputError(f"the number of pullback steps must be 1 or more, not {steps}")
        if sparsemap_steps is not None and sparsemap_steps < LEAST_STEPS:
            raise InputError(
                f"the steps of SparseMAP must be {LEAST_STEPS} or more, not {sparsemap_steps}"
            )
        if sparsemap_steps is not None and ALIASES.get(method, method) not in CUT_OFF:
            raise InputError(
                f"a limit of SparseMAP's steps is for {' and '.join(CUT_OFF)}, not for {method}"
            )
        if not 0 <= supervision_weight < float("inf"):
            raise InputError(
                f"the weight of known heads must be 0 or more and finite, not {supervision_weight}"
            )
        self.method = ALIASES.get(method, method)
        self.projective = projective
        self.single_root = single_root
        self.step_size = step_size
        self.steps = steps
        self.pullback_weight = pullback_weight
        self.temperature = temperature
        self.supervision_weight = supervision_weight
        self.sparsemap_steps = sparsemap_steps
        self.past_losses = PastLosses()
        if self.method == "score_function":
            # A buffer, so that checkpoints carry it.
            self.register_buffer("average_loss", unknown_loss())

    def set_num_updates(self, num_updates: int):
        """Take the number of finished updates from fairseq's trainer."""
        self.past_losses.set_num_updates(num_updates)

    def trees(self, scores: Tensor, lengths: Tensor) -> DependencyTrees:
        """The distribution over trees that scores (batch, n, n) stand for."""
        return DependencyTrees(
            scores, lengths, self.projective, self.single_root, sparsemap_steps=self.sparsemap_steps
        )

    def heads(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Heads of the best trees, (..., n), of scores (..., n, n) and lengths (...)."""
        flat = self.trees(scores.flatten(0, -3), lengths.flatten()).heads
        return flat.view(scores.shape[:-1])

    def read(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """What the decoder reads while evaluating, (batch, n, n).

        Args:
            scores: (batch, n, n).
            lengths: (batch,).
        """
        if self.method == "gumbel_softmax":
            return self.trees(scores / self.temperature, lengths).marginals
        trees = self.trees(scores, lengths)
        return getattr(trees, self.method if self.method in RELAXED else "argmax")

    def learn(
        self,
        scores: Tensor,
        lengths: Tensor,
        decoder_loss: Loss | None = None,
        known: Tensor | None = None,
    ) -> Latent:
        """What the decoder reads while training, and losses whose gradient reaches the scores.

        Args:
            scores: (batch, n, n), or (batch, k, n, n) for k sentences per instance.
            lengths: (batch,) or (batch, k).
            decoder_loss: (batch,) losses of a value shaped as ``scores``; methods that call the
                decoder once can do without.
            known: (batch, n) or (batch, k, n) heads, -1 where unknown, as ``observe`` takes them.
        """

        def structure(given: Tensor):
            if given.dim() == 3:
                return self.trees(given, lengths)
            return Independent(given, lambda flat: self.trees(flat, lengths.flatten()))

        if known is not None and (known < 0).all():
            known = None
        baseline = None
        if self.method == "score_function":
            baseline = self.past_losses.before(self.average_loss)
        result = latent(
            scores, structure, self.method, decoder_loss, self.step_size, self.steps,
            self.temperature, baseline, own_generator(scores.device), known,
            self.supervision_weight, self.pullback_weight,
        )  # fmt: skip
        if baseline is not None:
            self.past_losses.count(result.losses, self.average_loss)
        return result
