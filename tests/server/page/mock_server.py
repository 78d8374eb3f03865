"""A stand-in for `dragoman serve` that answers at once and as it is told: the page's files, and the routes that the page asks.

A "translation" turns each word round; a text that contains one of the words below is answered in that way."""
import http.server
import json
import pathlib
import re
import sys
import threading
import time

WEB = pathlib.Path(__file__).resolve().parents[3] / "server/page/web"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
KEY = "secret"


def policy():
    """The policy of the real server, from its source."""
    source = (WEB.parent / "src/page.cpp").read_text()
    parts = re.search(r'"Content-Security-Policy",\s*((?:"[^"]*"\s*)+)\)', source).group(1)
    return "".join(re.findall(r'"([^"]*)"', parts))


def translation(text, body):
    if text.startswith("<"):
        words = text.split()
        best = text
    else:
        terms = {term["source"]: term["target"] for term in body.get("glossary", [])}
        best = " ".join(terms.get(word, word[::-1]) for word in text.split())
        words = best.split()
    prefix = body.get("target_prefix", "")
    n_best = body.get("n_best", 1)
    rest = words[len(prefix.split()):]

    def one(number):
        tail = rest if number == 0 or not rest else [rest[0] + "x" * number, *rest[1:]]
        tokens = [f"▁{word}" for word in [*prefix.split(), *tail]]
        source = text.split()
        alignment = [] if len(source) > 100 else [[0.9 if i == j else 0.1 / max(1, len(source) - 1) for j in range(len(source) + 1)] for i in range(len(tokens) + 1)]
        return {"text": " ".join([*prefix.split(), *tail]), "score": -1 - number, "log_probability": -1.0, "tokens": tokens,
                "token_log_probabilities": [-0.05 - 1.2 * (i % 3 == 2) for i in range(len(tokens) + 1)], "alignment": alignment}

    listed = [one(i) for i in range(n_best)]
    return {"text": listed[0]["text"], "source": "de", "confidence": 0.97, "alternatives": [other["text"] for other in listed[1:]],
            "sentences": [{"source": text, "source_tokens": [f"▁{word}" for word in text.split()] + ["</s>"], "translations": listed}]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = []      # bodies of /v1/translate
    needs_key = False

    def log_message(self, *_):
        pass

    def answer(self, status, body, content_type="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        path = "/page/index.html" if self.path == "/" else self.path
        if path.startswith("/page/"):
            file = WEB / path.removeprefix("/page/")
            self.answer(200, file.read_bytes(), TYPES[file.suffix], [("Content-Security-Policy", policy()), ("X-Content-Type-Options", "nosniff")])
        elif path == "/v1/models":
            codes = [("de", "German"), ("en", "English"), ("ar", "Arabic")]
            self.answer(200, {"models": [], "languages": [{"code": code, "name": name, "targets": [other for other, _ in codes if other != code]} for code, name in codes]})
        elif path == "/frontend/settings":
            self.answer(200, {"charLimit": 5000, "filesTranslation": True, "supportedFilesFormat": [".txt", ".html"], "keyRequired": False})
        elif path.startswith("/download_file/"):
            self.answer(200, b"elif", "text/plain", [("Content-Disposition", 'attachment; filename="file_en.txt"')])
        else:
            self.answer(404, {"error": "there is nothing at this address"})

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/translate_file":
            time.sleep(0.3)
            return self.answer(200, {"translatedFileUrl": "http://elsewhere.example/download_file/abc.txt"})
        body = json.loads(data)
        if Handler.needs_key and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.answer(401, {"error": "a key is needed; ask the operator of the server"})
        Handler.asked.append(body)
        text = body["text"]
        if "tiredserver" in text:
            return self.answer(429, {"error": "too much at a time"}, headers=[("Retry-After", "2")])
        if "brokenserver" in text:
            return self.answer(500, {"error": "the server could not translate this; its log has the reason"})
        if "slowserver" in text:
            time.sleep(3)
        result = translation(text, body)
        if not body.get("stream"):
            return self.answer(200, {"translations": [result]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            words = result["text"].split()
            for i, word in enumerate(words[:40]):
                self.event("partial", {"index": 0, "more": (" " if i else "") + word, "tail": " …"})
                time.sleep(0.03)
            self.event("done", {"translations": [result]})
        except OSError:
            pass  # the page has gone on
        self.close_connection = True

    def event(self, name, data):
        # Cut in the middle, as networks do.
        part = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        self.wfile.write(part[:9])
        self.wfile.flush()
        self.wfile.write(part[9:])
        self.wfile.flush()


def start(port=0):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    print(start(int(sys.argv[1]) if len(sys.argv) > 1 else 5005).server_address)
    threading.Event().wait()
