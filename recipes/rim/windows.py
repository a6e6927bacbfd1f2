"""How often composers look at the right span, for tables TC4.1 to TC4.4 and figure FC4.1.

``window_W`` is the share of steps whose largest combined attention is unique, and within the gold
span or at most W symbols outside it; before each step, all earlier ones are the gold ones.
``_single`` is over steps of one word, ``_multi`` over the others, ``_NP`` over noun phrases, …;
``_sentence`` is the mean over sentences. The network is that of the last epoch.
"""

import torch
from scored_runs import publish_runs
from test_part import TestPart

from fairseq_struct.metrics.window_accuracy import window_hits


def metrics_of(tool, log, test: TestPart) -> dict[str, float]:
    """Metrics of a record."""
    metrics = accuracies_of(tool.model, tool.words.pad(), test)
    metrics["window_0_valid"] = log.value("valid", max(log.splits["valid"]), "window_0")
    return metrics


@torch.inference_mode()
def accuracies_of(model, padding: int, test: TestPart) -> dict[str, float]:
    """Window accuracies of a composer."""
    accuracy = test.no_accuracy()
    for given, sentences in test.batches(padding):
        done = model(**given)
        flat = (values.flatten(0, 1) for values in (done.attention, done.live, done.spans))
        hits = window_hits(*flat).unflatten(0, done.going.shape)
        tags = test.padded(test.tags[1], sentences)
        accuracy.add(hits, tags, done.spans.sum(2) == 1, done.going)
    return test.metrics_of(accuracy)


if __name__ == "__main__":
    publish_runs(__doc__.split("\n")[0], metrics_of)
