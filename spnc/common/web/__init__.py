"""What all pages share: colours and text, the button for dark colours, and their safety."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any


def base_style() -> str:
    """Return the style with which that of a page begins."""
    return text_of("spnc.common.web", "base.css")


def theme_script() -> str:
    """Return the script of the button with the class `theme`, which chooses light or dark."""
    return text_of("spnc.common.web", "theme.js")


def text_of(package: str, name: str) -> str:
    """Return the text of a file in a package."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def policy_of(script: str) -> str:
    """Return a content security policy that allows this script only, and no connections.

    A name that got past escaping could neither run nor send anything.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def script_json(content: Any) -> str:
    """Return data as JSON for a script element, which no value in it can close."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
