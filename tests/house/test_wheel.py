"""An installed wheel prepares, trains and parses, without a checkout."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# One process, because importing fairseq takes most of the time.
WHOLE_WAY = """
import contextlib, importlib, io, sys
from pathlib import Path
from fairseq_struct.cli.main import main

def struct(*arguments, given=""):
    output, sys.stdin = io.StringIO(), io.StringIO(given)
    with contextlib.redirect_stdout(output):
        assert main(arguments) == 0, arguments
    return output.getvalue()

def fairseq(program, *arguments):
    from fairseq.checkpoint_utils import save_checkpoint

    vars(save_checkpoint).pop("best", None)  # of the training before
    sys.argv = [f"fairseq-{program}", *arguments, "--user-dir", user_dir, "--num-workers=0",
                "--cpu", "--log-format=none"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        importlib.import_module(f"fairseq_cli.{program}").cli_main()
    return output.getvalue()

def train(data, out, arch, *options):
    fairseq("train", *filter(None, [data]), f"--save-dir={out}", f"--arch={arch}",
            "--optimizer=adam", "--max-update=1", "--batch-size=8", *options)
    return f"{out}/checkpoint_best.pt"

def train_preset(data, preset, *options):
    from fairseq.checkpoint_utils import save_checkpoint

    vars(save_checkpoint).pop("best", None)  # of the training before
    assert main(["train", data, "--preset", preset, "--max-update=1", "--cpu", "--num-workers=0",
                 *options]) == 0
    return f"runs/{preset}/checkpoint_best.pt"

user_dir = struct("user-dir").strip()

struct("prepare", "dependency_treebank", "generated", "trees", "--sentences", "60", "8", "8")
masked = ["--embed-dim=16", "--parser-size=16", "--layers=1"]
udgn = train_preset("trees", "udgn_tiny", "--valid-draws=1", *masked)
text = Path("trees/text/test.txt").read_text()
struct("draw", udgn, "--what=trees", "--probabilities", "--output=tree.svg", given=text)
struct("export", udgn, "exported")
assert struct("parse", "exported", given=text) == struct("parse", udgn, given=text)
Path("parsed.conllu").write_text(struct("parse", udgn, given=text))
print(struct("evaluate", "trees/trees/test.conllu", "parsed.conllu"))

lm = train("trees/data-bin", "lm", "on_lstm_lm", "--task=recurrent_language_modeling",
           "--criterion=recurrent_language_modeling", "--embed-dim=10", "--hidden-size=20",
           "--layers=2")
print(struct("parse", lm, given=text).splitlines()[0])

pair = text.splitlines()[0]
Path("sts/STSBenchmark").mkdir(parents=True)
for split in ("train", "dev", "test"):
    lines = [f"main\\tfile\\t2012\\t{n}\\t{n / 2}\\t{pair}\\t{pair} {n}\\n" for n in range(9)]
    Path(f"sts/STSBenchmark/sts-{split}.csv").write_text("".join(lines))
struct("prepare", "sentence_similarity", "sts", "trees/data-bin/dict.txt", "similarity")
train("similarity", "finetuned", "udgn_tiny", "--task=semantic_similarity",
      "--criterion=semantic_similarity", f"--finetune-from-model={udgn}", *masked)

rows = [f"{word} b c\\t{label}\\n" for word, label in (("a", "yes"), ("d", "no"))]
for split in ("train", "valid", "test"):
    Path(f"{split}.tsv").write_text("".join(rows))
struct("prepare", "labelled_text", "plain", "labels", "--train-file=train.tsv",
       "--valid-file=valid.tsv", "--test-file=test.tsv")
classifier = train("labels/data-bin", "classifier", "latent_tree_classifier", "--embed-dim=8",
                   "--task=structured_classification", "--criterion=structured_classification",
                   "--hidden-size=8", "--latent-method=spigot")
print(struct("classify", classifier, given="a b c\\n"))

struct("prepare", "synthetic_translation", "pairs", "--sentences", "40", "8", "8")
size = [f"--{side}-{what}" for side in ("encoder", "decoder") for what in
        ("layers=1", "embed-dim=8", "ffn-embed-dim=8", "attention-heads=2")]
sampled = train_preset("pairs", "scheduled_sampling_transformer_tiny",
                       "--schedule-warmup-updates=0", *size)
text = "our queens find your horse\\n"
print("translated:", struct("translate", sampled, "--beam=1", given=text))
along = train("pairs/data-bin", "latent_tree", "latent_tree_transformer", "--task=translation",
              *size, "--criterion=latent_tree_translation")
for arch, translator in (("scheduled_sampling_transformer", sampled),
                         ("latent_tree_transformer", along)):
    found = fairseq("generate", "pairs/data-bin", f"--path={translator}", "--batch-size=8",
                    "--beam=1", "--max-len-b=5")
    print(arch, found.count("\\nH-"))

train("", "clusters", "latent_clusters", "--task=latent_clusters", "--criterion=latent_clusters")

def of_one_name(data, task, arch, *options):
    return train(data, task, arch, f"--task={task}", f"--criterion={task}", *options)

struct("prepare", "image_classification", "generate", "digits", "--images", "40", "10",
       "--size", "12")
digits = of_one_name("digits", "image_classification", "undirected_convnet", "--first-channels=4",
                    "--second-channels=6")
struct("draw", digits, "--what=prototypes", "--output=prototypes.png")
struct("prepare", "sequence_completion", "numbers", "--symbols=10")
completer = of_one_name("numbers/data-bin", "sequence_completion", "undirected_attention",
                       "--hidden-size=8")
print(struct("complete", completer, given="3 4 _ 6 7 8 9 10\\n"))
parser = of_one_name("trees/data-bin", "dependency_parsing", "undirected_parser", "--passes=2",
                    "--hidden-size=8", "--embed-dim=8", "--encoder-size=8")
print(struct("parse", parser, "--format=conllu", given="a b c\\n"))
struct("prepare", "craft_demonstrations", "AB,BA", "skills", "--size=5", "--kinds=AB",
       "--number=10")
skills = of_one_name("skills/data-bin", "craft_imitation", "option_controller", "--mlp-size=8",
                    "--hidden-size=8")
print(struct("rollout", skills, "AB", "--episodes=5"))
struct("prepare", "transformation_lists", "generated", "lists", "--sentences=40")
composer = of_one_name("lists/data-bin", "grammar_induction", "rim_composer", "--embed-dim=8",
                      "--predict-category")
print(struct("parse", composer, given="dt1 nn2\\n"))

import fairseq_struct

print(fairseq_struct.__file__)
print(user_dir)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, built from a copy, because setuptools leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "fairseq_struct", source / "fairseq_struct", ignore=caches)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = "pip wheel -q --no-deps --no-build-isolation --no-index -w".split()
    done = subprocess.run(
        [sys.executable, "-m", *command, folder, source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("fairseq_struct-*.whl"))


def test_wheel_holds_the_whole_package_and_nothing_else(wheel):
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "fairseq_struct").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "fairseq_struct/py.typed" in expected


def test_every_task_is_prepared_trained_and_used_from_the_wheel(wheel, tmp_path):
    installed, away = tmp_path / "installed", tmp_path / "away"
    zipfile.ZipFile(wheel).extractall(installed)
    away.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", WHOLE_WAY],
        cwd=away,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    *_, module, user_dir = done.stdout.splitlines()
    assert module == str(installed / "fairseq_struct" / "__init__.py")
    assert Path(user_dir).is_relative_to(installed)
    assert "UAS" in done.stdout and "1\ta" in done.stdout
    assert "<svg" in (away / "tree.svg").read_text()
    assert re.search(r"^translated: \S", done.stdout, re.M)
    assert "3 4 " in done.stdout and (away / "prototypes.png").stat().st_size
    assert "yes=0." in done.stdout and "AB: success " in done.stdout
    assert re.search(r"^\(\S+ \(\S+ dt1\) \(\S+ nn2\)\)$", done.stdout, re.M)
    assert "\n(" in done.stdout
    for arch in ("scheduled_sampling_transformer", "latent_tree_transformer"):
        assert f"{arch} 8" in done.stdout
