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

/// A sentence and a model's results for it.
struct ReferenceSentence {
  std::vector<std::int32_t> source{};       ///< with its tags and the closing end
  std::vector<std::int32_t> target{};       ///< with its tags, without an end
  std::int32_t tags = 0;                    ///< the number of target tokens that are tags, with which `greedy` begins
  std::vector<double> log_probabilities{};  ///< natural logarithms for each target token and for the end after them
  /// The best tokens after the tags, step by step, and the end if it was reached.
  std::vector<std::int32_t> greedy{};
  std::vector<double> margins{};  ///< for each of these, its log probability minus that of the second best
};

/// The state of a model at its import: fingerprints (core::fingerprint) of its parameters, as F32 in row order, and its
/// results for some sentences in fp32 without packed weights. It is the content of `reference.json` in a model folder.
struct ModelReference {
  static constexpr int kFormatVersion = 1;
  static constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;

  std::vector<std::pair<std::string, std::uint64_t>> weights{};
  std::vector<ReferenceSentence> sentences{};
};

/// Reads a reference. Sentences must be valid for a model of this spec. Throws Error{kBadInput} that names `where` and
/// the place.
ModelReference read_model_reference(const core::Json& json, const nn::SequenceSpec& sequences,
                                    const std::string& where);
/// Reads the reference of a model folder, which must have one.
///
///     const ModelConfig config = load_model_config("models/de-en");                       // model_folder.h
///     const ModelReference reference = load_model_reference("models/de-en", config.sequences);
///     const auto weights = SafetensorsFile::open("models/de-en/model.safetensors");
///     for (const std::string& name : find_changed_weights(reference, weights).names) std::cout << name << '\n';
ModelReference load_model_reference(const std::filesystem::path& folder, const nn::SequenceSpec& sequences);
/// Returns the content of the file, with one key per line.
std::string to_text(const ModelReference& reference);

/// The weights of a file that differ from the reference: their values are different, or they are missing. Tensors of
/// the file that are not F32 were rounded after the import and are not compared.
struct WeightDifferences {
  std::vector<std::string> names{};
  std::size_t compared = 0;
};
/// Compares the weights of a file with the fingerprints of the reference.
WeightDifferences find_changed_weights(const ModelReference& reference, const SafetensorsFile& weights);

}  // namespace dragoman::formats
