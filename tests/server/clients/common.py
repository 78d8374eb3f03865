"""What every client is asked for."""

import sys

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:5000"
DOG = "Ein Hund läuft über das Gras."


def check(condition, what):
    if not condition:
        raise SystemExit(f"not as expected: {what!r}")


def check_dog(text):
    check(isinstance(text, str) and "dog" in text.lower(), text)
