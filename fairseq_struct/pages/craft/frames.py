"""Frames of an episode, as an animated GIF or as an HTML page with a slider."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import BinaryIO, NamedTuple

import numpy as np

from fairseq_struct.pages.drawing.shapes import Picture
from fairseq_struct.pages.html.html_page import html_page

_STYLE = (
    ".frame { margin: 0; } .frame[hidden] { display: none; }"
    " .frame img { image-rendering: pixelated; min-width: 20em; }"
    " #place { width: 20em; vertical-align: middle; }"
)
_TITLE = 16  # dots below a frame, and those of each level
_LONGEST_BAR = 60
_BLUE, _RED = (66, 103, 172), (200, 60, 50)
# Without scripts, all frames are shown one below the other and the controls are not.
_CONTROLS = """<p id="controls" hidden><label for="place">Step</label>
<input id="place" type="range" min="0" max="{last}" value="0" step="1">
<button id="play" type="button">Play</button></p>
"""
_SCRIPT = """<script>
const frames = [...document.querySelectorAll(".frame")];
const place = document.getElementById("place"), play = document.getElementById("play");
let timer = null;
function show() {{
  frames.forEach((frame, number) => frame.hidden = number !== place.valueAsNumber);
  place.setAttribute("aria-valuetext", frames[place.valueAsNumber].dataset.title);
}}
function stop() {{ clearInterval(timer); timer = null; play.textContent = "Play"; }}
function next() {{
  if (place.valueAsNumber >= frames.length - 1) {{ stop(); return; }}
  place.valueAsNumber += 1; show();
}}
place.addEventListener("input", () => {{ stop(); show(); }});
play.addEventListener("click", () => {{
  if (timer !== null) {{ stop(); return; }}
  if (place.valueAsNumber >= frames.length - 1) place.valueAsNumber = 0;
  show(); play.textContent = "Pause"; timer = setInterval(next, {milliseconds});
}});
document.getElementById("controls").hidden = false;
show();
</script>
"""


class Frame(NamedTuple):
    """What is seen at one step.

    Args:
        pixels: (height, width, 3) bytes of red, green and blue.
        title: a text.
        levels: names and values from 0 to 1, which an animation shows as bars below the title: the
            first one is red, such as e_t, the others are blue, such as p_t of each option.
    """

    pixels: np.ndarray
    title: str
    levels: Sequence[tuple[str, float]] = ()


def write_gif(
    file: BinaryIO, frames: Sequence[Frame], seconds: float = 0.3, scale: int = 1
) -> None:
    """Write an animated GIF that repeats for ever; titles and levels stand below their frames.

    Args:
        file: open for writing.
        frames: in order, of one size.
        seconds: how long each of them is shown; GIF knows hundredths.
        scale: by how many dots, in both directions, a pixel is shown.

    Raises:
        ValueError: no frame, frames of different sizes, or pixels that are no bytes of colours.
    """
    _check(frames)
    drawn = _with_titles(frames, scale)
    # One palette for all frames, so that no colour flickers.
    strip = np.concatenate([np.asarray(one) for one in drawn])
    from PIL import Image

    palette = Image.fromarray(strip).quantize(256, dither=Image.Dither.NONE)
    first, *later = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in drawn)
    first.save(
        file, format="GIF", save_all=True, append_images=later, loop=0,
        duration=round(seconds * 1000), optimize=False,
    )  # fmt: skip


def frames_page(
    frames: Sequence[Frame],
    title: str,
    note: str = "",
    picture: Picture | None = None,
    seconds: float = 0.3,
) -> str:
    """Make a self-contained HTML page with a slider over the frames.

    All titles stand in a list below, which needs neither sight nor scripts.

    Args:
        frames: in order, of one size.
        title: of the page, plain text.
        note: text below the title.
        picture: shown below the frames, such as the trajectory.
        seconds: how long each frame is shown when the page plays them.

    Raises:
        ValueError: as for :func:`write_gif`.
    """
    _check(frames)
    parts = [f"<p>{escape(note)}</p>\n"] if note else []
    parts.append(_CONTROLS.format(last=len(frames) - 1))
    for frame in frames:
        text = escape(frame.title)
        parts.append(
            f'<figure class="frame" data-title="{text}"><img alt="{text}" '
            f'src="data:image/png;base64,{_png(frame.pixels)}"><figcaption>{text}</figcaption>'
            "</figure>\n"
        )
    if picture is not None:
        parts.append(picture.svg())
    titles = "".join(f"<li>{escape(frame.title)}</li>\n" for frame in frames)
    parts.append(f"<details><summary>All steps</summary>\n<ol>\n{titles}</ol></details>\n")
    parts.append(_SCRIPT.format(milliseconds=round(seconds * 1000)))
    return html_page(title, parts, _STYLE)


def _check(frames: Sequence[Frame]):
    if not frames:
        raise ValueError("an episode needs a frame")
    shapes = {frame.pixels.shape for frame in frames}
    if len(shapes) != 1:
        raise ValueError(f"frames of different sizes: {sorted(shapes)}")
    (shape,) = shapes
    bytes_only = all(frame.pixels.dtype == np.uint8 for frame in frames)
    if not bytes_only or len(shape) != 3 or shape[2] != 3 or 0 in shape:
        raise ValueError("a frame must be bytes of the shape (height, width, 3)")


def _png(pixels: np.ndarray) -> str:
    from PIL import Image

    with BytesIO() as file:
        Image.fromarray(pixels).save(file, format="PNG")
        return b64encode(file.getvalue()).decode()


def _with_titles(frames: Sequence[Frame], scale: int) -> list:
    """The enlarged frames, above white strips with their titles and levels, all of one size."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default()

    def width_of(text: str) -> int:
        return int(font.getbbox(text, mode="1")[2]) + 5

    names = max((width_of(name) for frame in frames for name, _ in frame.levels), default=0)
    numbers = width_of("0.00") if names else 0
    needed = max(names + _LONGEST_BAR + numbers + 4, *(width_of(frame.title) for frame in frames))
    rows = 1 + max(len(frame.levels) for frame in frames)
    drawn = []
    for frame in frames:
        pixels = frame.pixels.repeat(scale, 0).repeat(scale, 1)
        height, width = pixels.shape[:2]
        image = Image.new("RGB", (max(width, needed), height + rows * _TITLE), "white")
        image.paste(Image.fromarray(pixels))
        draw = ImageDraw.Draw(image)
        draw.fontmode = "1"  # letters without greys leave the palette to the frames
        draw.text((2, height + 2), frame.title, fill="black", font=font)
        for place, (name, value) in enumerate(frame.levels, 1):
            top = height + place * _TITLE + 2
            draw.text((2, top), name, fill="black", font=font)
            end = names + round(_LONGEST_BAR * min(max(value, 0.0), 1.0))
            if end > names:
                colour = _RED if place == 1 else _BLUE
                draw.rectangle((names, top, end, top + _TITLE - 5), fill=colour)
            right = names + _LONGEST_BAR + 4
            draw.text((right, top), f"{value:.2f}", fill="black", font=font)
        drawn.append(image)
    return drawn
