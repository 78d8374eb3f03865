"""Times one library inside one Python process: python_timed.py LIBRARY WHAT FILE... Prints seconds of each run, and a digest of the results.

Everything is loaded and warm before the clock starts. The arrays that a library returns count; what is done with them does not.
"""
import hashlib
import json
import sys
import time


def digest_of_ids(rows):
    digest = hashlib.sha256()
    for row in rows:
        digest.update((" ".join(map(str, row)) + "\n").encode())
    return digest.hexdigest()


def encode_with_dragoman(tokenizer, threads):
    import dragoman

    opened = dragoman.Tokenizer(tokenizer)
    return lambda lines: opened.encode_batch(lines, threads=threads), lambda batch: batch.tolist()


def encode_with_compat(tokenizer, threads):
    from dragoman.compat.tokenizers import Tokenizer

    opened = Tokenizer.from_file(tokenizer)
    return lambda lines: opened.encode_batch(lines, add_special_tokens=False), lambda batch: [each.ids for each in batch]


def encode_with_tokenizers(tokenizer, threads):
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(tokenizer)
    opened.encode_special_tokens = True
    return lambda lines: opened.encode_batch(lines, add_special_tokens=False), lambda batch: [each.ids for each in batch]


def encode_with_sentencepiece(tokenizer, threads):
    import sentencepiece

    opened = sentencepiece.SentencePieceProcessor(model_file=tokenizer)
    return lambda lines: opened.encode(lines, num_threads=threads), lambda batch: batch


def encode_with_gigatoken(tokenizer, threads):
    import gigatoken

    make = gigatoken.Tokenizer if tokenizer.endswith(".json") else gigatoken.Tokenizer.from_sentencepiece
    opened = make(tokenizer)
    return lambda lines: opened.encode_batch(lines, parallel=threads > 1), lambda batch: batch.to_list()


def translate_with_dragoman(model, threads):
    import dragoman

    translator = dragoman.Translator(dragoman.Model(model, threads=threads))
    translator.translate("Guten Morgen!")
    return translator.translate, lambda texts: [[text] for text in texts]


def main():
    library, what, opened, corpus, threads, runs = sys.argv[1:]
    with open(corpus, encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")[:-1]
    call, rows_of = globals()[f"{what}_with_{library}"](opened, int(threads))
    call(lines[:1000] if what == "encode" else lines[:20])
    seconds = []
    for _ in range(int(runs)):
        begin = time.perf_counter()
        result = call(lines)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "digest": digest_of_ids(rows_of(result))}))


if __name__ == "__main__":
    main()
