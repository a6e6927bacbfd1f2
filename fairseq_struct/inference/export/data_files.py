"""The files of a prepared folder that a trained model needs, as a part of its export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fairseq_struct.data.prepared.manifest import FILES, MANIFEST, read_manifest, write_manifest
from fairseq_struct.data.prepared.vocabulary.subwords import BytePairEncoding, SentencePiece
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_text
from fairseq_struct.inference.export.layout import DATA, DATA_BIN, ENCODER

# Dictionaries and settings, such as whether words are lower-cased. A task that needs something else
# of its data writes it with a method ``save_for_models(folder)``.
OF_DATA_BIN = ("dict*.txt", "*.json")
OF_SEGMENTATION = (BytePairEncoding.file_name, SentencePiece.file_name, "vocabulary.*")
# In the encoder's own config.json; :class:`.PretrainedEncoder` reads it.
WEIGHTS_ELSEWHERE = "weights_elsewhere"
NO_WEIGHTS = (".bin", ".safetensors", ".h5", ".msgpack", ".pt", ".pth", ".ot", ".onnx", ".py")


def write_data_files(task, data: str | None, folder: Path) -> dict:
    """Copy dictionaries, segmentation model and manifest into an export.

    The manifest is that of the prepared folder, with the files that are left of it.

    Args:
        task: the task of the model.
        data: its folder ``data-bin``; None for a task without data.
        folder: the folder of the export.

    Returns:
        The manifest; empty if the data were not prepared by this package.
    """
    if data is None:
        return {}
    place, out = Path(data), folder / DATA_BIN
    out.mkdir(parents=True)
    if hasattr(task, "save_for_models"):
        task.save_for_models(out)
    else:
        _copy(place, OF_DATA_BIN, out)
    above = place.absolute().parent
    manifest = read_manifest(above) or read_manifest(place)
    if manifest is None:
        return {}
    _copy(above, OF_SEGMENTATION, folder / DATA)
    entries = {name: value for name, value in manifest.items() if name != FILES}
    return write_manifest(folder / DATA, entries)


def write_encoder_files(encoder: str | None, folder: Path):
    """Copy configuration and tokenizer of a pretrained encoder; its weights are in the model's.

    Raises:
        InputError: the folder of the encoder does not exist.
    """
    if not encoder:
        return
    if not Path(encoder).is_dir():
        raise InputError(f"{encoder}: no such folder, but the tokenizer must be in it")
    (folder / ENCODER).mkdir()
    for path in sorted(Path(encoder).iterdir()):
        if path.is_file() and path.suffix not in NO_WEIGHTS and not path.name.startswith("."):
            shutil.copyfile(path, folder / ENCODER / path.name)
    config = folder / ENCODER / "config.json"
    entries = json.loads(read_text(config))
    config.write_text(json.dumps({**entries, WEIGHTS_ELSEWHERE: True}, indent=2) + "\n")


def _copy(source: Path, patterns: tuple[str, ...], target: Path):
    for pattern in patterns:
        for path in sorted(source.glob(pattern)):
            if path.is_file() and path.name != MANIFEST:
                shutil.copyfile(path, target / path.name)
