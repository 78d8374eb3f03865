"""What subword-nmt 0.3.8 and tokenizers 0.23.3 learn: the programs that `learn-bpe --reproduce` is compared with."""
import codecs
import contextlib
import io
import json
import tempfile

from subword_nmt import learn_bpe as package
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def subword_nmt_codes(text: str, merges: int, min_frequency: int, total_symbols: bool) -> str:
    """As the command does it; its reader ends lines where str.splitlines() does. One that it fails on gives no merges."""
    out = io.StringIO()
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode("utf-8"))
        file.flush()
        with codecs.open(file.name, encoding="utf-8") as lines, contextlib.redirect_stderr(io.StringIO()):
            try:
                package.learn_bpe(lines, out, merges, min_frequency, total_symbols=total_symbols)
            except ValueError:  # max() of no pairs at all
                pass
    return out.getvalue()


def pre_tokenizer(words: str):
    if words == "metaspace":
        return pre_tokenizers.Metaspace()
    if words == "spaces":
        return pre_tokenizers.Split(" ", "removed")
    if words == "whitespace":
        return pre_tokenizers.WhitespaceSplit()
    return pre_tokenizers.ByteLevel(add_prefix_space=words == "byte-level prefix")


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    ended, rest = lines[:-1], lines[-1]
    return [line[:-1] if line.endswith("\r") else line for line in ended] + [rest]


def tokenizers_once(text: str, case: dict) -> dict:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(case["words"])
    options = {"vocab_size": case["vocab_size"], "min_frequency": case["min_frequency"], "special_tokens": case["special_tokens"], "show_progress": False}
    for name, option in (("limit_alphabet", "limit_alphabet"), ("max_token_length", "max_token_length"), ("suffix", "end_of_word_suffix")):
        if case.get(name):
            options[option] = case[name]
    if case.get("all_bytes"):
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(lines_of(text), trainers.BpeTrainer(**options))
    model = json.loads(tokenizer.to_str())["model"]
    return {"pieces": sorted(model["vocab"], key=model["vocab"].get), "merges": [list(merge) for merge in model["merges"]]}


def suffixed_in_order(pieces: list[str], suffix: str) -> bool:
    final = [piece for piece in pieces if len(piece) == 1 + len(suffix) and piece.endswith(suffix)]
    return final == sorted(final)


def tokenizers_vocabulary(text: str, case: dict) -> dict | None:
    """With a suffix every run has other ids; the one that has them by code point is the one that we want. None if there is none, or if runs
    differ otherwise: entries of the trainer's queue with equal count and pair come out in any order."""
    if not case.get("suffix"):
        first = tokenizers_once(text, case)
        return first if all(tokenizers_once(text, case) == first for _ in range(2)) else None
    found = [result for result in (tokenizers_once(text, case) for _ in range(60)) if suffixed_in_order(result["pieces"], case["suffix"])]
    return found[0] if found and all(result == found[0] for result in found) else None


def fingerprint(text: str) -> str:
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def vocabulary_text(learned: dict) -> str:
    return "".join(f"{piece}\n" for piece in learned["pieces"]) + "".join(f"{left} {right}\n" for left, right in learned["merges"])
