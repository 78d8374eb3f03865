#pragma once

#include "error_message.h"
#include "test_data.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::formats::testing {

using dragoman::testing::error_of;

/// A model that has parameters and a configuration and cannot compute: all that files are about.
class PaperModel final : public nn::Seq2SeqModel {
 public:
  explicit PaperModel(nn::SequenceSpec spec, std::int64_t width = 2) : Seq2SeqModel(spec), width_(width) {
    nn::Scope scope(parameters());
    scope.matrix("embedding", spec.target_vocabulary, width, nn::Initialiser::normal(1));
    scope.vector("bias", width, nn::Initialiser::normal(1));
  }
  std::vector<nn::KeyValue> memories(nn::Context&, const nn::Encoding&) const override { return {}; }
  ops::Projection output() const override { return {}; }
  core::Json config() const override { return {{"width", width_}}; }

 private:
  nn::Encoding run_encoder(nn::Context&, const nn::Sequences&, bool) const override { return {}; }
  nn::Decoding run_decoder(nn::Context&, const nn::Sequences&, nn::DecoderState&, bool) const override { return {}; }
  std::int64_t width_;
};

/// The names in a folder.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// A tokenizer.json of three special tokens, <unk> <s> </s>, and one piece for each of `letters`.
inline std::string tokenizer_json(const std::string& letters) {
  tokenizer::BpeDefinition definition;
  definition.pieces = {"<unk>", "<s>", "</s>"};
  for (const char letter : letters) definition.pieces.emplace_back(1, letter);
  for (const std::int32_t id : {0, 1, 2}) definition.added_tokens.push_back({.id = id, .special = true});
  definition.unknown = 0;
  return tokenizer::BpeTokenizer(definition).to_json();
}

inline void save_tokenizer(const std::filesystem::path& path, const std::string& letters) {
  core::write_file(path, tokenizer_json(letters));
}

inline std::unique_ptr<PaperModel> make_model(std::uint64_t seed = 7, std::int64_t vocabulary = 5,
                                              std::int64_t width = 2) {
  auto model = std::make_unique<PaperModel>(
      nn::SequenceSpec{.source_vocabulary = vocabulary, .target_vocabulary = vocabulary}, width);
  model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  model->parameters().initialise(seed);
  return model;
}

/// Writes a model with a joint tokenizer of two letters.
inline void write_model(const std::filesystem::path& path, const nn::Seq2SeqModel& model,
                        const std::string& card = "A card.\n", const std::string& letters = "ab") {
  write_model_folder(
      path, {.model_type = "paper", .model = &model, .tokenizer = {.content = tokenizer_json(letters)}, .card = card});
}

}  // namespace dragoman::formats::testing
