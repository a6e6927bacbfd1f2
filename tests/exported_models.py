"""Everything that a trained model says, as numbers and words that can be compared exactly."""

from dataclasses import fields, is_dataclass
from pathlib import Path

import nltk
import numpy as np
import torch
from stored_models import MODELS, SENTENCES, SEQUENCES, STORED

from fairseq_struct.errors import InputError
from fairseq_struct.inference.registry import ABILITIES, tool_for
from fairseq_struct.inference.restoring import restore
from fairseq_struct.structure.inferred_trees import CONSTITUENTS

LISTS = ("[MAX 2 9 [MIN 4 7 ] 0 ]", "[MIN 3 1 ]")
PAIRS = [(sentence, sentence[::-1]) for sentence in SENTENCES]


def checkpoint_of(arch: str) -> tuple[Path, Path | None]:
    """A stored checkpoint, and the folder of its dictionaries."""
    data = MODELS[arch][0]
    return STORED / f"{arch}.pt", STORED / data / "data-bin" if data else None


def said_by(path: Path, data: Path | None = None, training: bool = False) -> dict:
    """What the tools of a model say about a few inputs, by ability; and its parameters.

    The model may be in ``training``, and is so afterwards.
    """
    found = restore(path, data)
    if getattr(found.model, "gold_kind", None) == CONSTITUENTS:
        found.task.formulas = "listops"  # this model reads gold trees
    said = {}
    for ability in ABILITIES:
        try:
            tool = tool_for(found.model, [ability])
        except InputError:
            continue
        options = {"segmented": True} if ability == "translate" else {}
        tool = tool.build(found.model, found.task, batch_words=100, **options)
        if ability in _ASK:
            found.model.train(training)
            said[ability] = plain(_ASK[ability](tool))
            assert found.model.training == training
    parameters = found.model.state_dict().items()
    said["parameters"] = {k: plain(v) for k, v in parameters if not k.endswith("_extra_state")}
    return said


def _of_images(tool):
    images = np.arange(3 * 144, dtype=np.uint8).reshape(3, 12, 12)
    return tool.classify_images(images), tool.prototypes(2)


def _of_instances(tool):
    sentences = LISTS if tool.formulas else SENTENCES
    return list(tool.analyse(PAIRS if tool.sides == 2 else sentences))


_ASK = {
    "parse": lambda tool: list(tool.trees(SENTENCES)) if tool.tree_kind else None,
    "classify": _of_instances,
    "translate": lambda tool: list(tool.translations(SENTENCES, n_best=3)),
    "score": lambda tool: list(tool.score(SENTENCES)),
    "complete": lambda tool: list(tool.completed(SEQUENCES)),
    "images": _of_images,
    "rollout": lambda tool: tool.rollout(episodes=4),
}


def plain(value):
    """The same values as lists, dictionaries, bytes and words."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, nltk.Tree):
        return str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value], plain(getattr(value, "__dict__", None))
    if callable(value):
        return None
    if hasattr(value, "__dict__") and type(value).__module__.startswith("fairseq_struct"):
        return plain(vars(value))
    return value
