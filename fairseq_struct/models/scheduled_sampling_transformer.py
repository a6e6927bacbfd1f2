"""Transformer trained with two-pass scheduled sampling (Mihaylova's thesis, chapter 3).

The encoder runs once. A first decoder pass on the gold target scores every word. Each decoder
input then stays gold with probability t(i), or is replaced by a mix of embeddings built from those
scores. The second pass, on the mixed inputs, gives the output and the loss. At validation and
generation the model is fairseq's plain ``transformer`` with the same parameter names, so each
loads the other's checkpoints. Named sizes are in ``scheduled_sampling_presets.py``.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack

import torch
from fairseq.distributed.utils import get_data_parallel_rank
from fairseq.logging import metrics
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer.transformer_legacy import base_architecture
from torch import Tensor, nn

from fairseq_struct.models.shared.presets import defaults_of, set_defaults
from fairseq_struct.models.shared.scheduled_sampling_options import (
    ScheduledSamplingConfig,
    add_options,
    check_first_pass,
    check_options,
    schedule_from_options,
)
from fairseq_struct.modules.scheduled_sampling.embedding_mix import EmbeddingMix
from fairseq_struct.modules.scheduled_sampling.input_replacement import (
    embeddings_replaced,
    flip_coins,
    following_words,
    gold_confidence,
    random_tokens_of_same_sentence,
    replaceable_positions,
)
from fairseq_struct.modules.scheduled_sampling.partial_computation import computed_once
from fairseq_struct.modules.scheduled_sampling.scores_of_inputs import (
    ChosenInputs,
    scores_of_inputs,
    without_padding,
)


@register_model("scheduled_sampling_transformer")
class ScheduledSamplingTransformer(TransformerModel):
    """Transformer with scheduled sampling in ``decoder_passes`` parallel decoder passes.

    The gold inputs are y_0 .. y_T (y_0 is the begin symbol), and s_i are the scores of the pass
    before. A coin is flipped independently for each sentence and position. The input at position
    i >= 1 is ``e(y_i)`` with probability t(u), else ``sum_y w(y; s_{i-1}) e(y)`` (Mihaylova's
    thesis, section 3.3, eqs. 3.1 and 3.2; u is the update number, w the mix of ``--mix``). The
    begin symbol and padding stay gold. Pass 1 runs in training mode with its own dropout. Without
    ``--first-pass-gradient`` it stores no graph and its scores are constants. The mixed embeddings
    e(y) receive the second pass's gradient like any other input embedding.

    Beyond the thesis: more than two passes refine the replaced inputs and keep the coins (parallel
    scheduled sampling, Duckworth et al., 2019; with one pass per word and the argmax mix this is
    exactly the sequential procedure). Confidence can replace the coins (Liu et al., 2021, and this
    project's variant: :func:`.input_replacement.gold_confidence`).

    Logged while training: ``teacher_forcing``, the probability t(u), and ``replaced``, the
    replaced fraction of the replaceable inputs (in distributed training, on the first worker).

    Raises:
        InputError: an impossible combination of options (:meth:`build_model`).
    """

    @classmethod
    def add_args(cls, parser: ArgumentParser):
        """Add fairseq's Transformer options and those of scheduled sampling to ``parser``."""
        super().add_args(parser)
        add_options(parser)

    @classmethod
    def build_model(cls, args: Namespace, task):
        """Build the model, after checking that its options fit together and fit the task."""
        scheduled_sampling_architecture(args)
        check_options(args, vocabulary=len(task.target_dictionary))
        return super().build_model(args, task)

    def __init__(self, args: Namespace, encoder, decoder):
        super().__init__(args, encoder, decoder)
        self.mix = EmbeddingMix(args.mix, args.mix_alpha, args.mix_top_k, args.mix_scale_noise)
        self.schedule = schedule_from_options(args)
        self.first_pass_gradient = args.first_pass_gradient
        self.decoder_passes = args.decoder_passes
        self.replacement = args.replacement
        self.confidence_threshold = args.confidence_threshold
        self.confidence_random_threshold = args.confidence_random_threshold
        self.end = decoder.dictionary.eos()
        self.seed = getattr(args, "seed", 1)
        self.num_updates = 0
        self._generator: torch.Generator | None = None

    @property
    def teacher_forcing_probability(self) -> float:
        """t(u), the probability of the gold token at the current update."""
        return self.schedule(self.num_updates)

    def check_criterion(self, criterion):
        """Refuse, before training, a criterion that does not fit: see :func:`check_first_pass`."""
        check_first_pass(self.replacement, hasattr(criterion, "first_pass_weight"))

    def set_num_updates(self, num_updates: int):
        """Store the number of finished updates; the trainer calls it, also after a resume."""
        if num_updates != self.num_updates:
            # A separate generator, restarted at every update, makes a resumed run repeat the
            # uninterrupted one. It leaves fairseq's dropout stream as in a plain Transformer.
            self._generator = None
        self.num_updates = num_updates
        super().set_num_updates(num_updates)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        return_all_hiddens: bool = True,
        features_only: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
        with_first_pass: bool = False,
    ):
        """Scores of the last decoder pass, as fairseq's ``TransformerModel.forward`` returns them.

        Args:
            src_tokens: (batch, source length).
            src_lengths: (batch,) source lengths in tokens.
            prev_output_tokens: (batch, target length) gold target, shifted right.
            return_all_hiddens, features_only, alignment_layer, alignment_heads: as in fairseq.
            with_first_pass: while training, run the first pass for all positions and with gradient.

        Returns:
            (batch, target length, vocabulary) scores and fairseq's dictionary of extras. If
            ``with_first_pass`` is set and a first pass ran, "first_pass" holds its scores.

        Raises:
            InputError: ``--replacement confidence`` without the first pass's loss.
        """
        encoder_out = self.encoder(
            src_tokens, src_lengths=src_lengths, return_all_hiddens=return_all_hiddens
        )

        def last_pass():
            return self.decoder(
                prev_output_tokens,
                encoder_out=encoder_out,
                features_only=features_only,
                alignment_layer=alignment_layer,
                alignment_heads=alignment_heads,
                src_lengths=src_lengths,
                return_all_hiddens=return_all_hiddens,
            )

        if not self.training:
            return last_pass()
        with computed_once(self._projections_of_encoder_output()):
            if self.teacher_forcing_probability == 1.0:
                with_first_pass = False
            else:
                check_first_pass(self.replacement, with_first_pass)
            first = None
            if with_first_pass:
                first, _ = self.decoder(prev_output_tokens, encoder_out, alignment_layer=-1)
            replaced = self._replaced_inputs(encoder_out, prev_output_tokens, first)
            with ExitStack() as stack:
                if replaced is not None:
                    stack.enter_context(embeddings_replaced(self.decoder.embed_tokens, *replaced))
                scores, extra = last_pass()
            return scores, extra if first is None else {**extra, "first_pass": first}

    def _projections_of_encoder_output(self) -> Iterator[nn.Module]:
        """The cross-attention modules whose output is the same in every pass."""
        # children(), because iterating over the layers draws layers to drop (--decoder-layerdrop).
        for layer in self.decoder.layers.children():
            attention = getattr(layer, "encoder_attn", None)
            if attention is not None:
                yield attention.k_proj
                yield attention.v_proj

    def _replaced_inputs(
        self, encoder_out: dict, inputs: Tensor, first: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """Choose the inputs to replace, and mix and log them.

        Args:
            encoder_out: output of fairseq's encoder.
            inputs: (batch, length).
            first: (batch, length, vocabulary) scores of the first pass, if it has been run.

        Returns:
            Rows (n,), columns (n,) and vectors (n, dim) of the n replaced inputs; None if all
            inputs stay gold.
        """
        replaceable = replaceable_positions(inputs, self.decoder.padding_idx)
        count = int(replaceable.sum())
        replaced = None
        if self.teacher_forcing_probability < 1.0 and count > 0:
            generator = self._generator_on(inputs.device)
            chosen = self._choose(encoder_out, inputs, replaceable, first, generator)
            if chosen is not None:
                vectors = self._mixed_embeddings(encoder_out, inputs, chosen, generator)
                replaced = chosen.rows, chosen.columns, vectors
        share = 0.0 if replaced is None else replaced[0].numel() / count
        metrics.log_scalar("teacher_forcing", self.teacher_forcing_probability, weight=0, round=4)
        metrics.log_scalar("replaced", share, weight=count, round=4)
        return replaced

    def _choose(
        self,
        encoder_out: dict,
        inputs: Tensor,
        replaceable: Tensor,
        first: Tensor | None,
        generator: torch.Generator,
    ) -> ChosenInputs | None:
        """The inputs to replace, by coins or by confidence, with the first pass's scores there."""
        by_coins = self.replacement == "uniform"
        if by_coins:
            gold_probability = self.teacher_forcing_probability
            candidates = flip_coins(replaceable, gold_probability, generator)
        else:
            candidates = replaceable
        rows, columns = candidates.nonzero(as_tuple=True)
        if rows.numel() == 0:
            return None
        if first is None:
            scores = self._scores(encoder_out, inputs, rows, columns)
        else:
            scores = first if self.first_pass_gradient else first.detach()
            scores = without_padding(scores[rows, columns - 1], self.decoder.padding_idx)
        if by_coins:
            return ChosenInputs(rows, columns, scores)
        sure = scores.detach(), inputs[rows, columns]
        if self.replacement == "confidence":
            following = following_words(inputs, self.decoder.padding_idx, self.end)
            sure = first.detach()[rows, columns], following[rows, columns]
        confidence = gold_confidence(*sure)
        kept = confidence > self.confidence_threshold
        rows, columns, scores = rows[kept], columns[kept], scores[kept]
        if rows.numel() == 0:
            return None
        noise = random_tokens_of_same_sentence(inputs, replaceable, rows, generator)
        scrambled = confidence[kept] > self.confidence_random_threshold
        return ChosenInputs(rows, columns, scores, noise, scrambled)

    def _mixed_embeddings(
        self,
        encoder_out: dict,
        inputs: Tensor,
        chosen: ChosenInputs,
        generator: torch.Generator,
    ) -> Tensor:
        """Vectors (n, dim) of the chosen inputs: one mix for each pass but the last."""
        embed = self.decoder.embed_tokens

        def mixed(scores: Tensor) -> Tensor:
            vectors = self.mix(scores, embed.weight, generator, overwrite_scores=True)
            if chosen.noise is None:
                return vectors
            return torch.where(chosen.scrambled.unsqueeze(1), embed(chosen.noise), vectors)

        vectors = mixed(chosen.scores)
        for _ in range(self.decoder_passes - 2):
            scores = self._scores(encoder_out, inputs, chosen.rows, chosen.columns, vectors)
            vectors = mixed(scores)
        return vectors

    def _scores(
        self, encoder_out: dict, inputs: Tensor, rows: Tensor, columns: Tensor,
        vectors: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Scores (n, vocabulary) that predict the inputs at ``rows`` and ``columns``."""
        with torch.set_grad_enabled(self.first_pass_gradient):
            scores = scores_of_inputs(self, encoder_out, inputs, rows, columns, vectors)
        if torch.is_autocast_enabled(inputs.device.type) and not self.first_pass_gradient:
            torch.clear_autocast_cache()  # torch < 2.11 would reuse casts made without gradient
        return scores

    def _generator_on(self, device: torch.device) -> torch.Generator:
        if self._generator is None or self._generator.device != device:
            self._generator = torch.Generator(device)
            # Workers see different sentences and must not share their coins.
            rank = get_data_parallel_rank() if torch.distributed.is_initialized() else 0
            key = (self.seed * 1_000_003 + self.num_updates) * 8191 + rank
            self._generator.manual_seed(key % 2**63)
        return self._generator


@register_model_architecture("scheduled_sampling_transformer", "scheduled_sampling_transformer")
def scheduled_sampling_architecture(args: Namespace):
    """Fairseq's base Transformer, top-5 mix, linear decay from 1 to 0 over the whole training."""
    set_defaults(args, **defaults_of(ScheduledSamplingConfig))
    base_architecture(args)
