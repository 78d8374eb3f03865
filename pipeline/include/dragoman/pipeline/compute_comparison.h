#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/decoding/model_comparison.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tensor/compute_type.h>

namespace dragoman::pipeline {

struct ComputeComparisonOptions {
  /// The number types of matrix products on the CPU to compare with fp32.
  std::vector<tensor::ComputeChoice> types{tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8};
  /// Whether the reference is double precision on the reference backend instead, which fp32 is then compared with as
  /// well. Slow.
  bool against_double = false;
  int threads = 0;
  bool allow_non_finite = false;
};

struct ComputeComparison {
  struct Entry {
    std::string type;  ///< "int8 (7-bit activations)"
    decoding::ModelComparison comparison{};
  };
  std::string reference;  ///< "fp32" or "fp64"
  std::vector<Entry> types{};
  std::uint64_t sentences = 0;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;  ///< including ends
};

/// Measures, layer by layer, the error of a model in several number types. It reads sentence pairs by teacher forcing
/// in each type.
///
///     ComputeComparer comparer("models/de-en", plugins::default_host());     // plugins/host.h
///     comparer.read({{"Guten Morgen!", "Good morning!", "greeting"}});
///     const double loss = comparer.result().types.front().comparison.predictions.kl_divergence;
///
/// Not thread-safe. The constructor may load a plugin into the host: see Translator.
class ComputeComparer {
 public:
  /// The host must outlive the comparer.
  ComputeComparer(const std::filesystem::path& model_folder, plugins::Host& host,
                  const ComputeComparisonOptions& options = {});
  ~ComputeComparer();
  ComputeComparer(ComputeComparer&&) noexcept;
  ComputeComparer& operator=(ComputeComparer&&) noexcept;

  /// Reads sentence pairs. Error{kBadInput} naming the place if a pair has more tokens than the model supports.
  /// Error{kInterrupted} after a stop request.
  void read(std::vector<LinePair> pairs, const std::stop_token& stop = {});
  /// Reads `count` random pairs of 5 to 25 tokens each, drawn from the vocabulary without special tokens, for a quick
  /// check without a text. The pairs are always the same.
  void read_random(std::size_t count, const std::stop_token& stop = {});
  /// Returns the comparison over everything that was read.
  ComputeComparison result() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
