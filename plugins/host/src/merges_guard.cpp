#include "dragoman/plugins/merges_guard.h"

#include <string>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/input_guard.h>

namespace dragoman::plugins {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;

constexpr std::string_view kVocabulary = "vocab.json";
constexpr std::string_view kMerges = "merges.txt";

}  // namespace

fs::path gpt2_companion(const fs::path& file) {
  std::string name = file.filename().string();
  const bool is_merges = name.ends_with(kMerges);
  const std::string_view own = is_merges ? kMerges : kVocabulary;
  name.resize(name.ends_with(own) ? name.size() - own.size() : 0);
  return file.parent_path() / (name + std::string(is_merges ? kVocabulary : kMerges));
}

void require_free_merges(const fs::path& vocabulary, const std::vector<fs::path>& inputs) {
  if (!vocabulary.filename().string().ends_with(kVocabulary)) return;  // a name that the writer refuses
  const fs::path merges = gpt2_companion(vocabulary);
  std::error_code ignored;
  core::require(!fs::is_symlink(merges, ignored), ErrorCode::kInvalidArgument,
                "{}: is a link, and would be written with {}; remove it, or name another folder", merges.string(),
                vocabulary.filename().string());
  core::require(!fs::exists(merges, ignored) || fs::exists(vocabulary, ignored), ErrorCode::kInvalidArgument,
                "{}: would be replaced, because it is written with {}, which does not exist yet; remove it, or name "
                "another folder",
                merges.string(), vocabulary.filename().string());
  core::require_not_an_input(merges, inputs);
}

}  // namespace dragoman::plugins
