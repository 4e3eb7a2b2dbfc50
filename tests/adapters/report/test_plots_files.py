"""Pictures as files: what is written, what is refused, and which fonts draw the labels of PNG files."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from PIL import Image

from krag_eval import InvalidInputError, KragEvalWarning, MissingDependencyError
from krag_eval_report.plots import DPI, as_png, drawings_of, figures_of, fonts, plot_hits, write_plots
from krag_eval_report.plots.drawing import drawing
from krag_eval_report.plots.fonts import choose_fonts, texts_of
from tests.support.plot_cases import named, nothing_defined, rouge

KEYS = ("hits", "over_k", "over_size", "spread", "sweep", "causes")
NAMES = [f"{key}.{ending}" for key in KEYS for ending in ("svg", "png")]
SCRIPTS = {
    "Korean": "한국어 형태소 검색기",
    "Chinese": "中文检索器 繁體中文檢索",
    "Japanese": "日本語の密ベクトル",
    "Russian": "Плотный поиск ёЁ",
    "Arabic": "محرك بحث عربي هجين",
    "Thai": "ตัวค้นคืนเอกสารภาษาไทย",
}


@pytest.fixture
def no_fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that has the fonts of matplotlib alone."""
    own = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *_, **__: [])
    forget()
    yield
    monkeypatch.undo()
    forget()


def make_font(path: Path, family: str, characters: set[str]) -> str:
    """A font in which each of these characters is a bar of its own length."""
    bars = {f"u{ord(c):X}": bar for bar, c in enumerate(sorted(characters), start=2)}
    drawn = {}
    for name, bar in {".notdef": 1, **bars}.items():
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for corner in ((0, 500), (25 * bar, 500), (25 * bar, 0)):
            pen.lineTo(corner)
        pen.closePath()
        drawn[name] = pen.glyph()
    font = FontBuilder(1000)
    font.setupGlyphOrder(list(drawn))
    font.setupCharacterMap({ord(c): f"u{ord(c):X}" for c in characters})
    font.setupGlyf(drawn)
    font.setupHorizontalMetrics(dict.fromkeys(drawn, (1000, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(path)
    return str(path)


@pytest.fixture(scope="session")
def made_fonts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Fonts as systems have them: one per language for Chinese, Japanese and Korean, and of each other script one."""
    east_asian = {c for script in ("Korean", "Chinese", "Japanese") for c in SCRIPTS[script]} | set("漢字にほん")
    families = {f"Noto Sans CJK {language}": east_asian for language in ("JP", "KR", "SC")}
    families |= {"Noto Sans Thai": set(SCRIPTS["Thai"]), "Noto Emoji": {"🦊"}}
    folder = tmp_path_factory.mktemp("fonts")
    return [make_font(folder / f"{family}.ttf", family, characters) for family, characters in families.items()]


@pytest.fixture
def system_fonts(monkeypatch: pytest.MonkeyPatch, no_fonts: None, made_fonts: list[str]) -> None:
    """A machine that has these fonts, and that got them after matplotlib looked."""
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *_, **__: [*made_fonts, "no/such/font.ttf"])
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])


def forget() -> None:
    fonts._choose.cache_clear()
    fonts._add_fonts.cache_clear()
    font_manager.fontManager._findfont_cached.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.full  # draws every plot twice
def test_svg_and_png_of_each_picture_are_written_into_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    paths = write_plots(rouge(), folder)
    assert paths == [folder / name for name in NAMES]
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    for svg, png in zip(paths[::2], paths[1::2], strict=True):
        root = ET.fromstring(svg.read_bytes())
        size = [float(root.attrib[side].removesuffix("pt")) * DPI / 72 for side in ("width", "height")]
        with Image.open(png) as image:
            assert image.format == "PNG"
            assert list(image.size) == pytest.approx(size, abs=1)
            drawn = np.asarray(image.convert("RGB"))
        assert drawn[0, 0].tolist() == [255, 255, 255]
        assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 10
        assert {path.stat().st_mode & 0o777 for path in (svg, png)} == {0o666 & ~_umask(tmp_path)}


def _umask(folder: Path) -> int:
    probe = folder / "probe"
    probe.touch()
    return 0o666 & ~probe.stat().st_mode


@pytest.mark.full
def test_files_that_are_there_are_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "causes.png").write_bytes(b"mine")
    with pytest.raises(InvalidInputError, match=r"already contains causes.png\. .* force=True\.$"):
        write_plots(named("bm25"), tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("causes.png", b"mine")]
    first = {path: path.read_bytes() for path in write_plots(named("bm25"), tmp_path, force=True)}
    assert first[tmp_path / "causes.png"] != b"mine"
    assert {path: path.read_bytes() for path in write_plots(named("bm25"), tmp_path, force=True)} == first


@pytest.mark.full
def test_a_folder_that_is_a_file_or_lies_in_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InvalidInputError, match=r"file: is a file\. Plots are written into a folder; give its path\."):
        write_plots(named("bm25"), file)
    with pytest.raises(
        InvalidInputError, match=r"file/folder: cannot be created \(Not a directory\)\. Check the path\."
    ):
        write_plots(named("bm25"), file / "folder")
    assert file.read_text() == "mine"


@pytest.mark.full
def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "hits.png").mkdir()
    with pytest.raises(InvalidInputError, match=r"hits\.png: cannot be written"):
        write_plots(named("bm25"), tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_report_without_a_defined_value_writes_nothing(tmp_path: Path) -> None:
    assert write_plots(nothing_defined(), tmp_path) == []


@pytest.mark.sample(3)
@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_character_has_a_glyph_in_a_font_that_was_chosen(script: str) -> None:
    families, missing = choose_fonts([SCRIPTS[script], "bm25 @10 …"])
    assert missing == ""
    faces = [font_manager.get_font(font_manager.findfont(family, fallback_to_default=False)) for family in families]
    for character in SCRIPTS[script].replace(" ", ""):
        assert any(face.get_char_index(ord(character)) for face in faces), character


@pytest.mark.sample(3)
@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_name_is_drawn_and_not_a_row_of_boxes(script: str) -> None:
    """As many boxes as letters would all look the same; letters do not."""
    shapes = {_drawn(letter) for letter in set(SCRIPTS[script]) if letter.isalpha()}
    assert len(shapes) == len({letter for letter in SCRIPTS[script] if letter.isalpha()})


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize(
    ("names", "family"),
    [
        (["漢字", "한국어"], "Noto Sans CJK KR"),
        (["漢字", "한국어", "にほん"], "Noto Sans CJK KR"),
        (["漢字", "にほん"], "Noto Sans CJK JP"),
        (["漢字"], "Noto Sans CJK SC"),
        (["🦊"], "Noto Emoji"),
    ],
)
def test_one_font_draws_a_picture_in_the_style_of_its_language(names: list[str], family: str) -> None:
    assert choose_fonts(names) == (("DejaVu Sans", family), "")


def _drawn(letter: str) -> bytes:
    with drawing(0.4) as figure:
        figure.text(0.1, 0.2, letter, fontsize=20)
    figure.set_size_inches(0.5, 0.5)
    with Image.open(io.BytesIO(as_png(figure))) as image:
        return image.convert("L").tobytes()


@pytest.mark.full
def test_all_texts_of_a_picture_have_the_fonts_and_none_is_a_formula() -> None:
    for _, _, drawn in drawings_of(named(*SCRIPTS.values(), r"$\frac{a}{b}$")):
        assert {text.get_parse_math() for text in texts_of(drawn.figure)} == {False}
        used = {text.get_text() for text in texts_of(drawn.figure)}
        assert {tuple(text.get_fontfamily()) for text in texts_of(drawn.figure)} == {choose_fonts(used)[0]}


@pytest.mark.usefixtures("no_fonts")
def test_without_a_font_one_warning_names_scripts_and_cure(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_plots(named(*SCRIPTS.values()), tmp_path)
    ((category, message),) = [(w.category, str(w.message)) for w in caught]
    assert category is KragEvalWarning
    assert "(Chinese, Japanese, Korean, Thai): PNG files show boxes in their place." in message
    assert "Install fonts (on Debian and Ubuntu: apt-get install fonts-noto-cjk fonts-noto-core)" in message
    assert "or use the SVG files" in message
    assert "한국어" in (tmp_path / "hits.svg").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.usefixtures("no_fonts")
def test_without_a_font_a_page_needs_no_warning_and_a_figure_has_one() -> None:
    figures_of(named(*SCRIPTS.values()))  # warnings are errors here
    with pytest.warns(KragEvalWarning, match="No installed font"):
        plot_hits(named(*SCRIPTS.values()))


@pytest.mark.usefixtures("no_fonts")
def test_a_font_that_is_gone_since_matplotlib_looked_hides_no_other_of_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = font_manager.FontEntry(fname="/no/such/DejaVuSans.ttf", name="DejaVu Sans", style="normal", weight=400)
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist, gone])
    forget()
    assert choose_fonts(["Zeit, время"]) == (("DejaVu Sans",), "")


@pytest.mark.full
def test_a_matplotlib_that_does_not_join_letters_is_named_for_arabic_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_shapes_text", lambda: False)
    with pytest.warns(KragEvalWarning, match=r"without joining the letters\. Install matplotlib 3\.11 or later"):
        plot_hits(named(SCRIPTS["Arabic"]))
    plot_hits(named(*(name for script, name in SCRIPTS.items() if script != "Arabic")))


@pytest.mark.full
def test_the_style_of_the_user_changes_no_picture() -> None:
    plain = [picture.svg for picture in figures_of(named("bm25"))]
    with mpl.rc_context({"svg.fonttype": "path", "axes.facecolor": "red", "font.size": 20}):
        assert [picture.svg for picture in figures_of(named("bm25"))] == plain


WITHOUT_DISPLAY = """
import os, sys, warnings
warnings.simplefilter("error")
from krag_eval import evaluate
from krag_eval_report import build_report
from krag_eval_report.plots import plot_hits, write_plots
report = build_report({"한국어": evaluate([["a"]] * 12, [["a"]] * 12, k=1, metrics=["hit_rate"])})
print([path.name for path in write_plots(report, sys.argv[1])])
print(type(plot_hits(report)).__module__, "matplotlib.pyplot" in sys.modules)
"""


@pytest.mark.full
def test_no_display_is_needed_and_no_window_system_is_loaded(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHONUTF8": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT_DISPLAY, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == [
        "['hits.svg', 'hits.png', 'causes.svg', 'causes.png']",
        "krag_eval_report.plots.picture False",
    ]


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r'needs.*matplotlib.*pip install "krag-eval\[report\]"'):
        write_plots(named("bm25"), tmp_path)
    assert list(tmp_path.iterdir()) == []
