"""Results that can be drawn: the file they make, the notebook, and what importing gptviz costs."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import gptviz
from gptviz.lessons import PAGES
from gptviz.pictures import file
from gptviz.pictures.picture import Picture

ROOT = Path(__file__).parents[2]
TEXT = "Mia gave the red book to"
EVIL = '</script><img src=x onerror="alert(1)">&quot;\u2028'


@pytest.fixture(scope="module")
def model() -> gptviz.Model:
    return gptviz.load("nano", device="cpu", offline=True)


def held(document: str) -> dict:
    return json.loads(re.search(r'id="gv-saved">(.*?)</script>', document, re.DOTALL)[1])


@pytest.mark.parametrize("page", [page.KEY for page in PAGES])
def test_a_file_holds_every_script_it_names(page: str) -> None:
    document = file.template(page)
    names = set(json.loads(re.search(r'type="importmap">(.*?)</script>', document)[1])["imports"])
    wanted = {f"gv/{file._beside(path, other)}" for path in file.needed(page)
              for _, other, _ in file.RELATIVE.findall((file.WIDGETS / path).read_text())}  # fmt: skip
    assert wanted <= names
    assert {f"gv/{page}/page.js", "gv/kit/saved.js"} <= names
    assert not re.search(r"https?://(?!www\.w3\.org)", re.sub(r"base64,[\w+/=]+", "", document))


def test_what_was_typed_cannot_leave_its_place(model: gptviz.Model) -> None:
    document = model.attention(EVIL, 0, 0).picture().html()
    assert "<img" not in document
    assert document.count("</script>") == file.template("attention").count("</script>")
    assert held(document)["text"] == EVIL


def test_a_notebook_gets_the_document_in_a_frame_of_its_own(model: gptviz.Model) -> None:
    shown = model.attention(EVIL, 0, 0).picture()._repr_html_()
    inside = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert held(inside)["text"] == EVIL
    assert "allow-same-origin" not in shown
    assert "font/woff2" not in inside
    assert len(shown) < 400_000


def test_a_saved_file_is_whole_or_not_there(model: gptviz.Model, tmp_path: Path) -> None:
    path = model.attention(TEXT, 0, 0).save_html(tmp_path / "one head.html")
    assert held(path.read_text(encoding="utf-8"))["fields"]["head"] == "0.0"
    assert [p.name for p in tmp_path.iterdir()] == ["one head.html"]


def test_what_a_page_cannot_draw_says_so(model: gptviz.Model) -> None:
    with pytest.raises(gptviz.UserError, match="no picture"):
        model.attention(TEXT, open_layers=[0]).save_html("never.html")
    with pytest.raises(gptviz.UserError, match="save_html"):
        model.attention(TEXT).show()


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: list[Picture] = []
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    vars(ipython).update(get_ipython=object)
    vars(display).update(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples/notebook.ipynb").read_text(encoding="utf-8"))
    names: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)
    assert [picture.page for picture in shown] == ["attention", "next_token", "mask", "prefix", "inside", "kv_cache"]
    assert (tmp_path / "attention.html").exists()
    assert names["check"].changed == [False] * 5
    assert names["race"].same_tokens


def test_the_race_is_counted_in_closed_form(model: gptviz.Model) -> None:
    found = model.kv_cache(TEXT, new_tokens=5)
    T = len(model.ids(TEXT))
    assert found.positions == {"cached": T + 4, "uncached": sum(T + i for i in range(5))}
    assert len(repr(found)) < 1000


def test_every_repr_is_one_short_line(model: gptviz.Model) -> None:
    for found in (model.mask(TEXT), model.prefix(TEXT, 3), model.lens(TEXT), model.kv_cache(TEXT, 2)):
        assert "tensor(" not in repr(found)
        assert "\n" not in repr(found)
        assert len(repr(found)) < 1000


def test_importing_gptviz_brings_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import gptviz; print(*set(sys.modules) - before)"
    brought = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(brought) < 40, brought
    assert {name.split(".")[0] for name in brought} <= {"gptviz", *sys.stdlib_module_names}


def test_results_are_loaded_without_the_page() -> None:
    code = "import sys, gptviz; gptviz.load; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"gradio", "plotly", "starlette", "gptviz.lessons"} & set(loaded.split())
