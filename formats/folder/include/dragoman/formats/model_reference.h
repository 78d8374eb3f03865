#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::formats {

/// A sentence, and what a model made of it.
struct ReferenceSentence {
  std::vector<std::int32_t> source{};       ///< with its tags and the closing end
  std::vector<std::int32_t> target{};       ///< with its tags, without an end
  std::int32_t tags = 0;                    ///< how many tokens of the target are tags, with which `greedy` begins
  std::vector<double> log_probabilities{};  ///< natural logarithms: of each target token, and of the end behind them
  std::vector<std::int32_t> greedy{};       ///< what is best behind the tags, step by step; the end, if it came
  std::vector<double> margins{};            ///< of each of these the log probability less that of the second best
};

/// What a model was when it was imported: fingerprints (core::fingerprint) of its parameters, as F32 in row order, and
/// what it made of some sentences in fp32, without packed weights. The content of `reference.json` in a model folder.
struct ModelReference {
  static constexpr int kFormatVersion = 1;
  static constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;

  std::vector<std::pair<std::string, std::uint64_t>> weights{};
  std::vector<ReferenceSentence> sentences{};
};

/// Error{kBadInput} naming `where` and the place: sentences must be ones that a model of this spec can read.
ModelReference read_model_reference(const core::Json& json, const nn::SequenceSpec& sequences,
                                    const std::string& where);
/// That of a model folder, which must be there.
ModelReference load_model_reference(const std::filesystem::path& folder, const nn::SequenceSpec& sequences);
/// As the file holds it: a key per line.
std::string to_text(const ModelReference& reference);

/// The names of weights of a file that are not those of the reference: other values, or not there. Tensors of the file
/// that are not F32 were rounded since, and say nothing.
struct WeightDifferences {
  std::vector<std::string> names{};
  std::size_t compared = 0;
};
WeightDifferences find_changed_weights(const ModelReference& reference, const SafetensorsFile& weights);

}  // namespace dragoman::formats
