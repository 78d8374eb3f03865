"""A headless Chromium, by the protocol of WebDriver, with Python's standard library alone."""
import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "ArrowUp": "\ue013",
        "Control": "\ue009", "Alt": "\ue00a", "Shift": "\ue008"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """What the browser lacks, or nothing."""
    lacking = [program for program in ("chromium", "chromedriver") if shutil.which(program) is None]
    return f"there is no {' and no '.join(lacking)}" if lacking else ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    def __init__(self, width, height, language="en-US", dark=False):
        port = free_port()
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}", "--log-level=OFF"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.address = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", f"--window-size={width},{height}", f"--lang={language}",
                     f"--accept-lang={language}"]
        options = {"args": arguments + (["--force-dark-mode"] if dark else []), "prefs": {"intl.accept_languages": language}}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "unhandledPromptBehavior": "accept"}
        for _ in range(100):
            try:
                self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
                break
            except OSError:
                time.sleep(0.1)
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, headers={"Content-Type": "application/json"},
                                         data=json.dumps(body or {}).encode() if method == "POST" else None)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"][:400]) from error

    def __call__(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def command(self, name, **parameters):
        return self("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, url):
        self("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """The last key with the others held, where the focus is."""
        *held, key = [KEYS.get(key, key) for key in keys]
        actions = [{"type": "keyDown", "value": one} for one in [*held, key]] + [{"type": "keyUp", "value": one} for one in [key, *reversed(held)]]
        self("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def hover(self, selector, number=0):
        element = self("POST", "/elements", {"using": "css selector", "value": selector})[number]
        move = {"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0}
        self("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def wait(self, script, what, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(f"return ({script})")
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {seconds} s; the page says {self.text('main')[:300]!r}")

    def picture(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self("GET", "/screenshot")))

    def complaints(self):
        """What stands in the console, violations of the policy among them."""
        return [entry["message"] for entry in self("POST", "/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def close(self):
        try:
            self("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
