"""Training steps with vocabularies of growing size: milliseconds and peak memory.

A step is forward, backward and Adam, on one thread, of models as small as the presets for a CPU:
``on_lstm_lm`` with a softmax and with an adaptive one (both with output weights of their own),
``udgn``, and the Transformer of scheduled sampling with teacher forcing. Words are drawn by Zipf's
law from the whole vocabulary, so that many clusters of the adaptive softmax are in each batch.

Every number is measured in a process of its own, in several rounds over all sizes and models.
``milliseconds`` is the median of two steps of each round, after an untimed one. ``mib`` is the
peak of that process beyond its start: weights, gradients, Adam's moments, and what the step keeps
for the backward pass. ``growth`` are the exponents of time and memory over the sizes, by least
squares of their logarithms: 1 is linear, 0 constant.

    python recipes/benchmarks/scale/vocabulary.py [--sizes 10000 100000] [--rounds 3] [--append]
"""

import argparse
import math
import multiprocessing
import re
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import Dictionary
from fairseq.optim.adam import FairseqAdam
from measuring import exponent, record
from torch import Tensor

from fairseq_struct.criterions.recurrent_language_modeling import RecurrentLanguageModelingCriterion
from fairseq_struct.criterions.structured_masked_lm import StructuredMaskedLMCriterion
from fairseq_struct.models.recurrent.on_lstm_lm import ONLSTMConfig, ONLSTMLanguageModel
from fairseq_struct.models.scheduled_sampling_presets import tiny
from fairseq_struct.models.scheduled_sampling_transformer import ScheduledSamplingTransformer
from fairseq_struct.models.udgn import UDGNConfig, UDGNModel
from fairseq_struct.records.results import benchmark_name

SIZES = (10_000, 20_000, 50_000, 100_000)
CUTOFFS = (2000, 20_000)
STREAMS, WINDOW = 10, 70
SENTENCES, LENGTH, MASK_RATE = 30, 25, 0.3


def task_of(vocabulary: int) -> Namespace:
    """What models and criterions read of a task: a dictionary of that many words."""
    words = Dictionary()
    for number in range(vocabulary - len(words)):
        words.add_symbol(f"w{number}")
    return Namespace(
        source_dictionary=words, target_dictionary=words, own_criterion="structured_masked_lm"
    )


def drawn(vocabulary: int, *shape: int) -> Tensor:
    """Words by Zipf's law; the dictionary has them in the order of their frequency."""
    first = Dictionary().nspecial
    weights = 1 / torch.arange(1, vocabulary - first + 1, dtype=torch.float64)
    chosen = torch.multinomial(weights, math.prod(shape), True)
    return chosen.view(shape) + first


def language_model(task: Namespace, **options):
    """The model of ``on_lstm_lm_cpu``, and its loss on a window."""
    cfg = ONLSTMConfig(
        embed_dim=200, hidden_size=400, layers=3, untied=True, dropout_words=0.05,
        dropout_embedding=0.2, dropout_between=0.2, dropout_output=0.2, dropout_weights=0.2,
        **options,
    )  # fmt: skip
    text = drawn(len(task.source_dictionary), STREAMS, WINDOW + 1)
    sample = {
        "net_input": {"src_tokens": text[:, :-1]}, "target": text[:, 1:],
        "ntokens": STREAMS * WINDOW, "nsentences": STREAMS,
    }  # fmt: skip
    criterion = RecurrentLanguageModelingCriterion(task, 2.0, 1.0, False)
    return ONLSTMLanguageModel.build_model(cfg, task), criterion, sample


def adaptive(task: Namespace):
    """The same model with an adaptive softmax."""
    cutoffs = [cutoff for cutoff in CUTOFFS if cutoff < len(task.source_dictionary)]
    return language_model(task, adaptive_softmax_cutoff=",".join(map(str, cutoffs)))


def masked(task: Namespace):
    """The model of ``udgn_cpu``, and its loss on sentences with hidden words."""
    cfg = UDGNConfig(
        embed_dim=128, layers=4, channels=8, channel_size=32, parser_size=128, parser_layers=2
    )
    words = drawn(len(task.source_dictionary), SENTENCES, LENGTH)
    hidden = torch.rand(words.shape) < MASK_RATE
    hidden[:, 0] = True
    given = {
        "tokens": words.masked_fill(hidden, task.source_dictionary.unk()), "hidden": hidden,
        "lengths": torch.full((SENTENCES,), LENGTH),
    }  # fmt: skip
    sample = {
        "net_input": given, "target": words[hidden], "ntokens": int(hidden.sum()),
        "nsentences": SENTENCES,
    }  # fmt: skip
    return UDGNModel.build_model(cfg, task), StructuredMaskedLMCriterion(task), sample


def translation(task: Namespace):
    """The model of ``scheduled_sampling_transformer_cpu`` while all words are gold."""
    arguments = Namespace(schedule="constant", schedule_k=1.0)
    tiny(arguments)
    size = len(task.source_dictionary)
    source, target = (drawn(size, SENTENCES, LENGTH) for _ in range(2))
    target[:, -1] = task.target_dictionary.eos()
    given = {
        "src_tokens": source, "src_lengths": torch.full((SENTENCES,), LENGTH),
        "prev_output_tokens": target.roll(1, 1),
    }  # fmt: skip
    sample = {"net_input": given, "target": target, "ntokens": target.numel()}
    model = ScheduledSamplingTransformer.build_model(arguments, task)
    return model, LabelSmoothedCrossEntropyCriterion(task, False, 0.1), sample


WAYS: dict[str, Callable] = {
    "on_lstm_lm": language_model,
    "on_lstm_lm_adaptive": adaptive,
    "udgn": masked,
    "transformer": translation,
}


def highest() -> float:
    """The largest memory of this process so far, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def measure(way: str, vocabulary: int, answer) -> None:
    """Send the seconds of two steps, and the growth of this process in MiB."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    task, before = task_of(vocabulary), highest()
    model, criterion, sample = WAYS[way](task)
    options = Namespace(
        lr=[1e-4], adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, use_old_adam=False,
        fp16_adam_stats=False, tpu=False,
    )  # fmt: skip
    optimizer = FairseqAdam(options, list(model.parameters()))
    model.train()
    criterion.train()
    seconds = []
    for number in range(3):
        start = time.perf_counter()
        model.set_num_updates(number)
        loss, count, _ = criterion(model, sample)
        (loss / count).backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - start)
    answer.send((seconds[1:], highest() - before))


def measured(way: str, vocabulary: int) -> tuple[list[float], float]:
    """:func:`measure` in a process of its own, which has imported what this one has."""
    forked = multiprocessing.get_context("fork")
    mine, its = forked.Pipe(duplex=False)
    one = forked.Process(target=measure, args=(way, vocabulary, its))
    one.start()
    its.close()
    try:
        return mine.recv()
    except EOFError:
        raise SystemExit(f"{way} with {vocabulary} words failed") from None
    finally:
        one.join()


def row_of(found: dict[int, list[tuple[list[float], float]]]) -> dict[str, float]:
    """Metrics of a model: its rounds for each size."""
    row, memory = {}, {}
    times, peaks = [], []
    for vocabulary, rounds in found.items():
        times.append(median(second for each, _ in rounds for second in each))
        peaks.append(median(peak for _, peak in rounds))
        row[f"milliseconds_{vocabulary}"] = round(1000 * times[-1])
        # Those between would make the table too wide; the exponent has all.
        if vocabulary in (min(found), max(found)):
            memory[f"mib_{vocabulary}"] = round(peaks[-1])
    row |= memory
    if len(found) > 1:
        row["growth_time"] = exponent(list(found), times)
        row["growth_memory"] = exponent(list(found), peaks)
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of words")
    options.add_argument("--rounds", type=int, default=3, help="processes for each number")
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    setting = options.parse_args()
    if min(setting.sizes) <= min(CUTOFFS) or setting.rounds < 1:
        options.error(f"sizes must be above {min(CUTOFFS)}, and rounds 1 or more")
    found = {way: {size: [] for size in setting.sizes} for way in WAYS}
    for number in range(setting.rounds):
        for size in setting.sizes:
            for way in WAYS:
                seconds, mib = measured(way, size)
                found[way][size].append((seconds, mib))
                print(number + 1, size, way, f"{1000 * median(seconds):.0f} ms, {mib:.0f} MiB",
                      flush=True)  # fmt: skip
    sizes = " ".join(map(str, setting.sizes))
    record(
        benchmark_name("vocabulary", 1), {way: row_of(rounds) for way, rounds in found.items()},
        f"training step; language model {STREAMS} x {WINDOW} words, cutoffs "
        f"{','.join(map(str, CUTOFFS))}; others {SENTENCES} x {LENGTH}, {MASK_RATE:.0%} hidden",
        f"python recipes/benchmarks/scale/vocabulary.py --sizes {sizes} "
        f"--rounds {setting.rounds} --append", 1, setting.append,
    )  # fmt: skip


if __name__ == "__main__":
    main()
