"""Classification of images by undirected networks."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional  # fairseq cannot read "str | None"

import numpy as np
from fairseq.tasks import FairseqTask, register_task

from fairseq_struct.data.datasets.labelled_images import LabelledImages
from fairseq_struct.data.readers.idx import image_size, read_images, read_labels
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.files.text_files import json_file
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.tasks.shared.strict_task import StrictTask, TrainedConfig

SPLITS = ("train", "valid", "test")
# The file of an exported model that replaces the training images.
SIZES = "images.json"
# 10,000 of the 60,000 training images of MNIST, as in the code of Mihaylova's thesis.
HELD_OUT = 6


@dataclass
class ImageClassificationConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={"help": "folder with the four idx files of MNIST's names, gzipped or not"},
    )
    held_out: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "training images held out as the split valid (default: a sixth of them: 10,000 "
            "of MNIST)"
        },
    )
    split_seed: int = field(
        default=1, metadata={"help": "seed of the choice of these images, apart from --seed"}
    )


@register_task("image_classification", dataclass=ImageClassificationConfig)
class ImageClassificationTask(StrictTask, FairseqTask):
    """Classification of grey images, as of MNIST, and images of the labels.

    Use it with the criterion of the same name. Subsets are ``train``, ``valid``, which is held out
    from the training images, and ``test``.

    Args:
        cfg: the options.

    Attributes:
        image_shape: (1, height, width).
        label_count: labels are 0 to the highest one of the training images.

    Raises:
        InputError: an idx file is missing or malformed, or a number is out of range.
    """

    own_criterion = "image_classification"
    kind_of_models = "networks of images such as undirected_convnet"

    def __init__(self, cfg: ImageClassificationConfig):
        super().__init__(cfg)
        if not cfg.data:
            raise InputError("the task needs a folder with idx files of images and labels")
        require_at_least(cfg, 0, "split_seed")
        if (Path(cfg.data) / SIZES).is_file():
            self.image_shape, self.label_count, self.held_out = _sizes(Path(cfg.data) / SIZES)
            return
        labels = read_labels(cfg.data, "train")
        if not len(labels):
            raise InputError(f"{cfg.data}: the split train has no images")
        self.image_shape = (1, *image_size(cfg.data, "train"))
        self.label_count = int(labels.max()) + 1
        if self.label_count < 2:
            raise InputError(f"{cfg.data}: all training images have the label 0")
        self.held_out = len(labels) // HELD_OUT if cfg.held_out is None else cfg.held_out
        if not 0 < self.held_out < len(labels):
            raise InputError(
                f"--held-out must leave some of {len(labels)} training images, and hold out one or "
                f"more, not {self.held_out}"
            )

    def save_for_models(self, folder: Path):
        """Write the sizes, which an exported model needs of the images."""
        sizes = {"image_shape": self.image_shape, "labels": self.label_count,
                 "held_out": self.held_out}  # fmt: skip
        (folder / SIZES).write_text(json.dumps(sizes) + "\n")

    @classmethod
    def setup_task(cls, cfg: ImageClassificationConfig, **kwargs):
        """Build the task."""
        return cls(cfg)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a subset.

        Raises:
            InputError: there is no such subset, a file is malformed, or the images or labels are
                not like those of the training images.
        """
        if split not in SPLITS:
            raise InputError(unknown_name("split", split, SPLITS))
        folder = Path(self.cfg.data)
        images, labels = read_images(folder, "test" if split == "test" else "train")
        if images.shape[1:] != self.image_shape[1:]:
            sizes = [" by ".join(map(str, shape)) for shape in
                     (images.shape[1:], self.image_shape[1:])]  # fmt: skip
            raise InputError(f"{folder}: images of {split} have {sizes[0]} pixels, not {sizes[1]}")
        if labels.max() >= self.label_count:
            raise InputError(f"{folder}: the label {labels.max()} of {split} is not in train")
        if split != "test":
            places = np.random.default_rng(self.cfg.split_seed).permutation(len(images))
            held = places[: self.held_out] if split == "valid" else places[self.held_out :]
            images, labels = images[np.sort(held)], labels[np.sort(held)]
        self.datasets[split] = LabelledImages(
            images, labels, shuffle=self.trains_on(split), seed=self.cfg.seed
        )


def _sizes(path: Path) -> tuple[tuple[int, ...], int, int]:
    """Shape of the images, number of labels, and images held out, of an exported model."""
    with json_file(path, remedy="") as found:
        shape = tuple(map(int, found["image_shape"]))
        if len(shape) != 3:
            raise ValueError
        return shape, int(found["labels"]), int(found["held_out"])
