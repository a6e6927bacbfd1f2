"""Stored checkpoints of an earlier version, one per architecture, with their outputs.

``python tests/stored_models.py`` trains all of them again. Run it for a new architecture only: the
stored files show that later versions load old checkpoints and compute the same numbers.
"""

import contextlib
import io
import json
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from fairseq_commands import USER_DIR, in_this_process, run, write_data_bin
from small_lists import nested_list
from small_treebanks import PARSER, write_treebank

from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.labelled_brackets import Constituent, line_of

STORED = Path(__file__).resolve().parent / "stored"
OUTPUTS = STORED / "outputs.json"
SENTENCES = ("a b c d", "b", "the cats in the house sing", "one two three nine")
SEQUENCES = ("1 2 _ 4 5 6 7 8", "10 _ 8 7 6 _ 4 3 2")
LM = ["--task=recurrent_language_modeling", "--criterion=recurrent_language_modeling",
      "--batch-size=4", "--tokens-per-sample=8", "--embed-dim=8", "--hidden-size=12", "--layers=2"]
MASKED = ["--task=structured_masked_lm", "--criterion=structured_masked_lm", "--embed-dim=8",
          "--layers=2", "--max-tokens=80", "--valid-draws=2"]
LABELS = ["--task=structured_classification", "--criterion=structured_classification",
          "--embed-dim=8", "--hidden-size=8", "--batch-size=8"]
TRANSFORMER = [*LABELS[:2], "--batch-size=8", "--hidden-size=8", "--heads=2",
               "--feedforward-size=8"]
TRANSLATION = ["--task=translation", "--source-lang=src", "--target-lang=tgt",
               "--max-tokens=200", "--encoder-layers=1", "--decoder-layers=1",
               "--encoder-embed-dim=8", "--decoder-embed-dim=8",
               "--encoder-ffn-embed-dim=8", "--decoder-ffn-embed-dim=8"]  # fmt: skip
HEADS = ["--encoder-attention-heads=2", "--decoder-attention-heads=2"]
CRAFT = ["--task=craft_imitation", "--criterion=craft_imitation", "--hidden-size=6",
         "--batch-size=8"]
WORLD = ["--subtasks=BA", "--map-size=5", "--kinds=AB", "--time-limit=20"]
LISTS = ["--task=grammar_induction", "--criterion=grammar_induction", "--batch-size=16",
         "--embed-dim=8"]  # fmt: skip
IMAGES = ["--task=image_classification", "--criterion=image_classification", "--batch-size=16"]
# Architecture: the data it is trained on, and options.
MODELS = {
    "on_lstm_lm": ("language", [*LM, "--chunk-size=4"]),
    "awd_lstm_lm": ("language", LM),
    "udgn": ("language", [*MASKED, "--parser-size=8", "--parser-layers=1", "--parser-tags=3",
                          "--channels=2", "--channel-size=4"]),
    "structformer": ("language", [*MASKED, "--heads=2", "--feedforward-dim=8",
                                  "--longest-sentence=20", "--parser-window=3"]),
    "masked_transformer": ("language", [*MASKED, "--heads=2", "--feedforward-dim=8",
                                        "--longest-sentence=20"]),
    "latent_tree_classifier": ("single", [*LABELS, "--latent-method=spigot"]),
    "latent_tree_classifier_sst": ("single", [*LABELS, "--latent-method=baseline"]),
    "latent_tree_entailment": ("pairs", [*LABELS, "--latent-method=marginals"]),
    "latent_tree_entailment_snli": ("pairs", [*LABELS, "--latent-method=ste_identity"]),
    "recurrent_classifier": ("pairs", [*LABELS, "--chunk-size=4"]),
    "ordered_memory_classifier": ("pairs", [*LABELS, "--slots=4"]),
    "tree_classifier": ("trees", [*LABELS, "--hidden-size=16", "--sides=1"]),
    "tree_classifier_listops": ("trees", [*LABELS, "--hidden-size=16", "--cell=tree_cell"]),
    "beam_tree_classifier": ("pairs", [*LABELS, "--beam=3"]),
    "transformer_classifier": ("pairs", [*TRANSFORMER, "--layers=2"]),
    "transformer_classifier_listops": ("single", [*TRANSFORMER, "--universal"]),
    "latent_tree_transformer": ("translation", [*TRANSLATION, *HEADS, "--parser-hidden-size=8",
                                                "--criterion=latent_tree_translation",
                                                "--latent-method=spigot_ce"]),
    "scheduled_sampling_transformer": ("translation", [*TRANSLATION, *HEADS, "--mix=softmax"]),
    "undirected_convnet": ("images", [*IMAGES, "--first-channels=4", "--second-channels=6",
                                      "--passes=2"]),
    "undirected_mlp": ("images", [*IMAGES, "--hidden-sizes=6,5", "--passes=converge"]),
    "undirected_attention": ("sequences", ["--task=sequence_completion", "--hidden-size=8",
                                           "--criterion=sequence_completion", "--batch-size=16",
                                           "--passes=2"]),
    "undirected_parser": ("treebank", [*PARSER, "--passes=2", "--batch-size=8"]),
    "option_controller": ("demonstrations", [*CRAFT, "--mlp-size=7", "--levels=2"]),
    "mixture_of_experts": ("demonstrations", [*CRAFT, "--mlp-size=7"]),
    "ordered_memory_policy": ("demonstrations", CRAFT),
    "compile_policy": ("demonstrations", CRAFT),
    "option_policy": ("", ["--task=craft_reinforcement", "--criterion=craft_reinforcement",
                           *WORLD, "--hidden-size=6", "--mlp-size=7", "--actors=4",
                           "--decisions=4", "--batch-size=16", "--valid-episodes=30",
                           f"--options-from={STORED / 'option_controller.pt'}"]),
    "rim_composer": ("lists", [*LISTS, "--units=3", "--top-k=2", "--key-size=4", "--layers=2",
                               "--positions=from_right"]),
    "rim_composer_wsj": ("lists", [*LISTS, "--predict-category"]),
    "lstm_composer": ("lists", LISTS),
    "composed_classifier": ("single", [*LABELS, "--composer-data=" + str(STORED / "lists/data-bin"),
                                       f"--composer-from={STORED / 'rim_composer.pt'}"]),
    "latent_clusters": ("", ["--task=latent_clusters", "--criterion=latent_clusters",
                             "--batch-size=64"]),
}  # fmt: skip
COMMON = ["--optimizer=adam", "--lr=0.01", "--num-workers=0", "--no-progress-bar",
          "--log-format=json", "--required-batch-size-multiple=1", "--seed=1",
          f"--user-dir={USER_DIR}"]  # fmt: skip


def outputs_of(arch: str, *device: str, folder: Path = STORED) -> dict:
    """The validation log of a checkpoint, and the output of the verbs that serve its model.

    ``device`` may be an option that names one for the verbs. fairseq takes a GPU that it finds.
    """
    data, options = MODELS[arch]
    place = [str(folder / data / "data-bin")] if data else []
    task = [option for option in options if option.startswith(("--task", "--source", "--target",
                                                               "--criterion", "--batch-size=",
                                                               "--max-tokens"))]  # fmt: skip
    log = run("validate", *place, f"--path={folder / arch}.pt", *task, "--num-workers=0",
              "--no-progress-bar", "--log-format=json", f"--user-dir={USER_DIR}",
              "--required-batch-size-multiple=1")  # fmt: skip
    found = {"validation": {}}
    for name, value in re.findall(r'"valid_(\w+)": "(-?[\d.]+)"', log):
        found["validation"][name] = float(value)
    found["validation"].pop("wps", None)
    for verb in ("parse", "classify", "complete"):
        pairs = data == "pairs" and verb == "classify"
        lines = [f"{sentence}\t{sentence}" if pairs else sentence for sentence in SENTENCES]
        lines = list(SEQUENCES) if verb == "complete" else lines
        status, text = _said(verb, f"{folder / arch}.pt", *device, "--data", *place, lines=lines)
        if place and status == 0:
            found[verb] = text.splitlines()
    return found


def _said(*command: str, lines) -> tuple[int, str]:
    said, before = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO("".join(f"{line}\n" for line in lines))
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            return main(list(command)), said.getvalue()
    except SystemExit:
        return 2, ""
    finally:
        sys.stdin = before


def make(names):
    """Train and keep checkpoints, without parts that only their machine or a resume needs."""
    kept = json.loads(OUTPUTS.read_text()) if OUTPUTS.is_file() else {}
    for arch in names:
        data, options = MODELS[arch]
        with tempfile.TemporaryDirectory() as folder:
            place = [STORED / data / "data-bin"] if data else []
            run("train", *place, *options, f"--arch={arch}", *COMMON, f"--save-dir={folder}",
                "--max-update=8", "--disable-validation", "--no-epoch-checkpoints")  # fmt: skip
            state = torch.load(Path(folder, "checkpoint_last.pt"), weights_only=True)
            state["last_optimizer_state"] = None
            torch.save(_without(state, folder, str(STORED), str(USER_DIR)), STORED / f"{arch}.pt")
        kept[arch] = outputs_of(arch)
        OUTPUTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        print(arch, kept[arch]["validation"], flush=True)


def _without(value, *paths: str):
    """The same options without the paths of one machine."""
    if isinstance(value, dict):
        return type(value)({name: _without(item, *paths) for name, item in value.items()})
    if isinstance(value, str) and any(path in value for path in paths):
        return Path(value).name
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        for name, item in vars(value).items():
            setattr(value, name, _without(item, *paths))
    return value


def make_data():
    """The corpora of the checkpoints."""
    from small_language_models import make_folder

    shutil.rmtree(STORED, ignore_errors=True)
    STORED.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(make_folder(Path(folder)) / "data-bin", STORED / "language" / "data-bin")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(write_data_bin(Path(folder)), STORED / "translation" / "data-bin",
                        ignore=shutil.ignore_patterns("*.log"))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        words = "a b c d e".split()
        for suffix, out in (("tsv", "single"), ("pairs", "pairs")):
            for split, count in (("train", 32), ("valid", 12), ("test", 1)):
                rows = []
                for number in range(count):
                    digits = str((number + 3) ** 3 * 7919)
                    first = " ".join(words[int(digit) % 5] for digit in digits[: 2 + number % 5])
                    second = f"\t{first[::-1]}" if out == "pairs" else ""
                    rows.append(f"{first}{second}\t{'yes' if number % 3 else 'no'}\n")
                Path(folder, f"{split}.{suffix}").write_text("".join(rows))
            files = [f"--{s}-file={folder}/{s}.{suffix}" for s in ("train", "valid", "test")]
            assert main(["prepare", "labelled_text", "plain", str(Path(folder, out)), *files]) == 0
            shutil.copytree(Path(folder, out, "data-bin"), STORED / out / "data-bin")
    make_images()
    make_trees()
    write_treebank(STORED / "treebank" / "data-bin", train=16, held_out=6)
    make_sequences()
    make_demonstrations()
    make_lists()


def make_lists():
    """Trees of the invented grammar."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        options = ["--sentences=40", "--least-count=1"]
        assert main(["prepare", "transformation_lists", "generated", str(out), *options]) == 0
        shutil.copytree(out / "data-bin", STORED / "lists" / "data-bin")


def make_demonstrations():
    """Two tasks on small maps."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        options = ["--size=5", "--kinds=AB", "--number=20"]
        assert main(["prepare", "craft_demonstrations", "AB,BA", str(out), *options]) == 0
        shutil.copytree(out / "data-bin", STORED / "demonstrations" / "data-bin")


def make_sequences():
    """Runs of numbers with hidden ones."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        assert main(["prepare", "sequence_completion", str(out), "--symbols=10"]) == 0
        shutil.copytree(out / "data-bin", STORED / "sequences" / "data-bin")


def make_images():
    """Digits as idx files."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "digits")
        options = ["--images", "48", "10", "--size", "12"]
        assert main(["prepare", "image_classification", "generate", str(out), *options]) == 0
        shutil.copytree(out, STORED / "images" / "data-bin",
                        ignore=shutil.ignore_patterns("manifest.json"))  # fmt: skip


def make_trees():
    """Lists with their trees; the label says whether the value is above 4."""
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for split, count in (("train", 32), ("dev", 12), ("test", 1)):
            lines = []
            for words, value, spans in (nested_list(draw, 2) for _ in range(count)):
                label = str(4 * (value > 4))
                lines.append(f"{line_of(words, [Constituent(*own, label) for own in spans])}\n")
            Path(folder, f"{split}.txt").write_text("".join(lines))
        out = Path(folder, "out")
        command = ["prepare", "labelled_text", "sst_fine", folder, str(out), "--trees"]
        assert main(command) == 0
        shutil.copytree(out / "data-bin", STORED / "trees" / "data-bin")


if __name__ == "__main__":
    with in_this_process():
        if not sys.argv[1:]:
            make_data()
        make(sys.argv[1:] or MODELS)
