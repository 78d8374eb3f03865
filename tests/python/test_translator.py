"""Translations are those of the program; threads, forks, signals and futures behave."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dragoman
from conftest import MODEL

SENTENCE = "Ein Hund läuft im Schnee."


def test_translations_are_those_of_the_program(translator, program, german):
    lines = german[:64]
    expected = program("translate", "--model", MODEL, "--compute", "stored", text="\n".join(lines) + "\n").splitlines()
    assert translator.translate(lines) == expected
    assert list(translator.translate_iterable(iter(lines), queued=7)) == expected
    assert [future.result()[0].text for future in [translator.submit(line) for line in lines]] == expected


def test_options_are_keywords_of_the_call_or_the_translator(model, translator):
    five = translator.translate_n_best(SENTENCE, beam_size=5, n_best=5, alignment=True)
    assert len(five) == 5 and [each.score for each in five] == sorted((x.score for x in five), reverse=True)
    best = five[0]
    assert best.token_scores.dtype == np.float64 and len(best.token_scores) == len(best.tokens) + 1
    assert abs(best.log_probability - best.token_scores.sum()) < 1e-12
    assert best.alignment.dtype == np.float32 and best.alignment.shape[0] == len(best.token_scores)
    np.testing.assert_allclose(best.alignment.sum(axis=1), 1, atol=1e-5)
    same = dragoman.Translator(model, beam_size=5, n_best=5).translate_n_best(SENTENCE)
    assert [each.text for each in same] == [each.text for each in five]
    assert translator.translate(SENTENCE, target_prefix="In").startswith("In")
    assert "white" in translator.translate(SENTENCE, constraints=["white"], beam_size=5)
    tokens = " ".join(model.source_tokenizer.tokenize(SENTENCE))
    assert translator.translate(tokens, input_pieces=True) == translator.translate(SENTENCE)
    assert translator.translate("") == "" and translator.translate([]) == []


def test_wrong_options_are_errors_with_their_key(translator):
    with pytest.raises(dragoman.BadInputError) as raised:
        translator.translate(SENTENCE, beam_size=0)
    assert "beam_size" in str(raised.value)
    with pytest.raises(dragoman.BadInputError, match="beam_size"):
        translator.translate(SENTENCE, beamsize=4)  # the message suggests the nearest key
    with pytest.raises(dragoman.InvalidArgumentError) as raised:
        dragoman.Model(MODEL, compute="fp13")
    assert raised.value.key == "compute"
    with pytest.raises(dragoman.FileError):
        dragoman.Model("no/such/model")
    future = translator.submit(SENTENCE, constraints=["white"], decoder="greedy")
    assert isinstance(future.exception(), dragoman.Error) and "constraint" in str(future.exception())


def test_a_text_that_is_no_str_is_named(translator):
    with pytest.raises(TypeError, match=r"texts\[1\] is nan of type float; every text must be a str"):
        translator.translate([SENTENCE, float("nan")])  # a missing value of pandas
    with pytest.raises(TypeError, match=r"texts\[0\] is None of type NoneType"):
        translator.translate_n_best(iter([None]))
    with pytest.raises(TypeError, match="text is nan of type float; it must be a str"):
        translator.submit(float("nan"))
    with pytest.raises(TypeError, match="text is 7 of type int; it must be a str, or several"):
        translator.translate(7)
    with pytest.raises(TypeError, match=r"texts\[1\] is nan of type float"):
        list(translator.translate_iterable([SENTENCE, float("nan")]))


def test_async_calls_overlap(translator):
    async def both():
        return await asyncio.gather(*(translator.translate_async(SENTENCE) for _ in range(8)))

    assert set(asyncio.run(both())) == {translator.translate(SENTENCE)}


def test_partial_translations_grow(translator):
    seen = []
    text = translator.submit(SENTENCE, on_partial=seen.append).result()[0].text
    assert all(text.startswith(part) for part in seen) and seen == sorted(seen, key=len)


def test_an_iterator_is_read_in_bounded_memory(translator):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield SENTENCE

    found = translator.translate_iterable(endless(), queued=8)
    for _ in range(5):
        next(found)
    found.close()
    assert len(taken) <= 13


def test_threads_share_a_translator(translator, german):
    lines = german[:16]
    expected = translator.translate(lines)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(lambda _: translator.translate(lines), range(6)))


def test_other_threads_run_during_a_call(translator, german):
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    translator.translate(german[:200], beam_size=5)
    stop.set()
    thread.join()
    assert counted > 5


def use_in_child(translator, queue):
    try:
        translator.translate(SENTENCE)
    except dragoman.UnsupportedError as error:
        queue.put(str(error))


def open_in_child(queue):
    queue.put(dragoman.Translator(MODEL).translate(SENTENCE))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_refuses_the_parents_model_and_opens_its_own(translator):
    fork = multiprocessing.get_context("fork")
    for target, arguments, expected in (
        (use_in_child, (translator,), "open the model after the fork"),
        (open_in_child, (), translator.translate(SENTENCE)),
    ):
        queue = fork.Queue()
        child = fork.Process(target=target, args=(*arguments, queue))
        child.start()
        assert expected in queue.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0


CALLS = {
    "translate": "t = dragoman.Translator(MODEL); ready(); t.translate(['Ein Hund läuft im Schnee.'] * 200000, beam_size=8)",
    "encode": "t = dragoman.Tokenizer(MODEL + '/tokenizer.json'); x = ['Ein Hund läuft. %d' % i for i in range(3000000)]; ready(); t.encode_batch(x)",
    "learn": "x = ['w%d v%d' % (i, i * 7919 % 1000003) for i in range(3000000)]; ready(); dragoman.learn_bpe(texts=x, vocab_size=60000)",
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call(call):
    script = f"""
import dragoman, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
MODEL = {str(MODEL)!r}
def ready(): print("ready", flush=True)
try:
    {CALLS[call]}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begin < 2  # 0.1 s on an idle machine
    child.stdout.close()
    assert child.wait(60) == 0


def test_the_interpreter_ends_while_texts_are_queued():
    script = f"""
import dragoman
translator = dragoman.Translator({str(MODEL)!r})
futures = [translator.submit("Ein Hund läuft im Schnee.") for _ in range(5000)]
print(futures[0].result()[0].text)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and "dog" in done.stdout


def test_a_future_outlives_its_translator(model):
    futures = [dragoman.Translator(model, beam_size=2).submit(SENTENCE) for _ in range(3)]
    assert [future.result(60)[0].text for future in futures] == [dragoman.Translator(model, beam_size=2).translate(SENTENCE)] * 3
    lost = dragoman.Translator(MODEL).submit(SENTENCE)  # its model goes with it, and not in a thread of the model
    assert "dog" in lost.result(60)[0].text
    del lost


def test_models_and_translators_go_to_other_processes(translator, model):
    copy = pickle.loads(pickle.dumps(dragoman.Translator(model, beam_size=3)))
    assert copy.translate(SENTENCE) == translator.translate(SENTENCE, beam_size=3)
    assert copy.model.path == model.path


def test_options_of_the_model_are_named():
    with pytest.raises(TypeError, match="device is no option of a search; give it to Model"):
        dragoman.Translator(MODEL, device="cpu")


def test_a_translation_is_equal_to_itself_only(translator):
    one, two = translator.translate_n_best([SENTENCE, SENTENCE])
    assert one[0] == one[0] and one[0] != two[0] and len({one[0], two[0]}) == 2


def test_a_long_text_does_not_hold_up_the_event_loop(translator):
    async def ticks():
        task = asyncio.ensure_future(translator.translate_async("Ein Hund läuft. " * 3000))
        longest, last = 0.0, time.monotonic()
        for _ in range(50):
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        task.cancel()
        return longest

    assert asyncio.run(ticks()) < 1  # it took as long as cutting the text before


def test_a_cancelled_future_stops(translator):
    futures = [translator.submit(SENTENCE) for _ in range(2000)]
    cancelled = [future.cancel() for future in futures]
    assert any(cancelled)
    assert all(future.cancelled() or future.result()[0].text for future in futures)
    assert translator.translate(SENTENCE)


def test_the_program_is_in_the_package():
    done = subprocess.run([sys.executable, "-m", "dragoman", "--version"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0 and dragoman.__version__ in done.stdout
