"""Chromium, Firefox and WebKit behind one face, for tests of what browsers themselves do.

Firefox is driven by its own Marionette protocol, WebKit by WebDriver (W3C), which has the same commands;
Chromium by the Playwright of all other tests. Nothing of them leaves the machine.
"""

import json
import os
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from tests.ports import free_port
from tests.programs import firefox, minibrowser
from tools.benchmarks.sites import die_with_parent

PATIENCE = 30  # seconds; a test that passes does not wait that long
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver §12
_COMMANDS = {  # the names of Marionette, and the endpoints of WebDriver §8
    "Navigate": ("POST", "/url"),
    "GetCurrentURL": ("GET", "/url"),
    "Refresh": ("POST", "/refresh"),
    "ExecuteScript": ("POST", "/execute/sync"),
    "AddCookie": ("POST", "/cookie"),
    "DeleteAllCookies": ("DELETE", "/cookie"),
    "NewWindow": ("POST", "/window/new"),
    "SwitchToWindow": ("POST", "/window"),
    "GetWindowHandle": ("GET", "/window"),
    "CloseWindow": ("DELETE", "/window"),
    "FindElement": ("POST", "/element"),
    "ElementClick": ("POST", "/element/{id}/click"),
    "ElementSendKeys": ("POST", "/element/{id}/value"),
    "GetElementText": ("GET", "/element/{id}/text"),
}


class EngineError(Exception):
    """The browser refused a command, for example because it is on the way to another page."""


class Engine(ABC):
    """A browser with one person in front of it."""

    @abstractmethod
    def open(self, url: str) -> None:
        """Goes to an address, as if it were typed."""

    @abstractmethod
    def run(self, script: str) -> Any:
        """What the body of a function returns in the page. Raises `EngineError`."""

    @abstractmethod
    def reload(self) -> None:
        """The button that loads the page anew; the browser sends a form once more."""

    @abstractmethod
    def begin(self, url: str, cookies: dict[str, str]) -> None:
        """Forgets everything, and has these cookies of the site at `url`."""

    @abstractmethod
    def new_tab(self) -> Callable[[], None]:
        """Opens a tab and goes there. Returns what goes back to the tab before."""

    @abstractmethod
    def close(self) -> None:
        """Ends the browser."""

    @property
    def url(self) -> str:
        return str(self.run("return location.href"))

    def until(self, script: str) -> Any:
        """Waits until this returns something true, in whichever page is loaded by then."""
        ends, last = monotonic() + PATIENCE, ""
        while monotonic() < ends:
            with suppress(EngineError):
                if found := self.run(script):
                    return found
                last = self.run("return location.href + ' ' + document.body?.innerText")
        raise AssertionError(f"waited for {script} at {last}")

    def back(self) -> None:
        """Goes back as the button does."""
        self.run("setTimeout(() => history.back())")

    def sees(self, words: str) -> None:
        """Waits until the loaded page has these words."""
        self.until(
            "return document.readyState === 'complete' && "
            f"document.body.innerText.includes({json.dumps(words)})"
        )

    def press(self, selector: str) -> None:
        """Presses the button as a script does, as soon as it is there."""
        self.until(f"return document.readyState === 'complete' && !!document.querySelector('{selector}')")
        self.run(f"setTimeout(() => document.querySelector('{selector}').click())")


class Chromium(Engine):
    """A context of Playwright’s browser."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.context = browser, None

    def open(self, url: str) -> None:
        self.page.goto(url)

    def run(self, script: str) -> Any:
        from playwright.sync_api import Error

        try:
            return self.page.evaluate(f"(() => {{ {script} }})()")
        except Error as error:
            raise EngineError(str(error)) from error

    def reload(self) -> None:
        self.page.reload()

    def begin(self, url: str, cookies: dict[str, str]) -> None:
        self.close()
        self.context = self.browser.new_context(locale="en-GB")
        self.context.add_cookies([{"name": n, "value": v, "url": url} for n, v in cookies.items()])
        self.page = self.context.new_page()

    def new_tab(self) -> Callable[[], None]:
        before, self.page = self.page, self.context.new_page()

        def go_back() -> None:
            self.page.close()
            self.page = before

        return go_back

    def close(self) -> None:
        if self.context:
            self.context.close()


class Driven(Engine):
    """A browser that takes the commands of WebDriver."""

    @abstractmethod
    def command(self, name: str, **parameters: Any) -> Any:
        """What the browser returns. Raises `EngineError`."""

    def open(self, url: str) -> None:
        self.command("Navigate", url=url)

    def run(self, script: str) -> Any:
        return self.command("ExecuteScript", script=script, args=[])

    def reload(self) -> None:
        self.command("Refresh")

    def begin(self, url: str, cookies: dict[str, str]) -> None:
        self.open(f"{url}/static/mark.svg")  # cookies are of the site that is open
        self.command("DeleteAllCookies")
        for name, value in cookies.items():
            self.command("AddCookie", cookie={"name": name, "value": value, "httpOnly": True})

    def click(self, words: str) -> None:
        """Clicks the button or link with these words as a pointer does, as soon as a pointer reaches it."""
        named = " | ".join(f"//{tag}[contains(normalize-space(), '{words}')]" for tag in ("button", "a"))
        self._soon("ElementClick", "xpath", named)

    def type(self, selector: str, text: str) -> None:
        """Types this into a field, key by key."""
        self._soon("ElementSendKeys", "css selector", selector, text=text)

    def text(self, selector: str) -> str:
        """What people read in the first element that matches, as soon as there is one."""
        return str(self._soon("GetElementText", "css selector", selector))

    def _soon(self, name: str, using: str, value: str, **parameters: Any) -> Any:
        """What the command for an element returns, as soon as the browser does not refuse it."""
        ends = monotonic() + PATIENCE
        while True:
            try:
                found = self.command("FindElement", using=using, value=value)
                return self.command(name, id=found[_ELEMENT], **parameters)
            except EngineError as error:
                if monotonic() > ends:
                    raise AssertionError(f"waited for {value} at {self.url}: {error}") from None

    def new_tab(self) -> Callable[[], None]:
        before = self.command("GetWindowHandle")
        self.command("SwitchToWindow", handle=self.command("NewWindow", type="tab")["handle"])

        def go_back() -> None:
            self.command("CloseWindow")
            self.command("SwitchToWindow", handle=before)

        return go_back


class Firefox(Driven):
    """Firefox without a window. A proxy that is not there keeps it on this machine."""

    def __init__(self, *, scripts: bool = True) -> None:
        self._stack, port, self._sent = ExitStack(), free_port(), 0
        profile = self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        preferences = {
            "marionette.port": port,
            "intl.accept_languages": "en-GB",
            "javascript.enabled": scripts,
            "security.webauth.webauthn_enable_softtoken": True,  # for `authenticator`
            "security.webauth.webauthn_enable_usbtoken": False,
            "security.webauthn.enable_conditional_mediation": False,  # the button is what counts
            "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1",
            "network.proxy.http_port": 9,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": 9,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(v)});" for name, v in preferences.items()]
        Path(profile, "user.js").write_text("\n".join(lines))
        words = [firefox() or "", "--headless", "--marionette", "--no-remote", "--profile", profile]
        self._stack.enter_context(_ended(_started(words, HOME=profile)))
        self._socket = self._stack.enter_context(_connected(port))
        self._file = self._stack.enter_context(self._socket.makefile("rb"))
        self._received()  # its name and version
        self.command("NewSession", unhandledPromptBehavior="accept")

    def command(self, name: str, **parameters: Any) -> Any:
        return self._send(f"WebDriver:{name}", parameters)

    def _send(self, name: str, parameters: Any) -> Any:
        self._sent += 1
        text = json.dumps([0, self._sent, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _type, _number, error, result = self._received()
        if error:
            raise EngineError(error["message"])
        return result["value"] if isinstance(result, dict) and set(result) == {"value"} else result

    @contextmanager
    def authenticator(self) -> Iterator[None]:
        """Has an authenticator that keeps passkeys and verifies its user at once, while the block runs."""
        kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
        person = {"hasUserVerification": True, "isUserVerified": True, "isUserConsenting": True}
        made = self._send("WebAuthn:AddVirtualAuthenticator", kind | person)
        try:
            yield
        finally:
            self._send("WebAuthn:RemoveVirtualAuthenticator", {"authenticatorId": made})

    def _received(self) -> Any:
        size = b""
        while (character := self._file.read(1)) != b":":
            size += character
        return json.loads(self._file.read(int(size)))

    def reload(self) -> None:
        """Its question whether to send a form once more is accepted by whichever command comes next."""
        loaded = self.run("return performance.timeOrigin")
        self.run("setTimeout(() => location.reload())")
        self.until(f"return performance.timeOrigin !== {loaded}")

    def close(self) -> None:
        self._stack.close()


class WebKit(Driven):
    """WebKitGTK’s MiniBrowser on a screen of its own."""

    def __init__(self, *, scripts: bool = True) -> None:
        self._stack, self._port, self._session = ExitStack(), free_port(), ""
        home = self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        reading, writing = os.pipe()
        screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x1600x24", "-nolisten", "tcp"]
        self._stack.enter_context(_ended(_started(screen, keep=[writing])))
        os.close(writing)
        with os.fdopen(reading) as numbers:
            display = f":{numbers.readline().strip()}"
        surroundings = {
            "DISPLAY": display,
            "HOME": home,
            "LANG": "en_GB.UTF-8",
            "GDK_BACKEND": "x11",
            "NO_AT_BRIDGE": "1",
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",  # it needs rights that containers do not give
        }
        driver = ["WebKitWebDriver", f"--port={self._port}", "--host=127.0.0.1"]
        self._stack.enter_context(_ended(_started(driver, **surroundings)))
        _connected(self._port).close()
        words = ["--automation", f"--enable-javascript={str(scripts).lower()}"]
        options = {"binary": minibrowser(), "args": words}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        self._session = f"/session/{self._send('POST', '/session', wanted)['sessionId']}"
        self._went_back = False

    def begin(self, url: str, cookies: dict[str, str]) -> None:
        """In a new browser, if this one went back: its driver may then wait for a page that is no more."""
        if self._went_back:
            self.close()
            self.__init__()  # type: ignore[misc]
        super().begin(url, cookies)

    def back(self) -> None:
        super().back()
        self._went_back = True

    def command(self, name: str, **parameters: Any) -> Any:
        method, path = _COMMANDS[name]
        path = path.format(id=parameters.pop("id", ""))
        return self._send(method, path, parameters if method == "POST" else None)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{self._session}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise EngineError(error.read().decode()) from None

    def close(self) -> None:
        self._stack.close()  # without its screen the browser ends as well


def _started(words: list[str], *, keep: list[int] | None = None, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        env=os.environ | variables,
        pass_fds=keep or (),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
    )


def _ended(process: subprocess.Popen[bytes]) -> ExitStack:
    """Ends the process and waits for its end, when the block is left."""
    stack = ExitStack()
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return stack


def _connected(port: int) -> socket.socket:
    """A connection to a program that is about to listen."""
    ends = monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except OSError:
            if monotonic() > ends:
                raise
