"""Pages that are turned over: what they hold, what they cost, and what a browser makes of them."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from fairseq_struct.pages import Row, dependency_picture, gallery_page
from fairseq_struct.pages.html import gallery

HOSTILE = '</script><script>alert("x")</script><!-- <b> &'


def rows_of(count, words=3):
    picture = dependency_picture([f"w{n}" for n in range(words)], [0, *range(1, words)])
    wrong = dependency_picture(["a", "b"], [2, 0], gold=[0, 1], key=False)
    return [
        Row(f"sentence {n} {HOSTILE}", [("m", wrong if n % 7 == 3 else picture)], stacked=True)
        for n in range(count)
    ]


def data_of(page, attribute):
    pattern = rf'<script type="application/json" {attribute}>(.*?)</script>'
    return [json.loads(found) for found in re.findall(pattern, page, re.DOTALL)]


def test_every_row_is_there_once():
    page = gallery_page(rows_of(50), "T")
    first, _, rest = page.partition("</main>")
    shown = re.findall(r'<article id="r(\d+)"', first)
    later = [re.findall(r'^<article id="r(\d+)"', one)[0]
             for part in data_of(rest, 'class="later"') for one in part]  # fmt: skip
    assert [*shown, *later] == [str(n) for n in range(1, 51)] and len(shown) == gallery.SHOWN
    assert first.count("<svg ") == gallery.SHOWN
    (about,) = data_of(rest, 'id="about"')
    assert [heading for heading, _ in about] == [row.heading for row in rows_of(50)]
    assert [count for _, count in about] == [2 if n % 7 == 3 else 0 for n in range(50)]
    # Nothing of a sentence is taken for HTML, neither now nor later.
    assert "<b>" not in first and first.count("alert") == gallery.SHOWN
    assert page.count("</script>") == 1 + 1 + 2
    assert "http" not in page and "<noscript>" in page


def test_a_page_of_few_sentences_needs_no_script():
    rows = [Row("a", [("", dependency_picture(["a"], [0]))])] * gallery.SHOWN
    page = gallery_page(rows, "T", "n < m")
    assert "<script" not in page and page.count("<svg ") == gallery.SHOWN and "n &lt; m" in page
    assert "<script" in gallery_page([*rows, rows[0]], "T")


def test_thousands_of_sentences_cost_their_number_only():
    """As many lines of Python run for each of two thousand sentences as for each of two hundred."""

    def lines_for(count):
        rows, steps = rows_of(count), 0

        def trace(frame, event, _):
            nonlocal steps
            steps += event in ("call", "line")
            return trace if "fairseq_struct" in frame.f_code.co_filename else None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            page = gallery_page(rows, "T")
        finally:
            sys.settrace(before)
        return steps, len(page)

    (few, small), (many, large) = lines_for(200), lines_for(2000)
    assert many < 11 * few and large < 11 * small
    assert large < 2000 * 3000  # bytes


def page_after(tmp_path, rows, script):
    """The page that a browser shows after a script."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here")
    # A browser in a container of its own cannot read this folder.
    if "it reads" not in shown(browser, tmp_path, "<p>it reads"):
        pytest.skip(f"{browser} cannot show a file of {tmp_path}")
    page = gallery_page(rows, "T")
    return shown(browser, tmp_path, page.replace("</body>", f"<script>{script}</script></body>"))


def shown(browser, folder, page):
    """What a browser makes of a page, from a file in a folder."""
    file = folder / "page.html"
    file.write_text(page)
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
               f"--user-data-dir={folder / 'profile'}", file.as_uri()]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True).stdout


def test_in_a_browser(tmp_path):
    script = """
    const told = [], status = document.getElementById("told");
    const rows = () => [...document.querySelectorAll("article")].map(one => one.id).join();
    const key = name => document.body.dispatchEvent(
      new KeyboardEvent("keydown", {key: name, bubbles: true}));
    const note = () => told.push([rows(), status.textContent, document.activeElement.id]);
    onerror = message => told.push(message);
    note(); key("n"); note(); key("n"); key("n"); note();
    key("ArrowRight"); note(); key("j"); note(); key("k"); key("k"); note();
    const search = document.getElementById("search");
    search.value = "SENTENCE 4"; search.dispatchEvent(new Event("input")); note();
    search.value = "none"; search.dispatchEvent(new Event("input")); note();
    document.body.dataset.told = JSON.stringify(told);
    """
    shown = page_after(tmp_path, rows_of(50), script)
    told = re.search(r'data-told="(.*?)"', shown)[1].replace("&quot;", '"')
    pages = [",".join(f"r{n}" for n in range(first, last + 1)) for first, last in
             ((1, 20), (21, 40), (41, 50))]  # fmt: skip
    start, once, thrice, turned, down, up, found, none = json.loads(told)
    assert start == [pages[0], "1–20 of 50; 14 differences in all", ""]
    assert once[2] == "r4" and thrice[2] == "r18"
    assert turned[0] == pages[1] and turned[1].startswith("21–40 of 50")
    assert down[2] == "r21" and up[::2] == [pages[0], "r19"]
    assert found[0] == ",".join(f"r{n}" for n in (5, *range(41, 51)))
    assert none[:2] == ["", "0; 14 differences in all"]
