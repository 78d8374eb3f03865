"""Tokenizers of the library tokenizers with the parts and the orders of parts that its files have in the wild: of translation and language models whose vocabularies are not here, so they
are learned from whatever text is given."""
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

try:
    from sentencepiece import sentencepiece_model_pb2
except ImportError:  # with a protobuf older than sentencepiece's
    from transformers.utils import sentencepiece_model_pb2_new as sentencepiece_model_pb2

CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": "|".join([
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]),
    "cl100k_possessive": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "mistral": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "lookaround": r"(?<=\d)(?=(\d{3})+\b)|(?=[A-Z][a-z])|\w+(?=ing\b)|[[:alpha:]&&[^aeiou]]+",
}
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def byte_level(corpus: list[str], pattern: str, size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=pattern == PATTERNS["qwen2"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True)])
    return tokenizer


def sentencepiece_unigram(corpus: list[str], size: int, **options) -> sentencepiece_model_pb2.ModelProto:
    with tempfile.NamedTemporaryFile() as out:
        settings = dict(model_type="unigram", vocab_size=size, hard_vocab_limit=False, character_coverage=0.9995) | options
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=out, minloglevel=2, **settings)
        out.flush()
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(open(out.name, "rb").read())
        return model


def xlm_roberta(corpus: list[str], size: int, metaspace, charsmap: bool = True, **options) -> Tokenizer:
    """As transformers converts XLM-R, mBART and T5: the character map of the model, then its pieces with fairseq's in front."""
    model = sentencepiece_unigram(corpus, size, **options)
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [(piece.piece, piece.score) for piece in model.pieces[3:]] + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, 3, byte_fallback=options.get("byte_fallback", False)))
    steps = [normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)] if charsmap else [normalizers.Nmt(), normalizers.NFKC()]
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = metaspace
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ("<s>", "<pad>", "</s>", "<unk>")])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("deu_Latn", special=True)])
    return tokenizer


def word_piece(corpus: list[str], size: int, lowercase: bool, longest: int = 100) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=longest))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=lowercase)
    tokenizer.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return tokenizer


def whole_words(corpus: list[str], size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)])
    tokenizer.train_from_iterator(corpus, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["<unk>"], show_progress=False))
    return tokenizer


def flags(corpus: list[str], size: int) -> Tokenizer:
    """Added tokens with each flag, some of which overlap, in front of a model of merges with an odd order of parts."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split("\u2581", "merged_with_next")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<s>"] + [f"<0x{byte:02X}>" for byte in range(256)], limit_alphabet=60, show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken("the", single_word=True), AddedToken("ing", rstrip=True, normalized=False), AddedToken("<ph>", lstrip=True, rstrip=True, normalized=False),
                          AddedToken("RIVER", normalized=True), AddedToken("river s", normalized=True, single_word=True), AddedToken("a  b", lstrip=True), AddedToken("\ufb01n", normalized=True)])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("<ph", special=True)])
    return tokenizer


def behaviors(corpus: list[str], size: int, behavior: str, invert: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"[aeiou]+|\d"), behavior, invert=invert), pre_tokenizers.CharDelimiterSplit("-")])
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False))
    return tokenizer


def all_tokenizers(corpus: list[str], size: int, **options) -> dict[str, Tokenizer]:
    """`options` are those of SentencePiece's trainer."""
    metaspace = pre_tokenizers.Metaspace
    made = {f"bytes_{name}": byte_level(corpus, pattern, size + 256) for name, pattern in PATTERNS.items()}
    made |= {
        "xlm_roberta": xlm_roberta(corpus, size, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()]), **options),
        "t5": xlm_roberta(corpus, size + 256, metaspace(prepend_scheme="always"), charsmap=True, **(options | {"byte_fallback": True})),
        "first": xlm_roberta(corpus, size, metaspace(prepend_scheme="first", split=False), charsmap=False, **options),
        "never": xlm_roberta(corpus, size, metaspace(prepend_scheme="never", replacement="_"), charsmap=False, **options),
        "uncased": word_piece(corpus, size, True),
        "cased": word_piece(corpus, size, False, 12),
        "whole_words": whole_words(corpus, size),
        "flags": flags(corpus, size + 256),
    }
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            made[f"split_{behavior}{'_inverted' if invert else ''}"] = behaviors(corpus, size, behavior, invert)
    return made
