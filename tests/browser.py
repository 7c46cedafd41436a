"""A real browser for tests: headless Chromium, controlled through a pipe (DevTools protocol)."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
WHY_NOT = f"no browser is installed (looked for {', '.join(NAMES)})"
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # the sandbox does not work as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


class Tab:
    """A page in the browser. `events` are its messages: console, errors, requests."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._last, self._rest = 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the browser and return its reply."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._last:
                assert "error" not in reply, reply["error"]
                return reply["result"]  # type: ignore[no-any-return]
            self.events.append(reply)

    def open(
        self, file: Path, *, script: bool = True, width: int = 1280, dark: bool = False
    ) -> None:
        """Load a file and wait until it has loaded."""
        self.events.clear()
        self.send("Emulation.setScriptExecutionDisabled", value=not script)
        self.resize(width)
        self.prefer("dark" if dark else "light")
        self.send("Page.navigate", url=file.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._next())

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme of the system, `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str, seconds: float = 10.0) -> bool:
        """Return whether an expression becomes true soon: a busy machine lays pages out late."""
        ends = time.monotonic() + seconds
        while not self.ask(expression):
            if time.monotonic() > ends:
                return False
            time.sleep(0.05)
        return True

    def box(self, selector: str, block: str = "center") -> dict[str, float]:
        """Scroll to an element and return its place in the window."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{found}.scrollIntoView({{block: '{block}', behavior: 'instant'}})")
        sides = "(({x, y, width, height}) => ({x, y, width, height}))"
        return self.ask(f"{sides}({found}.getBoundingClientRect())")  # type: ignore[no-any-return]

    def press(self, key: str) -> None:
        """Press a key; the element with the focus gets it."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send a mouse event: `mouseMoved`, `mousePressed`, `mouseReleased` or `mouseWheel`."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, file: Path) -> None:
        """Save what is in the window as a PNG."""
        made = self.send("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(made["data"]))

    def paper(self) -> bytes:
        """Return the page as a PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def troubles(self) -> list[str]:
        """Return the errors and console messages of the page."""
        self.ask("1")  # earlier events have arrived once this has
        bad = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"]) for e in self.events if e.get("method") in bad]

    def requests(self) -> list[str]:
        """Return the addresses that the page requested."""
        self.ask("1")
        asked = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in asked]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)  # type: ignore[no-any-return]


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser with one tab; it ends with the block."""
    if BROWSER is None:
        pytest.skip(WHY_NOT)
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    # The browser reads from descriptor 3 and writes to 4, so our ends are first moved elsewhere.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]
    line = "import os, sys; os.dup2({}, 3); os.dup2({}, 4); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", line.format(*ends), BROWSER, *_OPTIONS]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={profile}"],
        pass_fds=ends,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )
    for end in (to_read, to_write, *ends):
        os.close(end)
    try:
        yield Tab(write, read)
    finally:
        os.close(write)
        os.close(read)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
