"""The pages fit together: links, headings, tables of options, the site, and the way to answers."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq_commands import ROOT
from reader import BLOCK, PAGES

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def links(page: Path) -> set[Path]:
    """The files of the project that a page links to."""
    found = [name for name, _ in LINK.findall(page.read_text()) if name and "://" not in name]
    return {(page.parent / name).resolve() for name in found}


def anchors_of(page: Path) -> set[str]:
    """The names by which links point to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_that_are_named_exist(page):
    text = page.read_text()
    named = re.findall(r"(?<![\w/.])(?:recipes|preprocess|tests|fairseq_struct)/[\w/]+\.\w+", text)
    named = [name for name in named if not re.search(r"/(SYSTEM|NAME)\b", name)]  # any of them
    missing = [path for path in links(page) if not path.exists()]
    assert not missing + [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_that_links_point_to_exist(page):
    found = [(name, anchor) for name, anchor in LINK.findall(page.read_text())
             if anchor and "://" not in name]  # fmt: skip
    missing = [f"{name}#{anchor}" for name, anchor in found
               if anchor not in anchors_of(page.parent / name if name else page)]  # fmt: skip
    assert not missing


def test_every_page_can_be_reached_from_the_first_one():
    reached, front = set(), [ROOT / "README.md"]
    while front:
        page = front.pop()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            front += links(page)
    assert set(PAGES) <= reached


def test_ten_questions_are_answered_within_two_clicks_from_the_first_page():
    """Every row of the table is a question, a page that README links to, and a heading on it."""
    page = ROOT / "docs" / "finding.md"
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", page.read_text(), re.M)
    assert len(rows) >= 10
    for question, path in rows:
        clicks = LINK.findall(path)
        assert 1 <= len(clicks) <= 2, question
        at = ROOT / "README.md"
        for name, anchor in clicks:
            target = (page.parent / name).resolve()
            assert target in links(at), f"{question}: {at} does not link to {target}"
            assert not anchor or anchor in anchors_of(target), question
            at = target


@pytest.fixture
def options(monkeypatch):
    """The script that writes the tables of options."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    return importlib.import_module("options")


def test_tables_of_options_are_those_of_the_parsers(options, capsys):
    assert options.main(["--check"]) == 0, capsys.readouterr().err
    stale = "<!-- options: arch udgn -->\nold\n<!-- end of options -->"
    assert "| `--channels` | channels of each layer | `8` |" in options.fill(stale)
    with pytest.raises(KeyError):
        options.fill("<!-- options: arch nothing -->\n<!-- end of options -->")


def test_every_part_with_options_and_every_verb_has_its_table(options):
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    from fairseq_struct.cli.main import build_parser

    text = "".join(page.read_text() for page in (ROOT / "docs").glob("**/*.md"))
    marked = set(re.findall(r"<!-- options: (\w+) ([\w-]+) -->", text))
    registries = {"arch": MODEL_REGISTRY, "task": TASK_REGISTRY, "criterion": CRITERION_REGISTRY}
    known = {
        (kind, name)
        for kind, registry in registries.items()
        for name, part in registry.items()
        if part.__module__.startswith("fairseq_struct.")
    }
    assert ("arch", "udgn") in known
    lacking = {one for one in known - marked if "No options" not in options.table(*one)}
    assert lacking == {("arch", "awd_lstm_lm")}  # those of on_lstm_lm without one
    verbs = next(action.choices for action in build_parser()._actions if action.choices)
    lacking = {verb for verb in verbs if ("verb", verb) not in marked}
    assert lacking == {"prepare", "hydra-train", "user-dir"}  # which have none


def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (pip install '.[docs]')")
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    config = ROOT / "docs" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", config, "-d"]
    done = subprocess.run([*command, tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    index = (tmp_path / "site" / "index.html").read_text()
    assert "systems/udgn/" in index and "docs/systems" not in index
    reference = (tmp_path / "site" / "api" / "index.html").read_text()
    assert "single_root" in reference and ":class:" not in reference
    assert (tmp_path / "site" / "results" / "udgn" / "index.html").is_file()
    shutil.rmtree(tmp_path / "site")
