"""SentencePiece models as messages.

>>> from dragoman.compat.sentencepiece import sentencepiece_model_pb2
>>> model = sentencepiece_model_pb2.ModelProto()
>>> model.pieces.add(piece="<2de>", score=0.0, type=model.SentencePiece.USER_DEFINED).piece
'<2de>'
>>> len(model.pieces)
1
"""

from __future__ import annotations

from ._messages import Enum, Field, Message


class TrainerSpec(Message):
    """The options of a training."""

    ModelType = Enum(UNIGRAM=1, BPE=2, WORD=3, CHAR=4)
    UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
    FIELDS = (
        Field(1, "input", str, repeated=True),
        Field(2, "model_prefix", str),
        Field(3, "model_type", int, 1),
        Field(4, "vocab_size", int, 8000),
        Field(5, "accept_language", str, repeated=True),
        Field(6, "self_test_sample_size", int),
        Field(7, "input_format", str),
        Field(10, "character_coverage", float, 0.9995),
        Field(11, "input_sentence_size", "uint"),
        Field(12, "mining_sentence_size", int),
        Field(13, "training_sentence_size", int),
        Field(14, "seed_sentencepiece_size", int, 1000000),
        Field(15, "shrinking_factor", float, 0.75),
        Field(16, "num_threads", int, 16),
        Field(17, "num_sub_iterations", int, 2),
        Field(18, "max_sentence_length", int, 4192),
        Field(19, "shuffle_input_sentence", bool, True),
        Field(20, "max_sentencepiece_length", int, 16),
        Field(21, "split_by_unicode_script", bool, True),
        Field(22, "split_by_whitespace", bool, True),
        Field(23, "split_by_number", bool, True),
        Field(24, "treat_whitespace_as_suffix", bool, False),
        Field(25, "split_digits", bool, False),
        Field(26, "allow_whitespace_only_pieces", bool, False),
        Field(30, "control_symbols", str, repeated=True),
        Field(31, "user_defined_symbols", str, repeated=True),
        Field(32, "vocabulary_output_piece_score", bool, True),
        Field(33, "hard_vocab_limit", bool, True),
        Field(34, "use_all_vocab", bool, False),
        Field(35, "byte_fallback", bool, False),
        Field(36, "required_chars", str),
        Field(40, "unk_id", int, 0),
        Field(41, "bos_id", int, 1),
        Field(42, "eos_id", int, 2),
        Field(43, "pad_id", int, -1),
        Field(44, "unk_surface", str, " \u2047 "),
        Field(45, "unk_piece", str, "<unk>"),
        Field(46, "bos_piece", str, "<s>"),
        Field(47, "eos_piece", str, "</s>"),
        Field(48, "pad_piece", str, "<pad>"),
        Field(49, "train_extremely_large_corpus", bool, False),
        Field(50, "enable_differential_privacy", bool, False),
        Field(51, "differential_privacy_noise_level", float),
        Field(52, "differential_privacy_clipping_threshold", "uint"),
        Field(53, "pretokenization_delimiter", str),
        Field(54, "seed_sentencepieces_file", str),
        Field(55, "auto_character_coverage", bool, False),
    )


class NormalizerSpec(Message):
    """The rules by which texts are normalised."""

    FIELDS = (
        Field(1, "name", str),
        Field(2, "precompiled_charsmap", bytes),
        Field(3, "add_dummy_prefix", bool, True),
        Field(4, "remove_extra_whitespaces", bool, True),
        Field(5, "escape_whitespaces", bool, True),
        Field(6, "normalization_rule_tsv", str),
    )


class _SelfTestSample(Message):
    FIELDS = (Field(1, "input", str), Field(2, "expected", str))


class SelfTestData(Message):
    """Texts and their expected pieces."""

    Sample = _SelfTestSample
    FIELDS = (Field(1, "samples", _SelfTestSample, repeated=True),)


class _SentencePiece(Message):
    Type = Enum(NORMAL=1, UNKNOWN=2, CONTROL=3, USER_DEFINED=4, UNUSED=5, BYTE=6)
    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
    FIELDS = (Field(1, "piece", str), Field(2, "score", float), Field(3, "type", int, 1))


_SentencePiece.__name__ = "SentencePiece"
_SentencePiece.__qualname__ = "ModelProto.SentencePiece"


class ModelProto(Message):
    """A SentencePiece model."""

    SentencePiece = _SentencePiece
    FIELDS = (
        Field(1, "pieces", _SentencePiece, repeated=True),
        Field(2, "trainer_spec", TrainerSpec),
        Field(3, "normalizer_spec", NormalizerSpec),
        Field(4, "self_test_data", SelfTestData),
        Field(5, "denormalizer_spec", NormalizerSpec),
    )
