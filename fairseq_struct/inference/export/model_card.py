"""The model card: ``README.md`` with a head in YAML, as Hugging Face's hub shows it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from fairseq_struct.records.results import Result

# Metrics of records whose names the hub knows, by how the records' names begin.
KNOWN_METRICS = {"bleu": "bleu", "accuracy": "accuracy", "f1": "f1", "perplexity": "perplexity",
                 "ppl": "perplexity"}  # fmt: skip
LANGUAGE = re.compile(r"[a-z]{2,3}")
# What the hub calls the tasks.
HUB_TASKS = {"translation": "translation", "structured_classification": "text-classification",
             "structured_masked_lm": "fill-mask", "dependency_parsing": "token-classification",
             "image_classification": "image-classification"}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """What a card tells.

    Attributes:
        name: name of the model, its folder's.
        config: the entries of its ``config.json``.
        manifest: the manifest of the prepared data; may be empty.
        parameters: number of parameters.
        usage: how it is loaded, lines of Python.
        notes: further paragraphs.
        library: the library that loads it.
        record: the record of its results, or None.
    """

    name: str
    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    parameters: int
    usage: tuple[str, ...]
    notes: tuple[str, ...] = ()
    library: str = "fairseq-struct"
    record: Result | None = None

    @property
    def task(self) -> str:
        """Name of the task."""
        return self.config["task"]["_name"]

    @property
    def languages(self) -> list[str]:
        """Codes of the languages of a translation model."""
        places = (self.manifest, self.config["task"])
        names = ("source_lang", "target_lang")
        found = [next((p[n] for p in places if p.get(n)), None) for n in names]
        return [code for code in found if isinstance(code, str) and LANGUAGE.fullmatch(code)]


def count_of(model: nn.Module) -> int:
    """Number of parameters; tied ones count once."""
    return sum(value.numel() for value in model.parameters())


def model_card(about: Described) -> str:
    """Write the card as Markdown; its last line tells whether it was edited since."""
    text = "\n".join([*_head(about), *_body(about)]) + "\n"
    return f"{text}\n{_seal(text)}\n"


def is_edited(card: bytes) -> bool:
    """Whether a file is anything else than a card as :func:`model_card` wrote it."""
    try:
        text, _, seal = card.decode().rpartition("\n<!--")
    except UnicodeDecodeError:
        return True
    return f"<!--{seal}" != f"{_seal(text)}\n"


def _seal(text: str) -> str:
    """A comment that no reader of the card sees."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"<!-- as exported; an edited card is kept by --overwrite (SHA-256 {digest}) -->"


def _head(about: Described) -> list[str]:
    """The front matter. JSON strings are YAML strings."""
    lines = ["---", "# license: state here under which licence the weights may be used",
             f"library_name: {about.library}"]  # fmt: skip
    tags = ["fairseq-struct", "fairseq", about.config["architecture"].replace("_", "-")]
    lines += ["tags:", *(f"- {json.dumps(tag)}" for tag in tags)]
    if about.languages:
        lines += ["language:", *(f"- {json.dumps(code)}" for code in about.languages)]
    kind = HUB_TASKS.get(about.task)
    if kind:
        lines.append(f"pipeline_tag: {kind}")
    metrics = dict.fromkeys(filter(None, map(_known_metric, _scores(about.record))))
    if metrics:
        lines += ["metrics:", *(f"- {name}" for name in metrics)]
    if about.record is not None:
        lines += _index(about, kind or "other")
    return [*lines, "---", ""]


def _index(about: Described, kind: str) -> list[str]:
    """The scores as the hub reads them."""
    record = about.record
    lines = [
        "model-index:", f"- name: {json.dumps(about.name)}", "  results:", "  - task:",
        f"      type: {kind}", "    dataset:", f"      name: {json.dumps(record.data)}",
        f"      type: {json.dumps(record.experiment)}", "    metrics:",
    ]  # fmt: skip
    for name, value in _scores(record).items():
        lines += [f"    - type: {_known_metric(name) or json.dumps(name)}",
                  f"      name: {json.dumps(name)}", f"      value: {value}"]  # fmt: skip
    return lines


def _body(about: Described) -> list[str]:
    config, facts = about.config, about.config["training"]
    lines = [
        f"# {about.name}", "",
        f"A model of the architecture `{config['architecture']}` with {about.parameters:,} "
        f"parameters, trained on the task `{about.task}` of fairseq and fairseq-struct.", "",
        "## Use", "", "```python", *about.usage, "```", "",
    ]  # fmt: skip
    for note in about.notes:
        lines += [note, ""]
    lines += ["## Data", "", *_data(about), "", "## Training", "", "| | |", "| --- | --- |",
              f"| seed | {facts['seed']} |", f"| updates | {facts['updates']} |"]  # fmt: skip
    if facts["epoch"]:
        lines.append(f"| epoch | {facts['epoch']} |")
    lines += [f"| {name.replace('_', ' ')} | {_cell(value)} |"
              for name, value in facts["options"].items()]  # fmt: skip
    if facts["best"]:
        best = facts["best"]
        lines.append(f"| best validation | {best['metric']} {best['value']} |")
    lines.append("")
    if about.record is not None:
        lines += _results(about.record)
    return [*lines, "## Files", "", *_files(config)]


def _data(about: Described) -> list[str]:
    told = []
    if about.record is not None and about.record.data:
        told.append(about.record.data.rstrip(".") + ".")
    manifest, task = about.manifest, about.config["task"]
    if manifest.get("corpus"):
        told.append(f"Corpus: {manifest['corpus']}.")
    if manifest.get("preparation"):
        told.append(f"Prepared by fairseq-struct as: {manifest['preparation']}.")
    if manifest.get("generator"):
        told.append(_generated(manifest))
    if "data" not in task:
        options = {name: value for name, value in task.items() if name != "_name"}
        told += [f"Drawn by the task `{about.task}` during training, with these options:", "",
                 *_json(options)]  # fmt: skip
    for name in ("provenance", "options", "splits"):
        if isinstance(manifest.get(name), dict) and manifest[name]:
            told += ["", f"{name.capitalize()} of the preparation:", "", *_json(manifest[name])]
    return told or ["The checkpoint does not say; describe the training data here."]


def _generated(manifest: Mapping[str, Any]) -> str:
    """What drew the corpus, and its seed."""
    entries = [manifest.get(name) for name in ("provenance", "options")]
    seeds = [one["seed"] for one in entries if isinstance(one, dict) and "seed" in one]
    seed = f" with the seed {seeds[0]}" if seeds else ""
    return f"Drawn by the generator `{manifest['generator']}`{seed}."


def _json(value: Any) -> list[str]:
    return ["```json", json.dumps(value, indent=1, ensure_ascii=False), "```"]


def _results(record: Result) -> list[str]:
    lines = [f"## Results of `{record.experiment}`, `{record.variant}`", "",
             "| metric | value | the paper's |", "| --- | --: | --: |"]  # fmt: skip
    for name, value in _scores(record).items():
        lines.append(f"| {name} | {value} | {record.paper.get(name, '')} |")
    scale = "" if record.scale == "paper" else " The experiment is a reduced one of the paper's."
    return [*lines, "", f"Trained in {record.minutes:g} minutes on {record.device}.{scale}", "",
            "```sh", record.command, "```", ""]  # fmt: skip


def _files(config: Mapping[str, Any]) -> list[str]:
    lines = ["| file | bytes | SHA-256 |", "| --- | --: | --- |"]
    lines += [f"| {name} | {entry['size']} | {entry['sha256']} |"
              for name, entry in config["files"].items()]  # fmt: skip
    return lines


def _scores(record: Result | None) -> dict[str, float]:
    return {} if record is None else record.metrics


def _known_metric(name: str) -> str | None:
    return next((hub for begin, hub in KNOWN_METRICS.items() if name.startswith(begin)), None)


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
