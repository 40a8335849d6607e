"""The page in a real browser: no error on the console, no request, all drawn, light and dark, wide and narrow."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zlib

import pytest

from small_run import small_material
from tadge.page.write import page_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *"--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split(),
    *"--disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr --v=0".split(),
]
LOOK = """<script>
var seen = performance.getEntriesByType("resource").length, wide = document.documentElement.scrollWidth;
function tall(one) { return one.getBoundingClientRect().height > 40; }
var drawn = [].filter.call(document.querySelectorAll("svg"), tall);
document.getElementById("find").value = "user 5"; document.getElementById("find").dispatchEvent(new Event("input"));
document.getElementById("theme").click();
document.title = JSON.stringify({
  requests: seen, overflow: wide - window.innerWidth, drawn: drawn.length,
  found: document.querySelectorAll(".node.found").length, told: document.getElementById("told").textContent.slice(0, 7),
  theme: document.documentElement.getAttribute("data-theme"), colour: getComputedStyle(document.body).backgroundColor,
});
</script></body>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_html(small_material()))
    return path


def browse(place, path, *more):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={place / 'profile'}", *more, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def colours(path) -> set[bytes]:
    """Read the colours of a PNG picture that has no filters to undo: its rows as they are packed."""
    data, place, packed = path.read_bytes(), 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        if kind == b"IDAT":
            packed += data[place + 8 : place + 8 + size]
        place += 12 + size
    rows = zlib.decompress(packed)
    return {rows[k : k + 64] for k in range(0, len(rows) - 64, 64)}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_the_page_works_in_a_browser(page, tmp_path, width, dark):
    probe = tmp_path / "probe.html"
    probe.write_text(page.read_text().replace("</body>", LOOK))
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    picture = tmp_path / "page.png"
    size = f"--window-size={width},1500"
    told = browse(tmp_path, probe, scheme, size, "--dump-dom")
    assert not re.search(r"CONSOLE|Uncaught|Refused|ERR_", told.stderr), told.stderr[-2000:]
    title = re.search(r"<title>(\{.*?\})</title>", told.stdout)[1].replace("&quot;", '"')
    seen = json.loads(title)
    assert seen["requests"] == 0
    assert seen["overflow"] <= 0  # nothing is cut off at the side
    assert seen["drawn"] >= 10
    assert seen["found"] == 1 or seen["told"][0].isdigit()
    assert seen["theme"] == ("light" if dark else "dark")  # the button turned it
    assert (seen["colour"] == "rgb(247, 246, 243)") == dark
    browse(tmp_path, page, scheme, size, f"--screenshot={picture}")
    assert len(colours(picture)) > 200  # not one empty sheet
