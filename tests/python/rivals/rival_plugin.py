"""The pytest plugin of `run`: installs the drop-in before any test is imported, and reports each outcome."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

import dragoman.compat

_SUITE = os.environ["DRAGOMAN_RIVAL_SUITE"]
_REPORT = os.environ["DRAGOMAN_RIVAL_REPORT"]

dragoman.compat.install(_SUITE)
_settings = importlib.import_module(f"suites.{_SUITE}")
if hasattr(_settings, "before_collection"):
    _settings.before_collection()


def _write(test: str, outcome: str) -> None:
    # Line by line, so that a crash loses nothing.
    with open(_REPORT, "a", encoding="utf-8") as file:
        file.write(json.dumps([test, outcome]) + "\n")


def pytest_collectreport(report: Any) -> None:
    if report.outcome != "passed" and report.nodeid.endswith(".py"):
        _write(report.nodeid, "file")


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        expected = hasattr(report, "wasxfail") and report.outcome == "skipped"
        _write(report.nodeid, "passed" if expected else report.outcome)
