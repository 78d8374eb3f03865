"""Tokenizers give what the program gives, and refuse what they cannot take."""

import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest

import dragoman
from conftest import MODEL, TREE


def ids_of_the_program(program, lines, *options):
    out = program("encode", "--tokenizer", MODEL / "tokenizer.json", "--format", "ids", *options, text="\n".join(lines) + "\n")
    return [[int(word) for word in line.split()] for line in out.splitlines()]


def test_ids_are_those_of_the_program(tokenizer, program, german):
    expected = ids_of_the_program(program, german)
    batch = tokenizer.encode_batch(german)
    assert batch.tolist() == expected
    assert [tokenizer.encode(line).tolist() for line in german[:50]] == expected[:50]
    assert batch.ids.dtype == np.int32 and batch.offsets[-1] == len(batch.ids)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_batch(tokenizer, german, threads):
    lines = german * 3  # more than the bytes that one thread encodes alone
    assert tokenizer.encode_batch(lines, threads=threads).tolist() == [tokenizer.encode(x).tolist() for x in lines]


def test_a_batch_is_a_sequence_of_views(tokenizer):
    batch = tokenizer.encode_batch(["Ein Hund.", "", "Eine Katze läuft."])
    assert len(batch) == 3 and len(batch[1]) == 0 and len(batch[0:2]) == 2
    assert np.shares_memory(batch[2], batch.ids) and np.array_equal(batch[-1], batch[2])
    assert [list(each) for each in batch] == batch.tolist()
    with pytest.raises(IndexError, match="there is no text 3; there are 3"):
        batch[3]
    assert tokenizer.decode_batch(batch) == ["Ein Hund.", "", "Eine Katze läuft."]


def test_decoding_restores_text(tokenizer, german):
    assert tokenizer.decode_batch(tokenizer.encode_batch(german)) == german
    assert [tokenizer.decode(tokenizer.encode(line).tolist()) for line in german[:20]] == german[:20]


def test_dropout_draws_by_seed_and_line(tokenizer, program, german):
    lines = german[:100]
    drawn = tokenizer.encode_batch(lines, mode="dropout", dropout=0.3, seed=7).tolist()
    assert drawn != tokenizer.encode_batch(lines).tolist()
    assert drawn == [tokenizer.encode(x, mode="dropout", dropout=0.3, seed=7, line=i).tolist() for i, x in enumerate(lines)]
    assert drawn == ids_of_the_program(program, lines, "--mode", "dropout", "--dropout", 0.3, "--seed", 7)


@pytest.mark.parametrize("text", ["Ein Hündchen läuft.", "x", "", "日本語 text 😀 ok", "ﬁn é"])
def test_spans_are_characters_and_cover_the_text(tokenizer, text):
    ids, spans = tokenizer.encode_with_offsets(text)
    assert ids.tolist() == tokenizer.encode(text).tolist()
    assert spans.shape == (len(ids), 2)
    ends = [0]
    for begin, end in spans.tolist():
        assert begin <= end <= len(text) and ends[-1] - 1 <= begin <= ends[-1]  # parts of a character span the whole of it
        ends.append(end)
    assert not text or ends[-1] == len(text)
    _, in_bytes = tokenizer.encode_with_offsets(text.encode())
    assert len(in_bytes) == 0 or in_bytes[-1, 1] == len(text.encode())


def test_bytes_and_str_are_equal(tokenizer):
    assert tokenizer.encode("Grüße").tolist() == tokenizer.encode("Grüße".encode()).tolist()


def test_tokens_by_name(tokenizer):
    assert tokenizer.token(0) == "<unk>" and tokenizer.id("<unk>") == 0 and tokenizer.is_special(0)
    assert tokenizer.id("no such token") is None
    assert len(tokenizer.tokens()) == len(tokenizer) == tokenizer.vocab_size
    assert "".join(tokenizer.tokenize("Ein Hund.")) == "▁Ein▁Hund."


def test_tokenize_gives_the_tokens_of_encode_in_every_mode(tokenizer, german):
    for line in german[:20]:
        for options in ({}, {"mode": "greedy"}, {"mode": "dropout", "dropout": 0.4, "seed": 3, "line": 5}):
            expected = [tokenizer.token(id) for id in tokenizer.encode(line, **options)]
            assert tokenizer.tokenize(line, **options) == expected
    drawn = {tuple(tokenizer.tokenize(german[0], mode="dropout", seed=seed)) for seed in range(5)}
    assert len(drawn) > 1


def test_wrong_values_are_errors_that_name_them(tokenizer, tmp_path):
    with pytest.raises(dragoman.InvalidArgumentError, match="there is no token 4000; ids are 0 to 3999"):
        tokenizer.token(4000)
    with pytest.raises(ValueError, match="there is no token 99999999999"):
        tokenizer.decode([99999999999])
    with pytest.raises(TypeError, match="a text must be str or bytes, not int"):
        tokenizer.encode(3)
    with pytest.raises(TypeError, match="several texts"):
        tokenizer.encode_batch("one text")
    with pytest.raises(UnicodeEncodeError):
        tokenizer.encode("\ud800")
    # A large batch is read while its first texts are encoded.
    for wrong, error in ((3, TypeError), ("\ud800", UnicodeEncodeError)):
        with pytest.raises(error):
            tokenizer.encode_batch(["Ein Hund läuft."] * 20000 + [wrong])
    with pytest.raises(dragoman.InvalidArgumentError) as raised:
        tokenizer.encode("x", mode="magic")
    assert raised.value.key == "mode" and isinstance(raised.value, ValueError)
    with pytest.raises(dragoman.FileError) as raised:
        dragoman.Tokenizer(tmp_path / "missing.json")
    assert "missing.json" in str(raised.value) and isinstance(raised.value, OSError)
    with pytest.raises(dragoman.BadInputError, match="bad"):
        (tmp_path / "bad").write_bytes(b"\0\1\2")
        dragoman.Tokenizer(tmp_path / "bad")
    with pytest.raises(FileNotFoundError):
        dragoman.Tokenizer(tmp_path / "missing.json")
    with pytest.raises(TypeError, match="not both"):
        dragoman.learn_bpe(tmp_path / "missing", texts=["a"])


def test_a_copy_in_another_process_is_equal(tokenizer, german, tmp_path):
    for original in (tokenizer, dragoman.learn_unigram(texts=german, vocab_size=500)):
        copy = pickle.loads(pickle.dumps(original))
        assert copy.encode_batch(german).tolist() == original.encode_batch(german).tolist()
    tokenizer.save(tmp_path / "named.json")
    assert dragoman.Tokenizer(tmp_path / "named.json").encode("Ein Hund.").tolist() == tokenizer.encode("Ein Hund.").tolist()


def test_saving_keeps_merges_that_belong_to_nothing(tmp_path):
    gpt2 = dragoman.Tokenizer(TREE / "tests/tokenizer/golden/gpt2.vocab.json")
    (tmp_path / "merges.txt").write_text("precious")
    with pytest.raises(dragoman.InvalidArgumentError, match="merges.txt: would be replaced"):
        gpt2.save(tmp_path / "vocab.json", kind="gpt2")
    assert (tmp_path / "merges.txt").read_text() == "precious"
    (tmp_path / "merges.txt").unlink()
    gpt2.save(tmp_path / "vocab.json", kind="gpt2")
    assert dragoman.Tokenizer(tmp_path / "vocab.json").encode("a tea").tolist() == gpt2.encode("a tea").tolist()


def test_content_without_a_file(tokenizer):
    content = (MODEL / "tokenizer.json").read_bytes()
    made = dragoman.Tokenizer.from_bytes(content)
    assert made.encode("Ein Hund.").tolist() == tokenizer.encode("Ein Hund.").tolist()


def test_learning_has_the_bytes_of_the_program(program, german, tmp_path):
    corpus = tmp_path / "corpus.de"
    corpus.write_text("\n".join(german) + "\n")
    program("learn-bpe", corpus, "-o", tmp_path / "theirs.json", "--vocab-size", 1000, "--split-digits")
    seen = []
    made = dragoman.learn_bpe(corpus, vocab_size=1000, split_digits=True, progress=seen.append)
    made.save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert seen and {"stage", "done", "total", "unit", "figures"} == set(seen[0])
    dragoman.learn_bpe(texts=iter(german), vocab_size=1000, split_digits=True).save(tmp_path / "texts.json")
    assert (tmp_path / "texts.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()

    program("count-words", corpus, "-o", tmp_path / "counts")
    dragoman.learn_bpe(counts=tmp_path / "counts", vocab_size=1000, split_digits=True).save(tmp_path / "counts.json")
    assert (tmp_path / "counts.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()

    program("learn-unigram", corpus, "-o", tmp_path / "theirs.model", "--vocab-size", 1000)
    dragoman.learn_unigram([corpus], vocab_size=1000).save(tmp_path / "ours.model")
    assert (tmp_path / "ours.model").read_bytes() == (tmp_path / "theirs.model").read_bytes()


def test_learning_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(dragoman.BadInputError, match="unknown key 'vocabsize'; did you mean 'vocab_size'"):
        dragoman.learn_bpe(texts=["a"], vocabsize=3)
    with pytest.raises(dragoman.BadInputError) as raised:
        dragoman.learn_bpe(texts=["a"], vocab_size="many")
    assert raised.value.key == "vocab_size"
    with pytest.raises(dragoman.BadInputError, match="none, nfc, nfkc"):
        dragoman.learn_bpe(texts=["a"], normalization="nfd")
    with pytest.raises(dragoman.FileError):
        dragoman.learn_bpe(tmp_path / "missing")
    with pytest.raises(TypeError, match="only one of them"):
        dragoman.learn_bpe(tmp_path / "text", counts=tmp_path / "counts")


def test_an_exception_of_progress_ends_learning(german):
    class Enough(Exception):
        pass

    def stop(now):
        raise Enough(now["stage"])

    with pytest.raises(Enough):
        dragoman.learn_bpe(texts=german * 20, vocab_size=4000, progress=stop)


def encode_in_child(tokenizer, queue):
    queue.put(tokenizer.encode_batch(["Ein Hund läuft."] * 10000).ids.sum())


def test_threads_and_forks_share_a_tokenizer(tokenizer, german):
    expected = tokenizer.encode_batch(german).tolist()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tokenizer.encode_batch(german).tolist(), range(8)):
            assert found == expected
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=encode_in_child, args=(tokenizer, queue))
    child.start()
    assert queue.get(timeout=60) == tokenizer.encode_batch(["Ein Hund läuft."] * 10000).ids.sum()
    child.join(60)
    assert child.exitcode == 0


def test_unigram_models_have_n_best_segmentations(german):
    made = dragoman.learn_unigram(texts=german, vocab_size=800)
    best = made.encode_n_best("Ein Hund läuft.", 5)
    assert best[0][0].tolist() == made.encode("Ein Hund läuft.").tolist()
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    drawn = {tuple(made.encode("Ein Hund läuft.", mode="sample", alpha=0.1, seed=s).tolist()) for s in range(20)}
    assert len(drawn) > 1
