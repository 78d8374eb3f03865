#include "gpt2_files.h"

#include "formats/byte_level.h"
#include "text_fields.h"

#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/publish_together.h>

namespace dragoman::tokenizer {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::require;

constexpr std::string_view kVocabularyName = "vocab.json";
constexpr std::string_view kMergesName = "merges.txt";

/// Returns the file beside a merges.txt or a vocab.json, which may have a prefix, as in "roberta-vocab.json".
fs::path companion_of(const fs::path& file, bool is_merges) {
  std::string name = file.filename().string();
  const std::string_view own = is_merges ? kMergesName : kVocabularyName;
  name.resize(name.ends_with(own) ? name.size() - own.size() : 0);
  return file.parent_path() / name.append(is_merges ? kVocabularyName : kMergesName);
}

/// Requires that the merges.txt, which the user has not named, may be written.
void require_free_merges(const fs::path& merges, const fs::path& vocabulary) {
  std::error_code ignored;
  require(!fs::is_symlink(merges, ignored), ErrorCode::kInvalidArgument,
          "{}: is a link, and would be written with {}; remove it, or name another folder", merges.string(),
          vocabulary.filename().string());
  require(!fs::exists(merges, ignored) || fs::exists(vocabulary, ignored), ErrorCode::kInvalidArgument,
          "{}: would be replaced, because it is written with {}, which does not exist yet; remove it, or name another "
          "folder",
          merges.string(), vocabulary.filename().string());
}

}  // namespace

fs::path gpt2_companion(const fs::path& file) {
  return companion_of(file, file.filename().string().ends_with(kMergesName));
}

BpeDefinition read_gpt2_files(const fs::path& path, const std::string& content, const ReadOptions&) {
  const bool is_merges = content.starts_with("#version:");
  // The user has not named the other file. Therefore, it must not be a pipe.
  const std::string other =
      without_byte_order_mark(core::read_regular_file(companion_of(path, is_merges), TokenizerFile::kLargest));
  return read_gpt2(is_merges ? other : content, is_merges ? content : other, path.string());
}

void write_gpt2_files(const BpeDefinition& definition, const fs::path& path) {
  require(path.filename().string().ends_with(kVocabularyName), ErrorCode::kInvalidArgument,
          "{}: the name of the vocabulary must end with {}, so that {} is found beside it", path.string(),
          kVocabularyName, kMergesName);
  const fs::path merges = companion_of(path, false);
  require_free_merges(merges, path);
  const Gpt2Files files = write_gpt2(definition);
  const core::FileContent both[] = {{merges, files.merges_text}, {path, files.vocabulary_json}};
  core::write_together(both);
}

}  // namespace dragoman::tokenizer
