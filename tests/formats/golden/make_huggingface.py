#!/usr/bin/env python3
"""Makes the folders of golden/huggingface: for each family a random model with its tokenizer, as transformers saves
them, and expected.json, what transformers makes of some lines with it. With transformers 4.44.2, torch 1.13.1,
tokenizers 0.19.1 and sentencepiece 0.2.3: make_huggingface.py FOLDER [FAMILY...]
"""
import json
import os
import shutil
import sys
import tempfile

import sentencepiece
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer

LINES = ["The old bridge over the river is closed.", "Who has seen my brother?", "Two dogs run after a red ball.",
         "It rains, and nobody has an umbrella with them.", "Bread.", "The train to Leipzig leaves at nine.",
         "A woman in a blue coat reads the newspaper on a bench.", "We never found out what it was.",
         "Please close the window!", "Children are playing in the snow near the church.", "Yes, of course.",
         "He has sold his car, and now he goes everywhere by bicycle."]
TARGETS = ["Die alte Br\u00fccke ist gesperrt.", "Wer hat meinen Bruder gesehen?", "Zwei Hunde rennen einem Ball nach.",
           "Es regnet, und niemand hat einen Schirm dabei.", "Brot.", "Der Zug nach Leipzig f\u00e4hrt um neun.",
           "Eine Frau im blauen Mantel liest Zeitung.", "Wir haben es nie erfahren.", "Bitte mach das Fenster zu!",
           "Kinder spielen im Schnee.", "Ja, nat\u00fcrlich.", "Er hat sein Auto verkauft."]
# Those that no model has seen.
OTHERS = ["My brother runs over the bridge.", "A red train is in the snow.", "Nobody reads the window of the dogs.",
          "Yes, it rains at nine, and we found the church closed."]
SIZES = dict(d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=96)


def learn_sentencepiece(lines, prefix, size, kind="unigram", **options):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write("\n".join(lines) + "\n")
        text.flush()
        sentencepiece.SentencePieceTrainer.train(
            input=text.name, model_prefix=prefix, vocab_size=size, model_type=kind, hard_vocab_limit=False,
            **{"normalization_rule_name": "identity", "minloglevel": 2, **options})
    os.remove(prefix + ".vocab")
    return prefix + ".model"


def marian_tokenizer(folder, separate):
    source = learn_sentencepiece(LINES, os.path.join(folder, "s"), 60)
    target = learn_sentencepiece(TARGETS, os.path.join(folder, "t"), 60)
    os.rename(source, os.path.join(folder, "source.spm"))
    os.rename(target, os.path.join(folder, "target.spm"))

    def pieces(name):
        model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, name))
        return [model.id_to_piece(i) for i in range(3, model.get_piece_size())]

    def write(name, lists):
        vocabulary = {"</s>": 0, "<unk>": 1}
        for piece in lists:
            vocabulary.setdefault(piece, len(vocabulary))
        vocabulary["<pad>"] = len(vocabulary)
        with open(os.path.join(folder, name), "w") as file:
            json.dump(vocabulary, file)

    # As in OPUS-MT, not every piece of the SentencePiece models is in the vocabulary.
    if separate:
        write("vocab.json", sorted(pieces("source.spm"))[2:])
        write("target_vocab.json", sorted(pieces("target.spm"))[2:])
    else:
        write("vocab.json", sorted(pieces("source.spm") + pieces("target.spm"))[3:])
    options = dict(source_lang="en", target_lang="de", separate_vocabs=separate)
    if separate:
        options["target_vocab_file"] = os.path.join(folder, "target_vocab.json")
    return transformers.MarianTokenizer(
        os.path.join(folder, "source.spm"), os.path.join(folder, "target.spm"), os.path.join(folder, "vocab.json"),
        **options)


def make_marian(folder, separate=False):
    tokenizer = marian_tokenizer(folder, separate)
    size = len(tokenizer.encoder)
    target_size = len(tokenizer.target_encoder) if separate else size
    pad = target_size - 1
    config = transformers.MarianConfig(
        vocab_size=size, decoder_vocab_size=target_size, share_encoder_decoder_embeddings=not separate,
        tie_word_embeddings=True, activation_function="swish", scale_embedding=True, pad_token_id=size - 1,
        eos_token_id=0, bos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0, bad_words_ids=[[pad]],
        num_beams=4, max_length=64, static_position_embeddings=True, normalize_before=False, **SIZES)
    return tokenizer, transformers.MarianMTModel(config), {}


def make_pegasus(folder):
    model = learn_sentencepiece(LINES + TARGETS, os.path.join(folder, "spiece"), 80, **T5_IDS)
    tokenizer = transformers.PegasusTokenizer(model)
    # The table has more rows than there are tokens.
    config = transformers.PegasusConfig(
        vocab_size=len(tokenizer) + 2, activation_function="relu", scale_embedding=True, forced_eos_token_id=1,
        num_beams=4, max_length=64, length_penalty=0.8, **SIZES)
    return tokenizer, transformers.PegasusForConditionalGeneration(config), {}


def make_bart(folder):
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(LINES + TARGETS, vocab_size=300,
                                  special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False)
    tokenizer.save_model(folder)
    tokenizer = transformers.BartTokenizer(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"))
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), activation_function="gelu", scale_embedding=False, forced_bos_token_id=0,
        num_beams=4, max_length=64, length_penalty=0.7, **SIZES)
    return tokenizer, transformers.BartForConditionalGeneration(config), {}


def make_mbart(folder):
    model = learn_sentencepiece(LINES + TARGETS, os.path.join(folder, "sentencepiece.bpe"), 80)
    tokenizer = transformers.MBart50Tokenizer(model, src_lang="en_XX", tgt_lang="de_DE")
    config = transformers.MBartConfig(
        vocab_size=len(tokenizer), activation_function="relu", scale_embedding=True, num_beams=5, max_length=64,
        decoder_start_token_id=2, forced_eos_token_id=2, **SIZES)
    return tokenizer, transformers.MBartForConditionalGeneration(config), {
        "forced_bos_token_id": tokenizer.lang_code_to_id["de_DE"]}


def make_m2m(folder):
    model = learn_sentencepiece(LINES + TARGETS, os.path.join(folder, "sentencepiece.bpe"), 80)
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    for i in reversed(range(3, processor.get_piece_size())):
        vocabulary[processor.id_to_piece(i)] = len(vocabulary)
    with open(os.path.join(folder, "vocab.json"), "w") as file:
        json.dump(vocabulary, file)
    tokenizer = transformers.M2M100Tokenizer(os.path.join(folder, "vocab.json"), model, src_lang="en", tgt_lang="de")
    config = transformers.M2M100Config(
        vocab_size=len(vocabulary) + 108, activation_function="relu", scale_embedding=True, num_beams=5,
        max_length=64, early_stopping=True, **SIZES)
    return tokenizer, transformers.M2M100ForConditionalGeneration(config), {
        "forced_bos_token_id": tokenizer.get_lang_id("de")}


def make_nllb(folder):
    model = learn_sentencepiece(LINES + TARGETS, os.path.join(folder, "sentencepiece.bpe"), 80)
    tokenizer = transformers.NllbTokenizer(model, src_lang="eng_Latn", tgt_lang="deu_Latn")
    config = transformers.M2M100Config(
        vocab_size=len(tokenizer) + 2, activation_function="relu", scale_embedding=True, num_beams=4, max_length=64,
        tokenizer_class="NllbTokenizer", **SIZES)
    return tokenizer, transformers.M2M100ForConditionalGeneration(config), {
        "forced_bos_token_id": tokenizer.convert_tokens_to_ids("deu_Latn")}


T5_SIZES = dict(d_model=12, d_kv=5, d_ff=16, num_layers=2, num_decoder_layers=3, num_heads=2,
                relative_attention_num_buckets=8, relative_attention_max_distance=12, num_beams=4, max_length=64)
# Ids as T5 has them: no begin, and the padding first.
T5_IDS = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def make_t5(folder, config_class=transformers.T5Config, model_class=transformers.T5ForConditionalGeneration,
            extra_ids=4, **options):
    model = learn_sentencepiece(LINES + TARGETS + 3 * [PREFIXES["t5"]], os.path.join(folder, "spiece"), 80, **T5_IDS)
    tokenizer = transformers.T5Tokenizer(model, extra_ids=extra_ids, legacy=True)
    # The table has more rows than there are tokens.
    config = config_class(vocab_size=len(tokenizer) + 3, decoder_start_token_id=0, **T5_SIZES, **options)
    return tokenizer, model_class(config), {}


def make_madlad(folder):
    model = learn_sentencepiece(
        LINES + TARGETS, os.path.join(folder, "spiece"), 90, unk_id=0, bos_id=1,
        eos_id=2, user_defined_symbols=["<2translate>", "<2de>", "<2en>", "<2zh_Hant>"])
    tokenizer = transformers.T5Tokenizer(model, extra_ids=0, pad_token="<s>", legacy=True)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), feed_forward_proj="gated-gelu", tie_word_embeddings=False, pad_token_id=1,
        eos_token_id=2, decoder_start_token_id=0, **T5_SIZES)
    return tokenizer, transformers.T5ForConditionalGeneration(config), {}


def make_flan(folder):
    """Without spiece.model: the tokenizer is a tokenizer.json alone, of Unigram with added tokens."""
    slow, model, generation = make_t5(folder, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    return transformers.T5TokenizerFast(slow.vocab_file, extra_ids=4, legacy=True), model, generation


# What stands in front of each source.
PREFIXES = {"t5": "translate English to German: ", "madlad": "<2de> "}


FAMILIES = {
    "t5": lambda folder: make_t5(folder, feed_forward_proj="relu", task_specific_params={
        "translation_en_to_de": {"prefix": PREFIXES["t5"], "num_beams": 4, "max_length": 64}}),
    "flan-t5": make_flan,
    "mt5": lambda folder: make_t5(folder, transformers.MT5Config, transformers.MT5ForConditionalGeneration, 0),
    "umt5": lambda folder: make_t5(folder, transformers.UMT5Config, transformers.UMT5ForConditionalGeneration, 4),
    "madlad": make_madlad,
    "marian": make_marian,
    "marian-separate": lambda folder: make_marian(folder, separate=True),
    "pegasus": make_pegasus,
    "bart": make_bart,
    "mbart50": make_mbart,
    "m2m100": make_m2m,
    "nllb": make_nllb,
}
SHARDED = {"madlad": "12KB", "m2m100": "12KB", "mbart50": "20KB"}
PICKLED = {"marian", "mbart50", "mt5"}
# Steps of training: until translations end, and long before they are right.
STEPS = {"t5": 300, "flan-t5": 300, "mt5": 300, "umt5": 300, "madlad": 300,
         "marian": 200, "marian-separate": 200, "pegasus": 200, "bart": 200, "mbart50": 200, "m2m100": 200,
         "nllb": 200}


def draw(tokenizer, model, family, forced):
    """Random weights, and some steps of training, since random models seldom end a translation."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name and not parameter.requires_grad:
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * noise)
            else:
                parameter.copy_(0.3 * noise)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(0.5 * torch.randn(model.final_logits_bias.shape, generator=generator))
    pairs = []
    for source, target in zip(LINES, TARGETS):
        wanted = target_ids(tokenizer, model, target, forced)
        pairs.append((source_ids(tokenizer, family, source),
                      torch.tensor([[model.config.decoder_start_token_id] + wanted[:-1]]), torch.tensor([wanted])))
    model.eval()
    optimiser = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(STEPS[family]):
        optimiser.zero_grad()
        for ids, inputs, labels in pairs:
            logits = model(input_ids=ids, decoder_input_ids=inputs).logits[0]
            torch.nn.functional.cross_entropy(logits, labels[0], label_smoothing=0.1).backward()
        optimiser.step()


def target_ids(tokenizer, model, target, forced):
    """With the end. Of tags those that are forced: the others are no business of a model."""
    end = model.config.eos_token_id
    tagged = [] if forced is None else [forced]
    wanted = [i for i in tokenizer(text_target=target).input_ids if i != end and i not in tagged]
    return tagged + wanted + [end]


def source_ids(tokenizer, family, source):
    return tokenizer(PREFIXES.get(family, "") + source, return_tensors="pt").input_ids


def expect(tokenizer, model, family, generation, forced):
    lines = []
    prefix = [model.config.decoder_start_token_id]
    for source, target in zip(LINES + OTHERS, TARGETS + OTHERS):
        ids = source_ids(tokenizer, family, source)
        labels = target_ids(tokenizer, model, target, forced)
        with torch.no_grad():
            logits = model(input_ids=ids, decoder_input_ids=torch.tensor([prefix + labels[:-1]])).logits[0].double()
            scores = torch.log_softmax(logits, -1)[range(len(labels)), labels]
            greedy = model.generate(ids, num_beams=1, **generation)[0].tolist()
            beam = model.generate(ids, return_dict_in_generate=True, output_scores=True, **generation)
        best = beam.sequences[0].tolist()
        lines.append({"source": source, "source_ids": ids[0].tolist(), "target": target, "target_ids": labels[:-1],
                      "log_probabilities": [round(x, 7) for x in scores.tolist()],
                      "greedy": greedy, "beam": best,
                      "beam_score": round(beam.sequences_scores[0].item(), 6),
                      "translation": tokenizer.decode(best, skip_special_tokens=True,
                                                      clean_up_tokenization_spaces=False)})
    return lines


def main():
    folder = sys.argv[1]
    for family in sys.argv[2:] or FAMILIES:
        target = os.path.join(folder, family)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            torch.manual_seed(1)
            tokenizer, model, generation = FAMILIES[family](scratch)
            forced = generation.get("forced_bos_token_id", model.config.forced_bos_token_id)
            draw(tokenizer, model, family, forced)
            tokenizer.save_pretrained(target)
            model.save_pretrained(target, safe_serialization=family not in PICKLED,
                                  max_shard_size=SHARDED.get(family, "5GB"))
            lines = expect(tokenizer, model, family, generation, forced)
            if family == "flan-t5":
                os.remove(os.path.join(target, "spiece.model"))
        with open(os.path.join(target, "expected.json"), "w") as file:
            json.dump({"lines": lines}, file, indent=0, ensure_ascii=False)
            file.write("\n")
        lengths = [len(line["beam"]) for line in lines]
        print(family, sum(os.path.getsize(os.path.join(target, name)) for name in os.listdir(target)), lengths,
              [len(line["greedy"]) for line in lines])


if __name__ == "__main__":
    main()
