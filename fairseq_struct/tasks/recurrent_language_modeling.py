"""Task for language models that carry their state from window to window."""

import copy
import logging
from dataclasses import dataclass, field

import torch
from fairseq.data import iterators
from fairseq.distributed import utils as distributed_utils
from fairseq.tasks import register_task
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask
from omegaconf import II

from fairseq_struct.data.datasets.indexed_lines import load_lines
from fairseq_struct.data.datasets.mapped.shards import check_shards, shard
from fairseq_struct.data.datasets.mapped.tokens import tokens_of
from fairseq_struct.data.datasets.token_streams import TokenStreams
from fairseq_struct.data.prepared.vocabulary.dictionary_file import check_dictionary
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import option_name, require_at_least
from fairseq_struct.tasks.shared.strict_task import StrictTask

logger = logging.getLogger(__name__)


# Options of language_modeling that nothing here reads.
NOT_OF_STREAMS = (
    "sample_break_mode", "output_dictionary_size", "self_target", "future_target", "past_target",
    "add_bos_token", "max_target_positions", "shorten_method", "pad_to_fixed_length",
    "pad_to_fixed_bsz",
)  # fmt: skip


@dataclass
class RecurrentLanguageModelingConfig(LanguageModelingConfig):
    """Fairseq's options of ``language_modeling``, and options of truncated backpropagation.

    Those of :data:`NOT_OF_STREAMS` must keep their defaults.
    """

    tokens_per_sample: int = field(
        default=70, metadata={"help": "tokens per window; gradients stop at its start"}
    )
    fixed_windows: bool = field(
        default=False,
        metadata={
            "help": "give all training windows the same size; by default the size varies, and the "
            "learning rate with it (Merity et al., 2018)"
        },
    )
    train_subset: str = II("dataset.train_subset")


@register_task("recurrent_language_modeling", dataclass=RecurrentLanguageModelingConfig)
class RecurrentLanguageModelingTask(StrictTask, LanguageModelingTask):
    """Truncated backpropagation through time on the data of ``--task language_modeling``.

    The corpus is cut into ``--batch-size`` streams (``--batch-size-valid`` for validation) per
    worker. The streams are read window by window. Each window starts from the model's state after
    the window before. A checkpoint holds the states of all workers, so a resumed training continues
    where it stopped. Two workers make the same updates as one worker with twice the streams (not as
    one worker with ``--update-freq 2``, which reads two windows of the same streams).

    Raises:
        InputError: a missing file or option, or an option that does not fit (on use).
    """

    own_criterion = "recurrent_language_modeling"
    carries_state = True
    averages = True  # this task starts the averaging of an optimizer that averages weights
    kind_of_models = "on_lstm_lm and awd_lstm_lm"

    def __init__(self, args, dictionary, output_dictionary=None, targets=None):
        super().__init__(args, dictionary, output_dictionary, targets)
        self._state = self._validated = None  # after the last window, in training and validation
        self._shares: list[float] = []  # window sizes / full size, since the last update
        self._averaging, self._begins = None, True
        self._shards, self._shard, self._subset = 1, 0, 0
        self._model = None  # the model of the last validation
        require_at_least(args, 1, "tokens_per_sample")
        for name in NOT_OF_STREAMS:
            if getattr(args, name, None) not in (None, getattr(LanguageModelingConfig, name)):
                raise InputError(
                    f"{option_name(name)} is for --task language_modeling; this task reads the "
                    "text as streams"
                )

    @classmethod
    def setup_dictionary(cls, args, **kwargs):
        """Load the dictionary.

        Raises:
            InputError: the dictionary is missing or damaged, or another shard has another one.
        """
        if args.data:
            check_dictionary(shard(args.data) / "dict.txt")
            check_shards(args.data, ["dict.txt"])
        return super().setup_dictionary(args, **kwargs)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **_):
        """Load a split; with several folders, that of this epoch.

        Raises:
            InputError: the split is missing or empty, or has several parts.
        """
        path = shard(self.args.data, epoch) / split
        tokens = tokens_of(load_lines(path, self.dictionary, self.args.dataset_impl, combine))
        vary = self.trains_on(split) and not self.args.fixed_windows
        self.datasets[split] = TokenStreams(
            tokens, self.dictionary.pad(), self.dictionary.eos(), self.args.tokens_per_sample, vary,
            self.args.seed,
        )  # fmt: skip

    def get_batch_iterator(
        self, dataset, max_tokens=None, max_sentences=None, seed=1, num_shards=1, shard_id=0,
        num_workers=0, epoch=1, data_buffer_size=0, **options,
    ):  # fmt: skip
        """Windows in the order of the text; ``max_tokens`` does not count.

        Raises:
            InputError: ``--batch-size`` is not given.
        """
        if not isinstance(dataset, TokenStreams):
            return super().get_batch_iterator(
                dataset, max_tokens=max_tokens, max_sentences=max_sentences, seed=seed,
                num_shards=num_shards, shard_id=shard_id, num_workers=num_workers, epoch=epoch,
                data_buffer_size=data_buffer_size, **options,
            )  # fmt: skip
        if not max_sentences:
            raise InputError(
                "--task recurrent_language_modeling needs --batch-size, the number of streams"
            )
        dataset = copy.copy(dataset)  # validation may read the training split in other streams
        dataset.arrange(max_sentences, num_shards)
        dataset.set_epoch(epoch)
        self._shards, self._shard = num_shards, shard_id
        return iterators.EpochBatchIterator(
            dataset=dataset, collate_fn=dataset.collater,
            batch_sampler=[[i] for i in range(len(dataset))], seed=seed, num_shards=num_shards,
            shard_id=shard_id, num_workers=num_workers, epoch=epoch, buffer_size=data_buffer_size,
            disable_shuffling=True, persistent_workers=False,
        )  # fmt: skip

    def build_generator(self, *_, **__):
        """Refuse generation: windows are not sentences that a model can continue.

        Raises:
            InputError: always.
        """
        raise InputError(
            "fairseq-generate and fairseq-interactive need --task language_modeling; "
            "fairseq-generate also needs --sample-break-mode eos"
        )

    def eval_lm_dataloader(self, *_, **__):
        """Refuse fairseq-eval-lm: it would start every window from a zero state.

        Raises:
            InputError: always.
        """
        raise InputError(
            "fairseq-eval-lm needs --task language_modeling, with samples of whole sentences or of "
            "many tokens; with this task use fairseq-validate, which carries the state"
        )

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Forward and backward pass on a window; starts from the carried state and updates it."""
        inner = _inner(model)
        averaging = optimizer if hasattr(optimizer, "use_average") else None
        self._averaging = averaging
        if self._begins and update_num == 0:
            inner.progress.clear()  # it belongs to the pretraining of a model that is fine-tuned
        self._begins = False
        if averaging is not None:
            self._look_at_validation(inner, averaging)
            averaging.use_average(False)
        if all(weight.grad is None for weight in model.parameters()):
            self._shares = []  # an update begins; the last one may have been skipped (fp16)
        if "first" in sample:
            before = None if sample["first"] else self._carried(inner, sample["nsentences"])
            sample["net_input"]["state"] = before
            self._shares.append(sample["share"])
        result = super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)
        if "first" in sample:
            self._state = sample.pop("state_after")
        if self._state is not None:
            # Gathered here, in a step of all workers, as only the first writes checkpoints; and not
            # after the update, which fp16 may skip.
            inner.progress["state"] = self._state if self._shards == 1 else tuple(
                tuple(_of_all_workers(part) for part in parts) for parts in self._state
            )  # fmt: skip
        return result

    def reduce_metrics(self, logging_outputs, criterion):
        """Log what the criterion logs, and sum the validation loss that averaging depends on."""
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training or self._subset != 1:  # further validation subsets do not count
            return
        sums = self._model.progress.setdefault("validation", [0.0, 0.0])
        for log in logging_outputs:  # of all workers
            sums[0] += float(log["loss"])
            sums[1] += float(log["sample_size"])

    def valid_step(self, sample, model, criterion):
        """Losses of a window, from the state after the window before."""
        if "first" not in sample:
            return super().valid_step(sample, model, criterion)
        if sample["first"]:
            self._subset += 1
            self._validated = None
        sample["net_input"]["state"] = self._validated
        self._model = _inner(model)
        result = super().valid_step(sample, model, criterion)
        self._validated = sample.pop("state_after")
        return result

    def begin_valid_epoch(self, epoch, model):
        """Switch to the averaged weights; checkpoints written after validation contain them."""
        self._subset = 0
        _inner(model).progress.pop("validation", None)
        if self._averaging is not None:
            self._averaging.use_average(True)

    def optimizer_step(self, optimizer, model, update_num):
        """Take a step; the learning rate is scaled by the windows' size relative to full size."""
        rate, shares = optimizer.get_lr(), self._shares or [1.0]
        optimizer.set_lr(rate * sum(shares) / len(shares))
        super().optimizer_step(optimizer, model, update_num)
        optimizer.set_lr(rate)
        self._shares = []

    def _carried(self, model, streams: int):
        """The state after the last window; from the checkpoint if training has just begun."""
        state = model.progress.get("state") if self._state is None else None
        if state is not None and len(state[0][0]) != streams * self._shards:
            logger.warning(
                "the number of streams changed (--batch-size): the state starts from zeros"
            )
        elif state is not None:
            # Checkpoints hold float32 in place of the half precision of --fp16, with equal values.
            like = next(model.parameters())
            own = slice(self._shard * streams, (self._shard + 1) * streams)
            self._state = tuple(tuple(part[own].to(like) for part in parts) for parts in state)
        return self._state

    def _look_at_validation(self, model, optimizer):
        """Pass the loss of a finished validation to the optimizer."""
        sums = model.progress.pop("validation", None)
        if sums is not None and sums[1]:
            losses = model.progress.setdefault("losses", [])
            losses.append(sums[0] / sums[1])
            optimizer.validated(losses)


def _of_all_workers(part: torch.Tensor) -> torch.Tensor:
    """Concatenate the workers' parts (streams, size) to (workers * streams, size)."""
    group = distributed_utils.get_data_parallel_group()
    parts = [torch.empty_like(part) for _ in range(distributed_utils.get_world_size(group))]
    torch.distributed.all_gather(parts, part.contiguous(), group=group)
    return torch.cat(parts)


def _inner(model):
    """The model itself, without the wrappers of distributed training."""
    while not hasattr(model, "progress") and hasattr(model, "module"):
        model = model.module
    if not hasattr(model, "progress"):
        raise InputError(
            "--task recurrent_language_modeling is for on_lstm_lm and awd_lstm_lm, not for "
            f"{type(model).__name__}"
        )
    return model
