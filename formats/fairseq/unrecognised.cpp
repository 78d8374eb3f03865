#include "fairseq/unrecognised.h"

#include "tokens/plain_file.h"
#include "torch/torch_file.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::imports {
namespace {

constexpr const char* kRemedy =
    "give a folder of transformers or CTranslate2, a model of Marian, or a checkpoint of fairseq (.pt) with its "
    "dictionaries beside it; docs/guides/models.md describes each";

std::string describe_unknown(const std::string& file) {
  return fmt::format(
      "{}: looks like a checkpoint of PyTorch, as OpenNMT-py and others write them, which cannot be imported; {}", file,
      kRemedy);
}

/// Describes the file by the keys of its contents.
std::string describe(const PickleValue& root, const std::string& file) {
  const auto has = [&](const char* key) { return root.at(key) != nullptr; };
  if (has("model") && (has("args") || has("cfg")))
    return fmt::format(
        "{}: looks like a checkpoint of fairseq, but there is no dictionary (dict.de.txt) in its folder; copy the "
        "dictionaries there, and give the file a name that ends in .pt",
        file);
  if (has("model") && has("generator") && (has("opt") || has("vocab")))
    return fmt::format(
        "{}: looks like a checkpoint of OpenNMT-py, which cannot be imported: sources of its models do not end in a "
        "token, and sources of models here do; {}",
        file, kRemedy);
  return describe_unknown(file);
}

}  // namespace

std::string why_no_fairseq(const std::filesystem::path& path) {
  constexpr std::size_t kEnough = 16;
  try {
    if (!is_file(path)) return {};
    const std::string beginning = core::read_beginning(path, kEnough);
    if (!looks_like_torch(std::as_bytes(std::span(beginning)))) return {};
    return describe(TorchFile::open(path).root(), path.string());
  } catch (const core::Error& error) {
    // Pickles that are not supported, for example with classes of OpenNMT-py. Other zip archives have another error
    // code.
    if (error.code() != core::ErrorCode::kUnsupported) return {};
    return describe_unknown(path.string());
  }
}

}  // namespace dragoman::imports
