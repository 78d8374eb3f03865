#!/usr/bin/env python3
"""bench/compare translate without its rival: what it refuses, what it chooses, and that it finds what differs."""
import contextlib
import dataclasses
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRATCH = tempfile.TemporaryDirectory()
os.environ["DRAGOMAN_RIVALS"] = SCRATCH.name
sys.path.insert(0, str(ROOT / "bench"))
from rivals import agreement, ctranslate2_rival, gpu, models, process, translation  # noqa: E402: found by the line above

SOURCES = ["Zwei Hunde spielen im Schnee.", "Ein Mann schläft.", "Eine Frau liest ein Buch im Park.", "Kinder laufen am Strand."]


def compare(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/compare", *arguments], capture_output=True, text=True)


class Refusals(unittest.TestCase):
    def test_a_beam_of_one_is_no_beam(self):
        result = compare("translate", "--search", "beam1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--search beam1: use greedy, or beam and a number above 1", result.stderr)

    def test_a_folder_without_a_model_is_named(self):
        result = compare("translate", "--model", SCRATCH.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{SCRATCH.name} is no model folder", result.stderr)

    def test_a_model_with_random_weights_has_no_quality(self):
        arguments = dataclasses.make_dataclass("Arguments", ["threads"])([1])
        model = bundled(length=3)
        with self.assertRaisesRegex(SystemExit, "wants a trained model"), contextlib.redirect_stdout(io.StringIO()):
            translation.report_quality([model], [], arguments)

    def test_what_exceeds_its_limit_is_given_up(self):
        with self.assertRaises(TimeoutError):
            process.measure(["sleep", "20"], limit=0.2)


class ChosenProducts(unittest.TestCase):
    def notes_of(self, first_run):
        told = io.StringIO()
        with tempfile.TemporaryDirectory() as cache, unittest.mock.patch.object(gpu, "CACHE", pathlib.Path(cache)), \
                unittest.mock.patch.dict(os.environ), contextlib.redirect_stdout(told):
            self.assertEqual(gpu.with_products_chosen(first_run), "result")
        return told.getvalue()

    def test_the_folder_is_one_of_the_comparisons(self):
        self.assertTrue(gpu.CACHE.is_relative_to(SCRATCH.name))

    def test_those_that_are_not_kept_are_noted(self):
        self.assertIn("no choices of products were kept", self.notes_of(lambda: "result"))

    def test_timed_runs_find_those_of_the_first(self):
        def first_run():
            folder = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "dragoman"
            folder.mkdir()
            (folder / "products-0.txt").touch()
            return "result"
        self.assertEqual(self.notes_of(first_run), "")


def bundled(length=0, lines=8):
    model = models.Model("bundled", ROOT / "examples/multi30k/model", length)
    model.take_texts(SOURCES * (lines // len(SOURCES)), None)
    return model


class RatesRival:
    """Translates as fast as a function of its settings says."""
    name = "rival"

    def __init__(self, rate):
        self.rate = rate
        self.asked = []

    def translate(self, model, search, compute, setting, environment, limit=None, **more):
        rows = []
        for batch in setting.batches:
            one = dataclasses.replace(setting, batches=[batch])
            self.asked.append(one)
            rows.append({"batch": batch, "wall": 1000 / self.rate(one), "tokens": 1000})
        return [row for row in rows if limit is None or row["wall"] <= limit]


class BestSetting(unittest.TestCase):
    def best(self, rate, isa="avx2", threads=2):
        self.rival = RatesRival(rate)
        model = dataclasses.make_dataclass("Model", ["work"])(pathlib.Path(SCRATCH.name))
        return ctranslate2_rival.best_setting(self.rival, model, models.Search.named("beam4"), "int8", threads, isa)

    def test_each_part_of_the_best_is_found(self):
        for layout in ((2, 1), (1, 2)):
            for library in ctranslate2_rival.LIBRARIES:
                for batch in [ctranslate2_rival.FIRST_BATCH, *ctranslate2_rival.OTHER_BATCHES]:
                    wanted = ctranslate2_rival.Setting(layout, library, [batch])
                    best = self.best(lambda one: 100 + 40 * (one.layout == layout) + 20 * (one.library == library) +
                                     10 * (one.batches == [batch]))
                    self.assertEqual(best, wanted)

    def test_layouts_use_all_threads(self):
        self.best(lambda one: 100, threads=6)
        self.assertEqual({one.layout for one in self.rival.asked}, {(6, 1), (3, 2), (2, 3), (1, 6)})

    def test_a_hopeless_setting_is_left_out(self):
        best = self.best(lambda one: 0.001 if one.layout == (1, 2) else 100)
        self.assertEqual(best.layout, (2, 1))


class Ratio(unittest.TestCase):
    def test_each_is_taken_at_its_best_type(self):
        rows = [translation.Row("dragoman", "fp32", "", 1000, 2.0, 4.0, 50, None),
                translation.Row("dragoman", "int8", "", 1010, 1.0, 2.0, 40, None),
                translation.Row("rival", "fp32", "", 1000, 2.5, 6.0, 100, None),
                translation.Row("rival", "int8", "", 1000, 4.0, 8.0, 80, None)]
        # 1010 tokens/s against 400; 6 against 2/1.01 processor seconds for 1000 tokens; 40 MB against 100.
        self.assertEqual(translation.ratio(RatesRival(None), "SETTING", rows),
                         "ratio rival SETTING 2.52   (int8 against fp32, CPU 3.03, memory 40% of theirs)")


class Report(unittest.TestCase):
    def noted(self, wall, cpu):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            translation.report("title", [translation.Row("dragoman", "int8", "", 1000, wall, cpu, 40, None)])
        return "dragoman int8 took far more time than work" in printed.getvalue()

    def test_a_program_that_waited_for_others_is_named(self):
        self.assertTrue(self.noted(wall=4.0, cpu=2.0))
        self.assertFalse(self.noted(wall=2.2, cpu=2.0))
        self.assertFalse(self.noted(wall=1.1, cpu=2.0))


class CopyingRival:
    """Gives back Dragoman's own greedy translations, with some lines spoilt, and their scores times a factor."""
    name = "rival"

    def __init__(self, spoilt=(), factor=1.0):
        self.spoilt = spoilt
        self.factor = factor

    def translate(self, model, search, compute, setting, environment, output, scores, **more):
        records = agreement.our_translations(model, search, compute, 1)
        texts = [record["text"] for record in records]
        for line in self.spoilt:
            texts[line] += " also"
        models.write_lines(model.work / "copied", texts)
        model.encode("target", model.work / "copied", output)
        models.write_lines(scores, (repr(record["score"] * self.factor) for record in records))


class Checks(unittest.TestCase):
    def checked(self, rival, search, lines=8):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            agreement.check_translations(rival, bundled(lines=lines), models.Search.named(search), 1)
        return printed.getvalue()

    def test_equal_translations_pass(self):
        self.assertIn("0 of 8 translations differ", self.checked(CopyingRival(), "beam4"))

    def test_another_translation_of_another_score_is_no_tie(self):
        with self.assertRaisesRegex(SystemExit, "the searches differ: lines 4, 8$"):
            self.checked(CopyingRival(spoilt=(3, 7)), "beam4")

    def test_a_greedy_search_may_part_at_a_tie_only(self):
        with self.assertRaisesRegex(SystemExit, "the searches differ: lines 4, 8$"):
            self.checked(CopyingRival(spoilt=(3, 7)), "greedy")

    def test_greedy_searches_part_at_a_tie_and_go_their_ways(self):
        ours = {"tokens": ["a", "b", "c"], "token_log_probabilities": [-1.0, -2.0, -3.0, -0.1]}
        tied = {"tokens": ["a", "x", "y", "z"], "token_log_probabilities": [-1.0, -2.0005, -9.0, -9.0, -0.1]}
        ended = {"tokens": ["a"], "token_log_probabilities": [-1.0, -2.1]}
        self.assertTrue(agreement.greedy_tie(ours, tied))
        self.assertFalse(agreement.greedy_tie(ours, ended))

    def test_one_line_in_two_hundred_may_differ(self):
        self.assertIn("1 of 200 translations differ in fp32, 0 of them ties (1 also by `dragoman score`)",
                      self.checked(CopyingRival(spoilt=(3,)), "beam4", lines=200))


if __name__ == "__main__":
    (pathlib.Path(SCRATCH.name) / "translation").mkdir()
    unittest.main()
