"""A page from a template: whatever the values are, they stay text, and only the page's own scripts and styles run."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from kcsim.scenarios.views.html.single_file import render_page


def rendered(folder: Path, **values: Any) -> str:
    (folder / "a.html").write_text(
        '{% extends "base.html" %}{% block body %}<p title="{{ value }}">{{ value }}</p>{% endblock %}', encoding="utf-8"
    )
    (folder / "a.css").write_text("p { margin: 0; }", encoding="utf-8")
    (folder / "a.js").write_text('const a = "</p>{{ value }}";', encoding="utf-8")
    return render_page([folder], "a.html", ["a.css"], ["a.js"], **values)


def test_a_value_that_is_markup_is_shown_as_text(tmp_path: Path) -> None:
    page = rendered(tmp_path, title="</title><script>", value='"><script>alert(1)</script>')
    assert '<p title="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">' in page
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in page
    assert page.count("<script>") == 1


def test_characters_that_change_the_direction_of_text_are_replaced(tmp_path: Path) -> None:
    assert '<p title="a\ufffdb\n\ufffd">' in rendered(tmp_path, title="", value="a\u202eb\n\x07")


def test_own_markup_scripts_and_styles_are_inserted_as_they_are(tmp_path: Path) -> None:
    page = rendered(tmp_path, title="", value=Markup("<b>bold</b>"))
    assert "<b>bold</b></p>" in page
    assert '<script>const a = "</p>{{ value }}";</script>' in page
    assert "p { margin: 0; }</style>" in page


@pytest.mark.parametrize("element", ["script", "style"])
def test_the_policy_allows_the_scripts_and_styles_of_the_page_only(tmp_path: Path, element: str) -> None:
    page = rendered(tmp_path, title="", value="")
    content = re.search(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
    assert content is not None
    digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
    assert f"{element}-src 'sha256-{digest}';" in page
    assert "default-src 'none'" in page


def test_a_name_that_has_no_value_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError):
        rendered(tmp_path, title="")
