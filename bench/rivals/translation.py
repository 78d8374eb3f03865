"""Translating with a Transformer, against CTranslate2, which gets the same weights.

Checked before anything is timed, in fp32: both find references as probable (within 1e-4 of the log probability); both searches find the
same translations but for ties (1e-3 of the score; greedy: 1e-3 of the log probability where they part); BLEU differs by at most 0.1. A
difference ends the run.

Dragoman is measured as a whole process, from its start to the last byte of text, with the options that it has by itself, and has its weights
in the number type beforehand (`dragoman quantize`), as the rival has. Of CTranslate2
only `translate_batch` counts: its process has loaded the model, is warm, and gets tokens; and it has the best of several settings, which a
search finds first: workers and threads, oneDNN or MKL, its AVX-512 kernels (which it leaves out on some processors), batch sizes. Both
search with CTranslate2's scores (`--length-penalty ct2`). Memory is the peak of either process. A ratio compares each at its best number
type.

On a GPU (--device cuda, which ends at once where there is none) both have one worker and so many sentences in flight as --in-flight says, and of
Dragoman's process the time counts that it takes more than for the first line alone: the rival's is warm, too. Both compute in fp16, Dragoman in
bf16 as long as it has no fp16 there.
"""
import dataclasses
import pathlib
import statistics

from rivals import gpu
from rivals.agreement import check_scores, check_translations, our_translations
from rivals.ctranslate2_rival import LIBRARIES, TYPES, VERSION, CTranslate2, Setting, best_setting, instruction_limits, processor_has
from rivals.models import FORCED_LENGTH, WORK, Search, model_named, output_of, read_lines, text_lines, texts_of, write_lines
from rivals.process import DATA, DRAGOMAN, fail


def limits_of_ours(isa):
    """Also our own kernels: at the level of VNNI they have nothing that is better."""
    holder = pathlib.Path(DRAGOMAN).resolve().parent.parent / "bench/held_to_avx2.so"
    if isa != "avx2":
        return instruction_limits(isa)
    if not holder.exists():
        fail(f"there is no {holder}; configure with -DDRAGOMAN_BUILD_BENCHMARKS=ON and build the target held_to_avx2")
    return instruction_limits(isa) | {"LD_PRELOAD": str(holder)}


def our_instructions(environment):
    path, _ = output_of([DRAGOMAN, "doctor"], environment)
    lines = read_lines(path)
    first = next(i for i, line in enumerate(lines) if line.startswith("cpu "))
    rest = [line for line in lines[first + 1:first + 4] if line.startswith(" ")]
    return "; ".join(line.removeprefix("cpu").strip() for line in [lines[first], *rest])


@dataclasses.dataclass
class Row:
    program: str
    compute: str
    setting: str
    tokens: int
    wall: float
    cpu: float
    memory: float
    bleu: float

    @property
    def rate(self):
        return self.tokens / self.wall


def medians(program, compute, setting, tokens, figures, bleu):
    wall, cpu, memory = (statistics.median(column) for column in zip(*figures))
    return Row(program, compute, setting, tokens, wall, cpu, memory, bleu)


def time_in_turn(rival, model, search, compute, threads, isa, runs):
    """Dragoman and the rival, the latter if it has the number type."""
    environment, ours_environment = instruction_limits(isa), limits_of_ours(isa)
    with_rival = TYPES[compute] in rival.types()
    folder = model.folder_in(compute)
    our_tokens = sum(record["tokens"] for record in our_translations(model, search, compute, threads, ours_environment, folder))
    our_bleu = model.bleu(model.work / "ours")
    setting = best_setting(rival, model, search, compute, threads, isa) if with_rival else None
    ours, theirs, tokens = [], [], 0
    for _ in range(runs):
        ours.append(output_of(model.command(search, compute, threads, folder=folder), ours_environment)[1])
        if with_rival:
            row = rival.translate(model, search, compute, setting, environment, output=model.work / "theirs.ids")[0]
            theirs.append((row["wall"], row["cpu"], row["memory"]))
            tokens = row["tokens"]
    rows = [medians("dragoman", compute, "", our_tokens, ours, our_bleu)]
    if with_rival:
        model.decode(model.work / "theirs.ids", model.work / "theirs")
        rows.append(medians(rival.name, compute, str(setting), tokens, theirs, model.bleu(model.work / "theirs")))
        print(f"{rival.name} {compute}: {setting}; {'; '.join(rival.describe(model, compute, setting, environment))}", flush=True)
    return rows


def report(title, rows):
    print(f"\n{title}")
    print(f"{'program':12} {'type':5} {'workers x threads, library, batch':36} "
          f"{'tokens/s':>9} {'wall s':>8} {'CPU s':>8} {'memory MB':>10} {'BLEU':>6}")
    for row in rows:
        bleu = "" if row.bleu is None else f"{row.bleu:.2f}"
        print(f"{row.program:12} {row.compute:5} {row.setting:36} "
              f"{row.rate:9.0f} {row.wall:8.2f} {row.cpu:8.2f} {row.memory:10.0f} {bleu:>6}")
    busy = [f"{row.program} {row.compute}" for row in rows if row.wall > 1.5 * row.cpu]
    if busy:
        print(f"note: the processors were busy with something else, so do not quote this: {', '.join(busy)} took far more time than work")


def ratio(rival, setting, rows):
    ours, theirs = (max((row for row in rows if row.program == program), key=lambda row: row.rate) for program in ("dragoman", rival.name))
    cpu = (theirs.cpu / theirs.tokens) / (ours.cpu / ours.tokens)
    return (f"ratio {rival.name} {setting} {ours.rate / theirs.rate:.2f}   ({ours.compute} against {theirs.compute}, CPU {cpu:.2f}, "
            f"memory {ours.memory / theirs.memory:.0%} of theirs)")


def number_types(asked, isa):
    """bf16 by default only where there are instructions for it; elsewhere Dragoman rounds and multiplies floats."""
    if asked:
        return asked
    return ["fp32", "int8", "bf16"] if isa == "native" and processor_has("amx_bf16") else ["fp32", "int8"]


def compare_one(rival, model, search, isa, threads, arguments):
    setting = f"{model.name}/{search.name}/{isa}/{threads}"
    print(f"\n{setting}: dragoman: {our_instructions(limits_of_ours(isa))}", flush=True)
    rows = []
    for compute in number_types(arguments.compute, isa):
        rows += time_in_turn(rival, model, search, compute, threads, isa, arguments.runs)
    report(f"{setting}: {len(read_lines(model.source))} lines, medians of {arguments.runs}", rows)
    return ratio(rival, setting, rows)


def seconds_of_first_line(model, search, compute, folder):
    """Of a process that loads and starts, and translates one line."""
    whole, model.source = model.source, model.work / "first"
    write_lines(model.source, read_lines(whole)[:1])
    figures = output_of(model.command(search, compute, 1, folder=folder))[1]
    model.source = whole
    return figures[0]


def compare_on_gpu(rival, model, search, in_flight, arguments):
    types = arguments.compute or gpu.our_types(["fp16", "bf16"])[:1]
    setting = Setting((1, 1), next(iter(LIBRARIES)), [[in_flight, "examples"]])
    rows = []
    for compute in types:
        model.machine = ["--device", "cuda", "--rows", in_flight * search.beam_size]
        folder = model.folder_in(compute) if compute in ("int8", "bf16") else model.folder
        records = gpu.with_products_chosen(lambda: our_translations(model, search, compute, 1, folder=folder))
        tokens = sum(record["tokens"] for record in records)
        bleu = model.bleu(model.work / "ours")
        figures = []
        for _ in range(arguments.runs):
            start = seconds_of_first_line(model, search, compute, folder)
            wall, cpu, memory = output_of(model.command(search, compute, 1, folder=folder))[1]
            figures.append((wall - start, cpu, memory))
        rows.append(medians("dragoman", compute, "", tokens, figures, bleu))
    theirs = []
    for _ in range(arguments.runs):
        row = rival.translate(model, search, "fp16", setting, {}, output=model.work / "theirs.ids")[0]
        theirs.append((row["wall"], row["cpu"], row["memory"]))
    model.decode(model.work / "theirs.ids", model.work / "theirs")
    rows.append(medians(rival.name, "fp16", f"{in_flight} examples", row["tokens"], theirs, model.bleu(model.work / "theirs")))
    name = f"{model.name}/{search.name}/cuda/{in_flight}"
    report(f"{name}: {len(read_lines(model.source))} lines, medians of {arguments.runs}", rows)
    return ratio(rival, name, rows)


def compare_all_on_gpu(arguments, models, searches):
    print(f"dragoman: {gpu.our_gpu()}", flush=True)
    rival = CTranslate2(arguments.version, "cuda", arguments.python)
    if "float16" not in rival.types():
        fail("--device cuda: CTranslate2 has no fp16 on this GPU")
    print(gpu.driver(), flush=True)
    for model in models:
        model.take_texts(*texts_of(arguments))
        model.machine = ["--device", "cuda"]
        for search in searches:
            check_translations(rival, model, search, 1)
            for in_flight in arguments.in_flight:
                print(compare_on_gpu(rival, model, search, in_flight, arguments), flush=True)  # the time on a machine may end before the last one


def compare(arguments):
    WORK.mkdir(parents=True, exist_ok=True)
    searches = [Search.named(name) for name in arguments.search]
    if arguments.device == "cuda":
        gpu.our_gpu()  # before models are made
    models = [model_named(name, arguments.length) for name in arguments.model]
    if arguments.quality:
        report_quality(models, searches, arguments)
        return
    if arguments.device == "cuda":
        compare_all_on_gpu(arguments, models, searches)
        return
    rival = CTranslate2(arguments.version, python=arguments.python)
    texts = texts_of(arguments)
    ratios = []
    for model in models:
        model.take_texts(*texts)
        if model.reference:
            check_scores(rival, model, max(arguments.threads))
        for search in searches:
            check_translations(rival, model, search, max(arguments.threads))
        for isa in arguments.isa:
            for threads in arguments.threads:
                ratios += [compare_one(rival, model, search, isa, threads, arguments) for search in searches]
    print("\n" + "\n".join(ratios))


def report_quality(models, searches, arguments):
    """BLEU of each number type; the last lines say what a type loses against fp32."""
    losses = []
    print(f"{'model':12} {'search':8} {'test':20} " + " ".join(f"{compute:>7}" for compute in TYPES))
    for model in models:
        if model.length:
            fail(f"--quality wants a trained model, and {model.name} has random weights; name another with --model")
        for test in ("test_2016_flickr", "test_2017_flickr"):
            model.take_texts(*(text_lines(DATA / f"multi30k/{test}.{language}.gz") for language in ("de", "en")))
            for search in searches:
                bleu = {}
                for compute in TYPES:
                    our_translations(model, search, compute, max(arguments.threads))
                    bleu[compute] = model.bleu(model.work / "ours")
                print(f"{model.name:12} {search.name:8} {test:20} " + " ".join(f"{value:7.2f}" for value in bleu.values()), flush=True)
                losses += [f"loss {model.name}/{search.name}/{test} {compute} {bleu['fp32'] - value:.2f}"
                           for compute, value in bleu.items() if compute != "fp32"]
    print("\n" + "\n".join(losses))


def add_command(commands):
    parser = commands.add_parser("translate", help="text with a model, against CTranslate2", description=__doc__)
    parser.add_argument("--model", nargs="+", default=["bundled", "base"], metavar="MODEL",
                        help="bundled (of examples/multi30k), base (random weights, made here) or a model folder")
    parser.add_argument("--search", nargs="+", default=["beam4", "greedy"], metavar="NAME", help="greedy, beam4, beam8, ...")
    parser.add_argument("--isa", nargs="+", choices=["native", "vnni", "avx2"], default=["native"],
                        help="the instructions that both may use")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of both programs")
    parser.add_argument("--in-flight", nargs="+", type=int, default=[512, 32], metavar="N", help="on a GPU: sentences at a time")
    parser.add_argument("--threads", nargs="+", type=int, default=[2], metavar="N")
    parser.add_argument("--compute", nargs="+", choices=sorted(TYPES), help="number types; fp32, int8 and, with AMX, bf16 if not given")
    parser.add_argument("--length", type=int, metavar="N",
                        help=f"of random weights: force translations to N tokens; {FORCED_LENGTH} for the base model; 0: do not")
    parser.add_argument("--source", metavar="FILE", help="text; Multi30k's test_2016_flickr if not given")
    parser.add_argument("--reference", metavar="FILE", help="its translations by people")
    parser.add_argument("--lines", type=int, default=400, metavar="N", help="how many of them, from the beginning again if too few; 0: all")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--version", default=VERSION, metavar="X.Y.Z", help=f"of CTranslate2; {VERSION} if not given")
    parser.add_argument("--python", metavar="FILE", help="a Python that has ctranslate2, in place of one that is made")
    parser.add_argument("--quality", action="store_true", help="no rival: BLEU of each number type on two test sets, and what it loses")
    parser.set_defaults(compare=compare)
