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

/// The maximum differences between a computation and the reference of a model. Errors of log probabilities are relative
/// to 1 + their absolute value.
struct VerificationBounds {
  double mean = 0;
  double largest = 0;
  /// A greedy translation must agree with the reference at tokens where the best token leads by more than this.
  double margin = 0;
};
/// Returns the bounds of a number type. docs/guides/models.md explains their origin.
VerificationBounds verification_bounds(tensor::ComputeType type);

struct ModelVerification {
  std::string against;           ///< "reference.json", or "double precision"
  std::string compute;           ///< the number type of matrix products
  bool rounded_weights = false;  ///< whether the weights in the folder are rounded, unlike the imported ones
  VerificationBounds bounds{};
  std::size_t sentences = 0;
  std::size_t tokens = 0;  ///< tokens whose log probabilities were compared
  double mean_error = 0;
  double largest_error = 0;
  std::size_t equal_translations = 0;  ///< of `sentences`, greedy
  std::size_t near_ties = 0;           ///< the `sentences` that differ at a token where the reference leads by too
                                       ///< little
  std::size_t compared_weights = 0;
  std::vector<std::string> changed_weights{};
  /// The violations, one sentence each. Empty: the model computes the same results as when it was imported.
  std::vector<std::string> faults{};
};

struct VerifyModelOptions {
  /// Unset: the type that the model folder specifies.
  std::optional<tensor::ComputeChoice> compute{};
  int threads = 0;
  std::stop_token stop{};
};

/// Returns whether the model folder has a reference for verify_model(). Only imported models do.
bool has_model_reference(const std::filesystem::path& folder);

/// Runs an imported model on the sentences of its reference.json, and compares the values of its weights. A model of
/// another toolkit that is opened without an import has no such file; it is compared with the reference backend, in
/// double precision. Error{kUnsupported} if the model is so large that this would take minutes; other errors as in
/// Translator. Differences are not errors; the result contains them.
///
///     plugins::Host& host = plugins::default_host();                    // plugins/host.h
///     for (const std::string& fault : verify_model("models/de-en", host).faults) std::cout << fault << '\n';
ModelVerification verify_model(const std::filesystem::path& model, plugins::Host& host,
                               const VerifyModelOptions& options = {});

}  // namespace dragoman::pipeline
