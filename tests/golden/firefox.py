# SPDX-License-Identifier: MIT
"""
firefox: drives a headless Firefox through Marionette (JSON over a socket), with nothing but Python's
library. Debian: firefox-esr.
"""
import base64
import json
import os
import socket
import subprocess
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Firefox:
    def __init__(self, folder, size=(1500, 900)):
        profile = os.path.join(folder, "profile")
        os.mkdir(profile)
        port = free_port()
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            for key, value in (("marionette.port", port), ("datareporting.policy.dataSubmissionEnabled", False),
                               ("app.update.enabled", False), ("network.captive-portal-service.enabled", False),
                               ("browser.shell.checkDefaultBrowser", False), ("ui.prefersReducedMotion", 1)):
                file.write('user_pref("%s", %s);\n' % (key, json.dumps(value)))
        self.log = open(os.path.join(folder, "firefox.log"), "w+", encoding="utf-8")
        environment = dict(os.environ, HOME=folder, TMPDIR=folder, MOZ_HEADLESS_WIDTH=str(size[0]), MOZ_HEADLESS_HEIGHT=str(size[1]))
        self.process = subprocess.Popen(["firefox-esr", "--headless", "--no-remote", "--marionette", "-remote-allow-system-access", "--profile", profile],
                                        stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        self.number, self.socket = 0, None
        try:
            self.connect(port)
            self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "normal"}}})
            self.call("WebDriver:SetWindowRect", {"width": size[0], "height": size[1]})
        except BaseException:
            self.close()
            raise

    def connect(self, port):
        end = time.monotonic() + 60
        while not self.socket:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError("firefox: " + open(self.log.name, encoding="utf-8").read()[-2000:]) from None
                time.sleep(0.1)
        self.bytes = self.socket.makefile("rb")
        self.read()

    def read(self):
        size = b""
        while not size.endswith(b":"):
            byte = self.bytes.read(1)
            if not byte:
                raise RuntimeError("firefox has ended")
            size += byte
        return json.loads(self.bytes.read(int(size[:-1])))

    def call(self, command, parameters=None):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters or {}]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self.read()
        assert number == self.number
        if error:
            raise RuntimeError("%s: %s" % (command, error["message"]))
        return result

    def run(self, script, *arguments):
        """`script` is the body of a function, and may wait with `await`."""
        script = "return (async function () {" + script + "\n}).apply(null, arguments);"
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": list(arguments), "sandbox": None})["value"]

    def open(self, path):
        self.call("WebDriver:Navigate", {"url": "about:blank"})
        self.call("WebDriver:Navigate", {"url": "file://" + path})

    def ready(self, seconds=60):
        end = time.monotonic() + seconds
        while not self.run("return !!(window.view && view.ready && view.frames.length)"):
            if time.monotonic() > end:
                raise RuntimeError("the page is not ready in %d s" % seconds)
            time.sleep(0.02)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def act(self, *sources):
        self.call("WebDriver:PerformActions", {"actions": list(sources)})

    def pointer(self, *steps):
        """Steps: ("move", x, y), ("down",), ("up",), of a mouse."""
        actions = [{"type": "pointerMove", "x": step[1], "y": step[2], "duration": 20, "origin": "viewport"} if step[0] == "move"
                   else {"type": "pointer" + step[0].capitalize(), "button": 0} for step in steps]
        self.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions})

    def wheel(self, x, y, delta):
        self.act({"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta, "duration": 0, "origin": "viewport"}]})

    def keys(self, text):
        self.act({"type": "key", "id": "keys", "actions": [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", {"full": False})["value"]))

    def errors(self):
        """Errors and warnings of pages from disk: of scripts, styles, and what the content policy refused."""
        self.call("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.run("""
                return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && m.sourceName.startsWith("file:"))
                    .map((m) => m.category + ": " + m.errorMessage);""")
        finally:
            self.call("Marionette:SetContext", {"value": "content"})

    def close(self):
        try:
            if self.socket:
                self.call("Marionette:Quit", {"flags": ["eForceQuit"]})
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
