"""A latent dependency tree that a network infers and reads."""

from torch import Tensor

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.modules.latent_structure import LatentStructure
from fairseq_struct.structure.checks import refuse_fractions
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.independent import Independent
from fairseq_struct.structure.pullback import ALIASES, METHODS, Latent, Loss

# Methods whose projections can be limited, and the smallest limit with an effect.
CUT_OFF = ("sparsemap", "spigot")
LEAST_STEPS = 5


class LatentTree(LatentStructure):
    """From arc scores to the decoder's input, with a gradient by one of many methods.

    Args:
        method: ``marginals``, ``sparsemap``, ``perturb_and_map``, ``ste_marginals``,
            ``ste_identity``, ``spigot``, ``spigot_ce``, ``spigot_eg``, or another one of
            ``pullback.METHODS``.
        projective, single_root: kind of trees.
        step_size, pullback_weight: eta of the pulled-back methods, for the loss of one instance,
            and the weight of the pulled-back loss: see :mod:`fairseq_struct.structure.pullback`.
        steps: number of steps k of the pulled-back methods.
        temperature: of the methods with Gumbel noise.
        supervision_weight: weight of -log p(known heads) in the losses.
        sparsemap_steps: maximum number of searches for a best tree in a projection of ``sparsemap``
            or ``spigot``, 5 or more (fewer only find the tree that is already known). A warning
            tells if it is too low. By default projections are exact, as in the papers: a gradient
            must not depend on last digits, which differ between batches.

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
        if method not in METHODS and method not in ALIASES:
            raise InputError(unknown_name("latent method", method, METHODS))
        refuse_fractions(sparsemap_steps=sparsemap_steps or 0)
        if sparsemap_steps is not None and sparsemap_steps < LEAST_STEPS:
            raise InputError(
                f"the steps of SparseMAP must be {LEAST_STEPS} or more, not {sparsemap_steps}"
            )
        if sparsemap_steps is not None and ALIASES.get(method, method) not in CUT_OFF:
            raise InputError(
                f"a limit on SparseMAP's steps is for {' and '.join(CUT_OFF)}, not for {method}"
            )
        super().__init__(
            method, step_size, steps, temperature, supervision_weight, pullback_weight,
            averaged=ALIASES.get(method, method) == "score_function",
        )  # fmt: skip
        self.projective = projective
        self.single_root = single_root
        self.sparsemap_steps = sparsemap_steps

    def extra_repr(self) -> str:
        """The method, and the kind of trees."""
        kind = "projective" if self.projective else "nonprojective"
        roots = "single root" if self.single_root else "any number of roots"
        return f"{super().extra_repr()}, {kind}, {roots}"

    def trees(self, scores: Tensor, lengths: Tensor) -> DependencyTrees:
        """The distribution over trees with scores (batch, n, n)."""
        return DependencyTrees(
            scores, lengths, self.projective, self.single_root, sparsemap_steps=self.sparsemap_steps
        )

    def heads(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Heads (..., n) of the best trees, for scores (..., n, n) and lengths (...)."""
        flat = self.trees(scores.flatten(0, -3), lengths.flatten()).heads
        return flat.view(scores.shape[:-1])

    def read(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """The decoder's input in evaluation, (batch, n, n).

        Args:
            scores: (batch, n, n).
            lengths: (batch,).
        """
        return self._read(scores, lambda given: self.trees(given, lengths))

    def learn(
        self,
        scores: Tensor,
        lengths: Tensor,
        decoder_loss: Loss | None = None,
        known: Tensor | None = None,
    ) -> Latent:
        """The decoder's input in training, and losses whose gradient reaches the scores.

        Args:
            scores: (batch, n, n), or (batch, k, n, n) for k sentences per instance.
            lengths: (batch,) or (batch, k).
            decoder_loss: maps a value, shaped as ``scores``, to (batch,) losses; methods that call
                the decoder once do not need it.
            known: (batch, n) or (batch, k, n) heads, -1 where unknown, as for ``observe``.
        """

        def structure(given: Tensor):
            if given.dim() == 3:
                return self.trees(given, lengths)
            return Independent(given, lambda flat: self.trees(flat, lengths.flatten()))

        if known is not None and (known < 0).all():
            known = None
        return self._learn(scores, structure, decoder_loss, known)
