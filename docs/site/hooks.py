"""What the site adds to the pages of the repository, which are plain Markdown.

Pages and pictures outside of ``docs/`` become part of the site, and links between files of the
repository become links between its pages. A link to a file that the site does not have becomes its
text. ``<!-- api: NAME -->`` becomes the reference of a Python object.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "recipes/README.md": "results/index.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]+)?\)")
ROLE = re.compile(r":\w+:<code>[.~]?([^<]+)</code>")
API = re.compile(r"<!-- api: ([\w.]+) -->")


def on_files(files, config):
    """Add the pages and pictures outside of ``docs/``."""
    for source, place in _outside().items():
        if known := files.get_file_from_path(place):
            files.remove(known)
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, files, **_):
    """Translate the links of a page from the repository to the site."""
    places = _outside()
    sources = {place: source for source, place in places.items()}
    source = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def translated(link: re.Match) -> str:
        picture, text, target, anchor = link.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = places.get(path, path.removeprefix("docs/"))
        if files.get_file_from_path(place) is None:
            return text if (ROOT / path).exists() else link[0]
        here = posixpath.dirname(page.file.src_uri) or "."
        return f"{picture}[{text}]({posixpath.relpath(place, here)}{anchor or ''})"

    return API.sub(r"::: \1", LINK.sub(translated, markdown))


def on_page_content(html, **_):
    """Show references of docstrings, written as Sphinx reads them, as code."""
    return ROLE.sub(r"<code>\1</code>", html)


def _outside() -> dict[str, str]:
    """Files of the repository outside of ``docs/``, and their places on the site."""
    found = dict(OUTSIDE)
    for path in sorted((ROOT / "recipes").glob("*/*")):
        system, name = path.parent.name, path.name
        if name == "RESULTS.md":
            found[f"recipes/{system}/{name}"] = f"results/{system}.md"
        elif path.suffix in (".png", ".svg"):
            found[f"recipes/{system}/{name}"] = f"results/{system}/{name}"
    return found
