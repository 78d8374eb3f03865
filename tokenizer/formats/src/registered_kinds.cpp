#include "base/base64.h"
#include "dragoman/tokenizer/tokenizer_files.h"
#include "json/tokenizer_json.h"
#include "sentencepiece/sentencepiece_model.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// Returns a definition of `the` and some letters, in which spaces are word marks.
BpeDefinition small_definition() {
  BpeDefinition definition;
  definition.pieces = {"<unk>", "<s>", "</s>", kWordMark, "t", "h", "e", "a", "th", "the"};
  definition.merges = {{4, 5, 8}, {8, 6, 9}};
  for (const std::int32_t id : {0, 1, 2}) definition.added_tokens.push_back({.id = id, .special = true});
  definition.unknown = 0;
  definition.text =
      CharacterText{.normalizer = {{.kind = NormalizerStep::Kind::kReplace, .pattern = " ", .content = kWordMark}},
                    .decoder = DecoderSteps{.replacements = {{kWordMark, " "}}}};
  return definition;
}

/// Returns a model with the same pieces, in which scores are ranks.
SentencePieceModel small_sentencepiece() {
  using Model = SentencePieceModel;
  Model model;
  model.model_type = Model::kBpe;
  model.normalizer_name = "identity";
  model.pieces = {{"<unk>", 0, Model::kUnknown},
                  {"<s>", 0, Model::kControl},
                  {"</s>", 0, Model::kControl},
                  {"th", 0, Model::kNormal},
                  {"the", -1, Model::kNormal}};
  for (const char* letter : {kWordMark, "t", "h", "e", "a"})
    model.pieces.push_back({letter, -static_cast<float>(model.pieces.size()), Model::kNormal});
  return model;
}

/// Returns ranks of all bytes and `th`.
std::string small_ranks() {
  std::string ranks;
  int rank = 0;
  for (; rank < 256; ++rank) ranks += fmt::format("{} {}\n", to_base64(std::string(1, static_cast<char>(rank))), rank);
  return ranks + fmt::format("{} {}\n", to_base64("th"), rank);
}

const std::vector<std::string>& usual_texts() {
  static const std::vector<std::string> texts = {"the tea", "a hat"};
  return texts;
}

/// A kind that is a single file, so that a model folder can contain it.
struct RegisteredKind {
  FileKind kind;
  std::string_view summary;
  TokenizerExample (*example)();
};
constexpr RegisteredKind kRegistered[] = {
    {FileKind::kTokenizerJson, "Hugging Face tokenizer.json, the native file",
     [] {
       return TokenizerExample{write_tokenizer_json(small_definition()), usual_texts()};
     }},
    {FileKind::kSubwordNmt, "codes of subword-nmt",
     [] {
       return TokenizerExample{"#version: 0.2\nt h\nth e</w>\nt e\nte a</w>\nh a\nha t</w>\n", usual_texts()};
     }},
    {FileKind::kFastBpe, "codes of fastBPE",
     [] {
       return TokenizerExample{"t h 4\nth e</w> 3\nt e 2\nte a</w> 2\nh a 1\nha t</w> 1\n", usual_texts()};
     }},
    {FileKind::kSentencePiece, "a SentencePiece model, BPE or unigram",
     [] {
       return TokenizerExample{serialize(small_sentencepiece()), usual_texts()};
     }},
    {FileKind::kTiktoken, "ranks of tiktoken",
     [] {
       return TokenizerExample{small_ranks(), {"the tea", " a  hat ", "\xC3\xBC \xE2\x80\x94 \xF0\x9F\x9A\x80"}};
     }},
    // Counts; characters and their ids; merges; the ids of <UNK>, <PAD>, <BOS>, <EOS>.
    {FileKind::kYouTokenToMe, "a model of YouTokenToMe",
     [] {
       return TokenizerExample{"5 2\n9601 4\n116 5\n104 6\n101 7\n97 8\n5 6 9\n9 7 10\n1 0 2 3\n", usual_texts()};
     }},
};

}  // namespace

std::vector<FileKind> registered_kinds() {
  std::vector<FileKind> kinds;
  for (const RegisteredKind& registered : kRegistered) kinds.push_back(registered.kind);
  return kinds;
}

std::string_view summary_of(FileKind kind) noexcept {
  const auto* found = std::ranges::find(kRegistered, kind, &RegisteredKind::kind);
  return found == std::end(kRegistered) ? "" : found->summary;
}

TokenizerExample example_of(FileKind kind) {
  const auto* found = std::ranges::find(kRegistered, kind, &RegisteredKind::kind);
  core::require(found != std::end(kRegistered), core::ErrorCode::kInternal, "a kind of file that is not registered");
  return found->example();
}

}  // namespace dragoman::tokenizer
