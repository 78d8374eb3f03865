"""A student in the manner of WMT's efficiency task: source words per second with a greedy search, against Marian, which gets the same
weights, and against CTranslate2, which has no SSRU and gets a twin with self-attention (--twin).

Checked before anything is timed, in fp32: Dragoman and Marian find references as probable (within 1e-4 of the log probability), and at most
1 % of their translations differ.

Dragoman is measured as a whole process that reads text, with the settings that it has by itself. Marian is measured by the time that it
reports for its translation alone, after it has loaded the model, and gets pieces; it has the best of several sizes of batches. Both run with
and without a shortlist, and each has its best number type. The twin is measured as in `compare translate`.

--model tiny11 has the shape of the published students (6 layers of 256 and 1,536 in the encoder, 2 in the decoder) and random weights; both
programs then stop at as many tokens as the source has.
"""
import collections
import json
import shutil

from rivals.ctranslate2_rival import VERSION as CTRANSLATE2_VERSION, CTranslate2
from rivals.marian_rival import VERSION, Marian, Setting, best_setting
from rivals.models import WORK, Model, Search, output_of, random_model, read_lines, texts_of, write_lines
from rivals.process import DATA, DRAGOMAN, fail, run
from rivals.translation import medians, ratio, report, time_in_turn

GREEDY = Search.named("greedy")
LISTED = (100, 100)  # the most frequent pieces, and the best of each source piece
TYPES = ["fp32", "int8"]


def tiny11():
    """In Marian's form."""
    return random_model("tiny11-model", {"type": "ssru", "d_model": 256, "heads": 8, "feed_forward": 1536, "encoder_layers": 6,
                                         "decoder_layers": 2, "decoder_start": "zeros", "output_bias": True,
                                         "positions": "sinusoidal-tensor2tensor", "layer_norm_epsilon": 1e-6}, "--plugin", "ssru")


class Student(Model):
    """A model folder whose translations end where both programs end them."""

    def __init__(self, name, folder, random):
        super().__init__(name, folder, 0)
        self.random = random
        self.length_factor = 1 if random else 3  # of the source, as in Marian's --max-length-factor
        if json.loads((self.folder / "config.json").read_text())["model_type"] == "ssru":
            self.machine = ["--plugin", "ssru"]

    def take_texts(self, sources, references):
        super().take_texts(sources, None if self.random else references)
        for side in ("source", "reference"):
            if side == "source" or self.reference:
                run([DRAGOMAN, "encode", "--quiet", "--tokenizer", self.tokenizer("source" if side == "source" else "target"),
                     "--input", self.work / side, "--output", self.work / f"{side}.pieces"])

    def command(self, search, compute, threads, form="text", folder=None):
        return [DRAGOMAN, "translate", "--quiet", "--model", folder or self.folder, "--input", self.source, "--output", "-", "--format", form,
                "--compute", compute, "--threads", threads, *search.options(), "--maximum-length-factor", self.length_factor,
                "--maximum-length-offset", self.length_factor, *self.machine]  # Marian counts the end of the source

    def shortlist(self):
        """Of the training pairs, aligned by the model itself, in Marian's form."""
        path, links = self.work / "lex.s2t", self.work / "train.align"
        if not path.exists():
            pairs = [DATA / f"multi30k/train.{language}.gz" for language in ("de", "en")]
            common = ["--quiet", "--model", self.folder, *self.machine, *pairs, "--units", "pieces"]
            run([DRAGOMAN, "align", *common, "--output", links])
            run([DRAGOMAN, "shortlist", *common, "--alignments", links, "--best", LISTED[1], "--output", path])
        return path, *LISTED


def check(rival, model, threads):
    if model.reference:
        theirs = rival.score(model, threads)
        path, _ = output_of([DRAGOMAN, "score", "--quiet", "--model", model.folder, "--compute", "fp32", *model.machine, model.source,
                             model.reference])
        ours = [float(line) for line in read_lines(path)]
        worst = max(abs(a - b) / abs(a) for a, b in zip(ours, theirs))
        print(f"{model.name}: log probabilities of {len(ours)} references differ by at most {worst:.1e} of their size", flush=True)
        if len(ours) != len(theirs) or worst > 1e-4:
            fail("the exported model is not the same model")
    path, _ = output_of(model.command(GREEDY, "fp32", threads))
    ours = read_lines(path)
    rival.translate(model, Setting(threads, "fp32", 1, ()))
    theirs = their_text(model)
    differ = sum(a != b for a, b in zip(ours, theirs))
    print(f"{model.name}: {differ} of {len(ours)} translations differ in fp32", flush=True)
    # With random weights, many tokens are nearly as probable as the best.
    if len(ours) != len(theirs) or (differ > 0.01 * len(ours) and not model.random):
        fail("the searches differ")


def their_text(model):
    run([DRAGOMAN, "decode", "--quiet", "--tokenizer", model.tokenizer("target"), "--input", model.work / "theirs.pieces", "--output",
         model.work / "theirs"])
    return read_lines(model.work / "theirs")


def words_of(model):
    return sum(len(line.split()) for line in read_lines(model.source))


def compare_students(rival, model, threads, types, runs):
    shortlist, words, rows = model.shortlist(), words_of(model), []
    plan = [(compute, best_setting(rival, model, compute, threads, shortlist)) for compute in types]
    ours_with = {"": [], "shortlist": ["--shortlist", shortlist[0], "--shortlist-first", shortlist[1], "--shortlist-best", shortlist[2]]}
    figures = collections.defaultdict(list)
    bleu = {}
    for _ in range(runs):
        for compute, setting in plan:
            for name, options in ours_with.items():
                path, row = output_of([*model.command(GREEDY, compute, threads, folder=model.folder_in(compute)), *options])
                figures["dragoman", compute, name].append(row)
                shutil.copy(path, model.work / "ours")
                bleu["dragoman", compute, name] = model.bleu(model.work / "ours")
            figures[rival.name, compute, str(setting)].append(rival.translate(model, setting))
            their_text(model)
            bleu[rival.name, compute, str(setting)] = model.bleu(model.work / "theirs")
    for (program, compute, setting), measured in figures.items():
        rows.append(medians(program, compute, setting, words, measured, bleu[program, compute, setting]))
    name = f"{model.name}/greedy/{threads}"
    report(f"{name}: {len(read_lines(model.source))} lines, medians of {runs}; tokens are source words", rows)
    return ratio(rival, name, rows)


def compare(arguments):
    WORK.mkdir(parents=True, exist_ok=True)
    marian = Marian(arguments.marian_version, arguments.python)
    texts, ratios = texts_of(arguments), []
    for name in arguments.model:
        model = Student("tiny11", tiny11(), True) if name == "tiny11" else Student(name.strip("/").replace("/", "-"), name, False)
        model.take_texts(*texts)
        marian.converted(model)
        check(marian, model, max(arguments.threads))
        ratios += [compare_students(marian, model, threads, arguments.compute, arguments.runs) for threads in arguments.threads]
    if arguments.twin:
        rival = CTranslate2(arguments.version, python=arguments.python)
        twin = Student(arguments.twin.strip("/").replace("/", "-"), arguments.twin, False)
        twin.take_texts(*texts)
        for threads in arguments.threads:
            rows = time_in_turn(rival, twin, GREEDY, "int8", threads, "native", arguments.runs)
            name = f"{twin.name}/greedy/{threads}"
            words = words_of(twin)
            for row in rows:
                row.tokens = words
            report(f"{name}: the twin with self-attention; tokens are source words", rows)
            ratios.append(ratio(rival, name, rows))
    print("\n" + "\n".join(ratios))


def add_command(commands):
    parser = commands.add_parser("efficiency", help="a student as in WMT's efficiency task, against Marian and CTranslate2",
                                 description=__doc__)
    parser.add_argument("--model", nargs="+", default=["tiny11"], metavar="MODEL",
                        help="tiny11 (random weights, made here), or a folder of a model that Marian can open (docs/move/marian.md)")
    parser.add_argument("--twin", metavar="DIR", help="the same student with self-attention, for CTranslate2")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--compute", nargs="+", choices=TYPES, default=TYPES, help="number types; both if not given")
    parser.add_argument("--source", metavar="FILE", help="text; Multi30k's test_2016_flickr if not given")
    parser.add_argument("--reference", metavar="FILE", help="its translations by people")
    parser.add_argument("--lines", type=int, default=4000, metavar="N", help="how many of them, from the beginning again if too few; 0: all")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--version", default=CTRANSLATE2_VERSION, metavar="X.Y.Z", help=f"of CTranslate2; {CTRANSLATE2_VERSION} if not given")
    parser.add_argument("--marian-version", default=VERSION, metavar="X.Y.Z", help=f"of pymarian; {VERSION} if not given")
    parser.add_argument("--python", metavar="FILE", help="a Python that has pymarian and ctranslate2, in place of those that are made")
    parser.set_defaults(compare=compare)
