# SPDX-License-Identifier: MIT
"""
browser: drives a headless Chromium through chromedriver (WebDriver, JSON over HTTP), with nothing
but Python's library. Debian: chromium, chromium-driver.
"""
import base64
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self, folder, size="1500,900", options=()):
        environment = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder, TMPDIR=folder)
        self.log = open(os.path.join(folder, "chromedriver.log"), "w+", encoding="utf-8")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=self.log, stderr=subprocess.STDOUT,
                                       env=environment)
        self.port = self.session = None
        try:
            self.port = self.wait(self.find_port, 30)
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--window-size=" + size, "--force-device-scale-factor=1", "--hide-scrollbars",
                         "--user-data-dir=" + tempfile.mkdtemp(dir=folder), *options]
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": arguments, "binary": "/usr/bin/chromium"},
                "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": 120000, "pageLoad": 120000}}}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def find_port(self):
        text = open(self.log.name, encoding="utf-8").read()
        found = re.search(r"successfully on port (\d+)", text)
        if not found and self.driver.poll() is not None:
            raise RuntimeError("chromedriver: " + text)
        return found and int(found.group(1))

    def call(self, method, path, body=None):
        if self.session:
            path = "/session/" + self.session + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError("%s %s: %s" % (method, path, error.read().decode()[:1000])) from None

    @staticmethod
    def wait(condition, seconds):
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError("the browser does not get there in %d s" % seconds)
            time.sleep(0.02)

    def open(self, path):
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": "file://" + path})

    def ready(self, seconds=60):
        self.wait(lambda: self.run("return !!(window.view && view.ready && view.frames.length)"), seconds)

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def cdp(self, command, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def pointer(self, *steps):
        """Steps: ("move", x, y), ("down",), ("up",), of a mouse."""
        actions = []
        for step in steps:
            if step[0] == "move":
                actions.append({"type": "pointerMove", "x": step[1], "y": step[2], "duration": 20, "origin": "viewport"})
            else:
                actions.append({"type": "pointer" + step[0].capitalize(), "button": 0})
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def wheel(self, x, y, delta):
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": delta, "origin": "viewport"}]}]})

    def keys(self, text):
        actions = []
        for key in text:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def errors(self):
        """Errors of scripts, and what the content policy refused."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()
