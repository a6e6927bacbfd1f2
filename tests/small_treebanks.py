"""Small treebanks and parsers, shared by several tests."""

from pathlib import Path

from fairseq_commands import USER_DIR, run

from fairseq_struct.data.generators.synthetic_dependencies import generate_dependencies
from fairseq_struct.data.readers.conllu import to_conllu

NAMES = {"train": "train", "valid": "dev", "test": "test"}
PARSER = ["--arch=undirected_parser", "--task=dependency_parsing",
          "--criterion=dependency_parsing", "--hidden-size=12", "--embed-dim=12",
          "--encoder-size=12", "--encoder-layers=1"]  # fmt: skip
COMMON = ["--optimizer=adam", "--lr=0.01", "--batch-size=8", "--num-workers=0",
          "--no-progress-bar", "--log-format=json", "--no-epoch-checkpoints",
          f"--user-dir={USER_DIR}"]  # fmt: skip


def write_treebank(folder: Path, train: int = 40, held_out: int = 10) -> Path:
    """A treebank of an invented language, named as those of Universal Dependencies."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"train": train, "valid": held_out, "test": held_out}
    for split, trees in generate_dependencies(sizes, 3).items():
        text = "".join(to_conllu(t.words, t.heads, (), t.tags, t.relations) for t in trees)
        (folder / f"xx_toy-ud-{NAMES[split]}.conllu").write_text(text)
    return folder


def train(data: Path, save_dir: Path, *options: object) -> str:
    """``fairseq-train`` with a small parser."""
    return run("train", data, *PARSER, *COMMON, f"--save-dir={save_dir}", *options)
