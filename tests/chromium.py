"""A headless Chromium, driven over its debugging pipe: NUL-terminated JSON on its file descriptors 3 and 4.

It needs no library and no port, only the browser's own protocol (chromedevtools.github.io), as far as tests of a page use
it.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 300.0
LOOK_EVERY_MS = 5
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
NAVIGATED = "Inspected target navigated"
"""The browser's answer to an evaluation that was under way when the page was loaded anew."""
READS_FROM, WRITES_TO = 3, 4
TEXTS = {"Enter": "\r"}
"""Keys that make a text of another name: without it a button does not react to them."""
KEY_CODES = {" ": "Space", "?": "Slash", "/": "Slash"}


class NoBrowserError(Exception):
    """There is no Chromium on this machine."""

    def __init__(self) -> None:
        super().__init__("no Chromium found: Debian has it as the package chromium")


def find_chromium() -> str:
    """Return the path of a Chromium or a Chrome on this machine. Raises: NoBrowserError."""
    found = next((found for name in NAMES if (found := shutil.which(name))), None)
    if found is None:
        raise NoBrowserError
    return found


class BrowserError(Exception):
    """The browser refused a call, or did not answer in time; or a script of the page threw an exception."""


class Tab:
    """One page in the browser.

    Attributes:
        complaints: warnings and errors that it wrote to its console, uncaught exceptions, and each request for anything but
            the page itself.
    """

    def __init__(self, browser: "Chromium", session: str, url: str) -> None:
        self._browser = browser
        self._session = session
        self._url = url
        self.complaints: list[str] = []

    def call(self, method: str, **params: Any) -> Any:
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"]
            raise BrowserError(f"{expression}: {thrown.get('exception', {}).get('description', thrown['text'])}")
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true in the page. Raises: BrowserError, with its last value."""
        deadline = time.monotonic() + PATIENCE_S
        look = f"new Promise((look) => setTimeout(look, {LOOK_EVERY_MS})).then(() => {expression})"
        while not (seen := self._look(look)):
            if time.monotonic() > deadline:
                raise BrowserError(f"{expression} is still {seen!r}")

    def _look(self, expression: str) -> Any:
        """Return the value of an expression; None if the page is loaded anew meanwhile."""
        try:
            return self.evaluate(expression)
        except BrowserError as error:
            if NAVIGATED not in str(error):
                raise
            return None

    def wait_until_rendered(self) -> None:
        """Wait until the page is loaded and its scripts have drawn it."""
        self.wait_for("document.readyState === 'complete'")
        self.wait_for("typeof kcsim !== 'undefined' && kcsim.ready.then(() => true)")

    def reload(self) -> None:
        """Load the page anew, and wait until it is rendered."""
        self.evaluate("window.isBeforeReload = true")
        self.call("Page.reload")
        self.wait_for("!window.isBeforeReload")
        self.wait_until_rendered()

    def text(self, selector: str) -> str:
        """Return the visible text of an element."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Click on an element, as soon as the page has it."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{found} !== null")
        self.evaluate(f"{found}.click()")

    def press(self, key: str, shift: bool = False) -> None:
        """Press a key and release it, wherever the focus is."""
        key_event = {"key": key, "code": KEY_CODES.get(key, key), "modifiers": 8 * shift}
        if key in TEXTS or len(key) == 1:
            key_event["text"] = TEXTS.get(key, key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **key_event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key_event)

    def screenshot(self, path: Path) -> bytes:
        """Write the visible page as PNG, and return it."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(png)
        return png

    def close(self) -> None:
        self.call("Page.close")

    def heard(self, method: str, params: dict[str, Any]) -> None:
        """Record an event that the browser sends."""
        match method:
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(str([argument.get("value") for argument in params["args"]]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent" if not params["request"]["url"].startswith((self._url, "data:")):
                self.complaints.append(f"it asks for {params['request']['url']}")
            case _:
                pass


def _move(theirs_in: int, theirs_out: int) -> None:
    """Duplicate the pipes to the file descriptors at which the browser expects them, whatever their descriptors are here."""
    reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out))
    os.dup2(reads, READS_FROM)
    os.dup2(writes, WRITES_TO)


class Chromium:
    """A running browser; a context manager."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="kcsim-chromium-", ignore_cleanup_errors=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(READS_FROM, WRITES_TO),
            preexec_fn=lambda: _move(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._unread = b""
        self._next_id = 0
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        """Call a method of the browser, and return the answer. Raises: BrowserError."""
        self._next_id += 1
        asked = {"id": self._next_id, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while (message := self._read(deadline, method)).get("id") != self._next_id:
            if (tab := self._tabs.get(message.get("sessionId", ""))) is not None:
                tab.heard(message["method"], message["params"])
        if "error" in message:
            raise BrowserError(f"{method}: {message['error']['message']}")
        return message["result"]

    def _read(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise BrowserError(f"{method}: no answer within {PATIENCE_S:.0f} s")
            got = os.read(self._from, 1 << 20)
            if not got:
                raise BrowserError(f"{method}: the browser has ended")
            self._unread += got
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    @contextmanager
    def open(
        self, url: str, width: int = 1280, height: int = 800, *, dark: bool = False, density: float = 1
    ) -> Iterator[Tab]:
        """Open a page in a window of that size, and wait until it is rendered."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session, url.partition("#")[0])
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=density, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", features=[scheme])
        tab.call("Page.navigate", url=url)
        tab.wait_until_rendered()
        try:
            yield tab
        finally:
            del self._tabs[session]
            self.call("Target.closeTarget", targetId=target)
