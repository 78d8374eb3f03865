#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/plugins/host.h>
#include <dragoman/tensor/compute_type.h>

namespace dragoman::pipeline {

/// How far a computation may be from a model's reference. Errors of log probabilities are relative to 1 + their size.
struct VerificationBounds {
  double mean = 0;
  double largest = 0;
  /// A greedy translation must go on as the reference does where the best token leads by more than this.
  double margin = 0;
};
/// Those of a number type; docs/guides/models.md says where they come from.
VerificationBounds verification_bounds(tensor::ComputeType type);

struct ModelVerification {
  std::string against;           ///< "reference.json", or "double precision"
  std::string compute;           ///< what the weights were multiplied in
  bool rounded_weights = false;  ///< the folder's are not those that were imported
  VerificationBounds bounds{};
  std::size_t sentences = 0;
  std::size_t tokens = 0;  ///< whose log probabilities were compared
  double mean_error = 0;
  double largest_error = 0;
  std::size_t equal_translations = 0;  ///< of `sentences`, greedy
  std::size_t near_ties = 0;           ///< that part where the reference was in doubt
  std::size_t compared_weights = 0;
  std::vector<std::string> changed_weights{};
  /// What does not hold, each a sentence; empty: all is as it was.
  std::vector<std::string> faults{};
};

struct VerifyModelOptions {
  /// Nothing: what the model's folder says.
  std::optional<tensor::ComputeChoice> compute{};
  int threads = 0;
  std::stop_token stop{};
};

/// Whether verify_model() has something to compare the model folder with: only imports keep a reference.
bool has_model_reference(const std::filesystem::path& folder);

/// Runs an imported model again on the sentences of its reference.json, and compares the values of its weights. A model
/// of another toolkit that is opened as it is has none: it is compared with the reference backend, in double precision.
/// Error{kUnsupported} if it is so large that this would take minutes; otherwise as Translator does. What does not
/// agree is no error, but stands in the result.
ModelVerification verify_model(const std::filesystem::path& model, plugins::Host& host,
                               const VerifyModelOptions& options = {});

}  // namespace dragoman::pipeline
