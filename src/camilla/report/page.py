"""The page itself: one file, a content-security policy by hashes, text that cannot become markup."""

import base64
import hashlib
from html import escape
from importlib import resources
from typing import Any

from camilla.report.packing import packed

TEMPLATE = """<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="camilla {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>{plain}</noscript>
<div id="app"></div>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(document: dict[str, Any], *, title: str, plain: str, version: str) -> str:
    """The whole HTML; `plain` is markup already, `title` is not."""
    style, script = (_static(name) for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return TEMPLATE.format(
        policy=policy, version=escape(version), title=escape(title), style=style, plain=plain,
        data=packed(document), script=script,
    )  # fmt: skip


def _static(name: str) -> str:
    return resources.files("camilla.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
