"""What happens at the ends of things: exits, forks, last references, and callbacks that go wrong."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dragoman
from conftest import MODEL

TEXT = "Ein Hund läuft im Schnee."


def run(script, timeout=60):
    """Run Python in a process of its own, which must end in time and without a word on standard error."""
    head = f"import dragoman, gc, os, signal, sys, threading, time\nMODEL = {str(MODEL)!r}\nTEXT = {TEXT!r}\n"
    done = subprocess.run([sys.executable, "-c", head + script], capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stderr[-800:])
    return done.stdout


LOOPS = {
    "processor": """
@dragoman.logits_processor("slow")
def slow(source, hypotheses):
    return None
t = dragoman.Translator(MODEL, logits_processors={"slow": {}})
def work(): t.translate([TEXT] * 200)
""",
    "metric": "def work(): dragoman.evaluate([TEXT] * 2000, [TEXT] * 2000, tokenize=('x', lambda text: text))",
    "progress": "def work(): dragoman.learn_bpe(texts=[TEXT + str(i) for i in range(20000)], vocab_size=1000, progress=lambda now: None, log=lambda *said: None)",
    "translate": "t = dragoman.Translator(MODEL)\ndef work(): t.translate([TEXT] * 200)",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_interpreter_ends_while_daemon_threads_are_in_calls(loop):
    run(
        LOOPS[loop]
        + """
def forever():
    try:
        while True: work()
    except dragoman.InterruptedCallError: pass
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.7)
"""
    )


def test_temporary_folders_stay_until_calls_have_ended():
    run(
        """
import tempfile, weakref
first = tempfile.TemporaryDirectory()
weakref.finalize(first, time.sleep, 1.5)  # runs before the folder of `first` goes, and after younger folders have gone
started = threading.Event()
def texts():
    yield TEXT
    started.set()
    time.sleep(0.5)
    yield TEXT
def learn():
    try: dragoman.learn_bpe(texts=texts(), vocab_size=300, log=lambda *said: None)
    except dragoman.InterruptedCallError: pass
threading.Thread(target=learn, daemon=True).start()
assert started.wait(30)
"""
    )


def test_a_temporary_folder_that_has_gone_at_the_end_is_an_interruption():
    run(
        """
import shutil
from dragoman._temporary import temporary_folder
def lose(folder):
    shutil.rmtree(folder)
    open(folder / "texts")
try:
    with temporary_folder() as folder: lose(folder)
    sys.exit("no error")
except FileNotFoundError: pass
dragoman._core.at_exit()
try:
    with temporary_folder() as folder: lose(folder)
    sys.exit("no error")
except dragoman.InterruptedCallError: pass
"""
    )


def test_the_last_reference_may_go_in_a_thread_of_the_model():
    run(
        """
done = threading.Event()
holder = [dragoman.Translator(MODEL)]
future = holder[0].submit(TEXT)
future.add_done_callback(lambda f: (holder.clear(), done.set()))
assert done.wait(30)
other = [dragoman.Translator(MODEL)]
future = other[0].submit(TEXT, on_partial=lambda text: other.clear())
print(future.result(30)[0].text)
"""
    )


def test_the_interpreter_ends_while_a_text_outlives_its_translator():
    for number in range(3):
        run("dragoman.Translator(dragoman.Model(MODEL)).submit(TEXT * 3)")
    run(
        """
import itertools
def first():
    t = dragoman.Translator(MODEL)
    return list(itertools.islice(t.translate_iterable([TEXT] * 500), 1))
first()
"""
    )


def test_ctrl_c_in_submit_and_then_the_end():
    script = """
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, signal.default_int_handler)
t = dragoman.Translator(MODEL)
try:
    while True: t.submit(TEXT * 2000)
except KeyboardInterrupt: print("interrupted")
"""
    assert "interrupted" in run(script)


def test_futures_of_the_parent_fail_in_a_forked_child():
    run(
        """
t = dragoman.Translator(MODEL)
futures = [t.submit(TEXT * 5, beam_size=20) for _ in range(30)]
child = os.fork()
if child == 0:
    try:
        futures[-1].result(20)
        os._exit(3)
    except dragoman.UnsupportedError as error:
        os._exit(0 if "submit it again" in str(error) else 4)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert futures[-1].result(60)
"""
    )


@dragoman.logits_processor("lying")
def lying(source, hypotheses, kind):
    class Liar:
        def __len__(self):
            return len(hypotheses)

        def __iter__(self):
            return iter([{5: 1.0}] * 5000)

        def __getitem__(self, index):
            return {5: 1.0}

    return {
        "liar": Liar(),
        "short": [],
        "lists": [[1]] * len(hypotheses),
        "names": [{"a": 1}] * len(hypotheses),
        "huge": [{2**40: 1}] * len(hypotheses),
        "outside": [{10**6: 1.0}] * len(hypotheses),
        "none": [{5: None}] * len(hypotheses),
    }[kind]


@pytest.mark.parametrize("kind", ["liar", "short", "lists", "names", "huge", "outside", "none"])
def test_wrong_results_of_a_processor_are_errors_that_show_them(model, kind):
    translator = dragoman.Translator(model, logits_processors={"lying": {"kind": kind}})
    with pytest.raises(dragoman.Error) as raised:
        translator.translate(TEXT)
    assert "bad_cast" not in str(raised.value)


@dragoman.stage("wrong")
def wrong(records, kind):
    if kind == "fields":
        records[0]["fields"] = None
    elif kind == "record":
        records[0] = None
    else:
        records.clear()


@pytest.mark.parametrize("kind", ["fields", "record", "all"])
def test_wrong_results_of_a_stage_are_errors_that_show_them(tmp_path, kind):
    (tmp_path / "in").write_text("x\n")
    stages = [{"read": {"path": tmp_path / "in"}}, {"wrong": {"kind": kind}}, {"write": {"path": tmp_path / "out"}}]
    with pytest.raises(dragoman.InvalidArgumentError, match="a stage in Python"):
        dragoman.run_pipeline(stages)


def test_ids_that_another_thread_writes_to(tokenizer):
    ids = np.full(200_000, 5, np.int32)
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            ids[:] = 2**31 - 1
            ids[:] = 5

    thread = threading.Thread(target=flip)
    thread.start()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            tokenizer.decode(ids)
        except dragoman.InvalidArgumentError:
            pass
    stop.set()
    thread.join()


def test_an_exception_of_on_partial_is_the_futures(translator):
    calls = []

    def broken(text):
        calls.append(text)
        raise ZeroDivisionError

    future = translator.submit(TEXT, on_partial=broken, minimum_length=5)
    with pytest.raises(ZeroDivisionError):
        future.result(60)
    assert len(calls) == 1


@pytest.mark.parametrize("option", ["alpha", "temperature"])
def test_numbers_that_are_none_are_named(translator, option):
    with pytest.raises(dragoman.InvalidArgumentError) as raised:
        translator.translate(TEXT, **{option: float("nan")})
    assert raised.value.key == option


def test_options_without_an_effect_are_refused(tokenizer):
    with pytest.raises(dragoman.BadInputError) as raised:
        dragoman.learn_bpe(texts=["a"], dummy_prefix=False)
    assert raised.value.key == "dummy_prefix"
    for dropout in (float("nan"), 5, -1):
        with pytest.raises(dragoman.InvalidArgumentError) as raised:
            tokenizer.encode("x", mode="dropout", dropout=dropout)
        assert raised.value.key == "dropout"


def test_memory_does_not_grow(translator, tokenizer):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work():
        for _ in range(300):
            tokenizer.encode_batch([TEXT] * 100)
            tokenizer.decode(tokenizer.encode(TEXT))
        for _ in range(30):
            translator.submit(TEXT, on_partial=lambda text: None).result()

    work()
    before = resident()
    for _ in range(3):
        work()
    assert resident() - before < 8 << 20


@pytest.mark.parametrize("package", dragoman.compat.PACKAGES)
def test_every_replacement_can_be_installed(package):
    script = f"dragoman.compat.install({package!r})\nimport {package}\nprint({package}.__name__)"
    assert run(script).strip() == f"dragoman.compat.{package}"


def test_submodules_are_the_same_objects_under_both_names():
    run(
        """
dragoman.compat.install("sacrebleu")
import sacrebleu.metrics.bleu
import dragoman.compat.sacrebleu.metrics.bleu as own
assert sacrebleu.metrics.bleu is own and own.__spec__.name.startswith("dragoman")
try:
    import sacrebleu.nothing
    raise SystemExit(3)
except ModuleNotFoundError: pass
"""
    )
