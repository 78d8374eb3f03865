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
  /// What weights are multiplied in, on the CPU, and compared with fp32.
  std::vector<tensor::ComputeChoice> types{tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8};
  /// Compare with double precision on the reference backend instead, and fp32 with it, too. Slow.
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
  std::int64_t target_tokens = 0;  ///< ends included
};

/// What number types cost a model, layer by layer: it reads pairs of sentences by teacher forcing in each.
///
///     dragoman::pipeline::ComputeComparer comparer("models/de-en", host);
///     comparer.read({{"Guten Morgen!", "Good morning!", "greeting"}});
///     const double loss = comparer.result().types.front().comparison.predictions.kl_divergence;
///
/// For one thread at a time. Making one may load a plugin into the host: see Translator.
class ComputeComparer {
 public:
  /// The host must outlive the comparer.
  ComputeComparer(const std::filesystem::path& model_folder, plugins::Host& host,
                  const ComputeComparisonOptions& options = {});
  ~ComputeComparer();
  ComputeComparer(ComputeComparer&&) noexcept;
  ComputeComparer& operator=(ComputeComparer&&) noexcept;

  /// Error{kBadInput} that says where, if a pair has more tokens than the model takes; Error{kInterrupted} if `stop`
  /// asks.
  void read(std::vector<LinePair> pairs, const std::stop_token& stop = {});
  /// The same of `count` pairs of 5 to 25 tokens each, drawn from the vocabulary without special tokens: for a first
  /// look where no text is at hand. They are always the same.
  void read_random(std::size_t count, const std::stop_token& stop = {});
  /// Of all that was read.
  ComputeComparison result() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
