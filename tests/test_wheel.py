"""Who installs a wheel can prepare, train and parse, without a checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Commands in the order of standard input, one process for all, because importing fairseq takes most
# of the time; each runs in a fork of it, with < and > as a shell has them.
AS_A_SHELL = """
import os, shlex, sys, traceback
from fairseq_cli import train, generate  # the first one sets up logging
from fairseq_struct.cli.main import main

programs = {"fairseq-struct": main, "fairseq-train": train.cli_main,
            "fairseq-generate": generate.cli_main}

def become(words):
    for sign, number, mode in (("<", 0, os.O_RDONLY), (">", 1, os.O_WRONLY | os.O_CREAT)):
        if sign in words:
            place = words.index(sign)
            os.dup2(os.open(words[place + 1], mode, 0o644), number)
            del words[place : place + 2]
    sys.argv = words
    return programs[words[0]]() or 0

for line in sys.stdin.read().splitlines():
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1]:
            sys.exit(f"FAILED: {line}")
        continue
    status = 1
    try:
        status = become(shlex.split(os.path.expandvars(line)))
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
import fairseq_struct

print(fairseq_struct.__file__)
"""


def training(data: str, save_dir: str, task: str, arch: str, options: str) -> str:
    """A command that makes one update."""
    return (
        f"fairseq-train {data} --user-dir $USER_DIR --save-dir {save_dir} --task {task} "
        f"--arch {arch} --optimizer adam --max-update 1 --cpu --num-workers 0 --log-format none "
        f"--no-last-checkpoints --no-epoch-checkpoints {options}"
    )


PAIR = "--source-lang src --target-lang tgt"
TRANSLATION = (
    f"{PAIR} --batch-size 8 --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 16 "
    "--decoder-embed-dim 16 --encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16"
)
MASKED = "--embed-dim 16 --parser-size 16 --layers 1"
COMMANDS = [
    "fairseq-struct prepare synthetic_translation toy --sentences 40 8 8",
    training("toy/data-bin", "sampling", "translation", "scheduled_sampling_transformer_tiny",
             TRANSLATION),
    "fairseq-generate toy/data-bin --user-dir $USER_DIR --path sampling/checkpoint_best.pt "
    f"{PAIR} --beam 1 --max-len-b 5 --required-batch-size-multiple 1 > translations",
    "fairseq-struct prepare labelled_text plain labels --train-file labels.tsv "
    "--valid-file labels.tsv --test-file labels.tsv",
    training("labels/data-bin", "classifier", "structured_classification", "latent_tree_classifier",
             "--criterion structured_classification --latent-method baseline --embed-dim 8 "
             "--hidden-size 8 --batch-size 4"),
    "fairseq-struct classify classifier/checkpoint_best.pt < labels.txt > labels.out",
    "fairseq-struct prepare penn_treebank lm text ptb",
    training("ptb/data-bin", "lm", "recurrent_language_modeling", "on_lstm_lm",
             "--criterion recurrent_language_modeling --embed-dim 16 --hidden-size 16 "
             "--chunk-size 4 --batch-size 2 --batch-size-valid 2 --tokens-per-sample 8"),
    "fairseq-struct parse lm/checkpoint_best.pt < labels.txt > brackets",
    "fairseq-struct prepare dependency_treebank generated made_up --sentences 60 8 8",
    training("made_up/data-bin", "masked", "structured_masked_lm", "udgn_tiny",
             f"--criterion structured_masked_lm --max-tokens 200 --valid-draws 1 {MASKED}"),
    "fairseq-struct parse masked/checkpoint_best.pt < made_up/text/test.txt > parsed.conllu",
    "fairseq-struct evaluate made_up/trees/test.conllu parsed.conllu > scores",
    "fairseq-struct prepare sentence_similarity STS ptb/data-bin/dict.txt similarity",
    training("similarity", "pairs", "semantic_similarity", "udgn_tiny",
             f"--criterion semantic_similarity --batch-size 4 {MASKED}"),
    training("", "clusters", "latent_clusters", "latent_clusters",
             "--criterion latent_clusters --clusters 3 --batch-size 5000"),
]  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, made from a copy, for setuptools leaves folders behind."""
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


def write_corpora(folder):
    """Small files of the kinds that the commands read."""
    words = ["the cat sleeps", "a dog sings", "birds sing", "the dogs run"]
    files = {"labels.tsv": [f"{text}\t{text[0]}" for text in words], "labels.txt": words}
    files |= {f"text/{split}.txt": words * 9 for split in ("train", "valid", "test")}
    row = "main-captions\tMSRvid\t2012\t{:04}\t{}\tthe cat sleeps .\tthe dogs run ."
    pairs = [row.format(number, number % 5) for number in range(5)]
    files |= {f"STS/STSBenchmark/sts-{split}.csv": pairs for split in ("train", "dev", "test")}
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.slow
def test_each_task_is_prepared_trained_and_used_from_the_wheel(wheel, tmp_path):
    installed, away = tmp_path / "installed", tmp_path / "away"
    zipfile.ZipFile(wheel).extractall(installed)
    away.mkdir()
    write_corpora(away)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    told = subprocess.run(
        [sys.executable, "-m", "fairseq_struct.cli.main", "user-dir"], cwd=away, env=environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    user_dir = told.stdout.strip()
    assert Path(user_dir).is_relative_to(installed)
    done = subprocess.run(
        [sys.executable, "-c", AS_A_SHELL], input="\n".join(COMMANDS), cwd=away,
        env=environment | {"USER_DIR": user_dir}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == str(installed / "fairseq_struct" / "__init__.py")
    assert "Generate test with beam=1: BLEU4" in (away / "translations").read_text()
    assert (away / "labels.out").read_text().count("\n") == 4
    assert (away / "brackets").read_text().count("(X ") >= 4
    assert "uas " in (away / "scores").read_text()
    for run in ("pairs", "clusters"):
        assert (away / run / "checkpoint_best.pt").is_file()
