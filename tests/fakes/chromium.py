"""A person at a browser: headless Chromium through its DevTools protocol, over pipes, so that no port is open."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# The browser reads commands from descriptor 3 and writes to 4.
_START: Final = (
    "import fcntl, os, sys\n"
    "ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]\n"
    "for end, place in zip(ends, (3, 4)): os.dup2(end, place)\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)
_NAMED: Final = {
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "Backspace": 8,
}


@dataclass
class Page:
    """One page."""

    to: Any
    come: Any
    downloads: Path
    session: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers."""
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session and not method.startswith(("Browser.", "Target.")):
            told["sessionId"] = self.session
        self.to.write(json.dumps(told).encode() + b"\0")
        self.to.flush()
        while True:
            heard = self._next()
            if heard.get("id") == self._number:
                if "error" in heard:
                    raise AssertionError(f"{method}: {heard['error']}")
                answer: dict[str, Any] = heard["result"]
                return answer
            self.events.append(heard)

    def wait(self, method: str, **wanted: Any) -> dict[str, Any]:
        """The parameters of the first event of this kind, heard before or to come, and forgotten with those before it."""
        while True:
            while self.events:
                heard = self.events.pop(0)
                said: dict[str, Any] = heard.get("params", {})
                if heard.get("method") == method and all(said.get(name) == value for name, value in wanted.items()):
                    return said
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self.come.read(1)) != b"\0":
            if not byte:
                raise AssertionError("the browser has gone")
            data += byte
        heard: dict[str, Any] = json.loads(data)
        return heard

    def open(self, path: Path) -> None:
        """The page shows the file at `path` and is ready."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self._painted()

    def reload(self) -> None:
        """The page was loaded again."""
        self.events.clear()
        self.call("Page.reload")
        self._painted()

    def _painted(self) -> None:
        """The page is there and was painted: a browser drops keys that come before there is anything to see."""
        self.wait("Page.loadEventFired")
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def run(self, script: str) -> Any:
        """What `script` comes to, after its promise where it is one."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def press(self, key: str) -> None:
        """The key went down and up."""
        code = _NAMED.get(key, ord(key.upper()[0]))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Every key of `text` was pressed."""
        for key in text:
            self.press(key)

    def resize(self, width: int, height: int = 800) -> None:
        """The window is so large, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def downloaded(self) -> Path:
        """The next file that comes down whole."""
        begun = self.wait("Browser.downloadWillBegin")
        self.wait("Browser.downloadProgress", guid=begun["guid"], state="completed")
        return self.downloads / str(begun["suggestedFilename"])

    def screenshot(self) -> bytes:
        """A picture of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])


@contextmanager
def page_of(program: str, folder: Path, options: Sequence[str] = ()) -> Iterator[Page]:
    """A page in a fresh browser whose files lie in `folder`; the browser is gone afterwards."""
    read, to = os.pipe()
    come, write = os.pipe()
    (folder / "downloads").mkdir(parents=True)
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder / 'profile'}", "--no-first-run", *options, "about:blank"]
    browser = subprocess.Popen(
        [sys.executable, "-c", _START, str(read), str(write), *command],
        pass_fds=(read, write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read)
    os.close(write)
    try:
        with os.fdopen(to, "wb") as sending, os.fdopen(come, "rb") as hearing:
            page = Page(sending, hearing, folder / "downloads")
            target = page.call("Target.createTarget", url="about:blank")["targetId"]
            page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            downloads = {"behavior": "allow", "downloadPath": str(page.downloads), "eventsEnabled": True}
            page.call("Browser.setDownloadBehavior", **downloads)
            for domain in ("Page", "Runtime", "Network", "Log"):
                page.call(f"{domain}.enable")
            yield page
    finally:
        # Its own children too; nobody else is in its session.
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
