"""A headless Chromium, controlled over a pipe (DevTools protocol).

Every wait is bounded. Only processes that it started are stopped.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

WAIT_S = 60


def path():
    """Debian's chromium, or None."""
    return shutil.which("chromium")


class Browser:
    """One browser with one page."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-browser-")
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        self._read, self._write = ours_read, ours_write
        # It reads commands from descriptor 3 and answers on 4.
        self._process = subprocess.Popen(
            ["sh", "-c",
             f'exec "$@" 3<&{theirs_read} 4>&{theirs_write}',
             "sh", path(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync",
             "--no-default-browser-check", "--disable-default-apps",
             "--force-color-profile=srgb", "--font-render-hinting=none",
             f"--user-data-dir={self._folder.name}", "--remote-debugging-pipe",
             "about:blank"],
            pass_fds=(theirs_read, theirs_write), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder.name})
        os.close(theirs_read)
        os.close(theirs_write)
        self._rest = b""
        self._number = 0
        self.events = []
        self._session = None
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self):
        until = time.monotonic() + WAIT_S
        while True:
            pages = [target for target in
                     self.call("Target.getTargets")["targetInfos"]
                     if target["type"] == "page"]
            if pages:
                break
            if time.monotonic() > until:
                raise TimeoutError("the browser has no page")
            time.sleep(0.05)
        self._session = self.call("Target.attachToTarget", flatten=True,
                                  targetId=pages[0]["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _message(self, until):
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            block = os.read(self._read, 1 << 20)
            if not block:
                raise ConnectionError("the browser has ended")
            self._rest += block
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        """The browser's reply to a command."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            message = self._message(until)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        until = time.monotonic() + WAIT_S
        while all(event.get("method") != method for event in self.events):
            self.events.append(self._message(until))

    def show(self, file, width, scheme="light", media="screen"):
        """Loads a file; clears the list of events first."""
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=f"file://{file}")
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression):
        """Value of an expression of the test, to which the page's policy
        does not apply."""
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def picture(self, box=None, scale=1.0):
        """A PNG of a part {x, y, width, height} of the page, or of all."""
        if box is None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            box = {"x": 0, "y": 0, "width": size["width"],
                   "height": size["height"]}
        return base64.b64decode(self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={**box, "scale": scale})["data"])

    def printed(self):
        """The page as PDF, A4."""
        return base64.b64decode(self.call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69,
            preferCSSPageSize=False, printBackground=True)["data"])

    def close(self):
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, TimeoutError, RuntimeError,
                subprocess.TimeoutExpired):
            pass
        finally:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait(10)
            os.close(self._read)
            os.close(self._write)
            # Its last files may not be written yet.
            for _ in range(50):
                try:
                    self._folder.cleanup()
                    return
                except OSError:
                    time.sleep(0.1)
