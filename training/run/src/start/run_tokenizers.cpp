#include "start/run_tokenizers.h"

#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/option_error.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;

constexpr std::uint64_t kLargestFile = tokenizer::TokenizerFile::kLargest;

/// A file that the configuration names, read but not yet interpreted.
struct NamedFile {
  std::string path;
  std::string content;
  std::string fingerprint;
};

NamedFile read_named(const std::string& path, const std::stop_token& stop) {
  NamedFile file{.path = path, .content = core::read_file(path, kLargestFile, stop), .fingerprint = {}};
  file.fingerprint = hexadecimal(core::fingerprint(file.content));
  return file;
}

std::string as_tokenizer_json(NamedFile file) {
  const tokenizer::FileKind kind = tokenizer::recognise(file.path, file.content);
  if (kind == tokenizer::FileKind::kTokenizerJson) return std::move(file.content);
  try {
    return tokenizer::BpeTokenizer(tokenizer::parse_tokenizer_file(file.path, file.content), file.path).to_json();
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    core::fail(
        ErrorCode::kUnsupported,
        "{}; to train with this file as it is, name its kind (data.tokenizer: {{file: {}, type: {}}}); otherwise "
        "learn a vocabulary with `dragoman learn-bpe`",
        error.what(), file.path, tokenizer::name_of(kind));
  }
}

/// Creates tokenizers of the kind that the configuration names, or of a tokenizer.json.
class TokenizerMaker {
 public:
  TokenizerMaker(const tokenizer::TokenizerSpec& named, const TrainerEnvironment& environment)
      : named_(named), environment_(environment) {}

  /// Returns the specification of the copied tokenizer.
  tokenizer::TokenizerSpec stored() const {
    if (named_.type.empty()) return {};
    return {.type = named_.type,
            .options = named_.options,
            .plugin = environment_.plugin_of_tokenizer ? environment_.plugin_of_tokenizer(named_.type) : std::string()};
  }

  RunTokenizer make(NamedFile file) const {
    const std::string path = file.path;
    std::string fingerprint = file.fingerprint;
    std::string content = named_.type.empty() ? as_tokenizer_json(std::move(file)) : std::move(file.content);
    return make(std::move(content), path, std::move(fingerprint));
  }

  /// Creates a tokenizer from content that is or was copied.
  RunTokenizer make(std::string content, const fs::path& path, std::string fingerprint) const {
    RunTokenizer made{.tokenizer = {}, .spec = {}, .fingerprint = std::move(fingerprint)};
    if (named_.type.empty())
      made.tokenizer =
          std::make_shared<const tokenizer::BpeTokenizer>(tokenizer::BpeTokenizer::parse(content, path.string()));
    else
      made.tokenizer = environment_.make_tokenizer(named_, {path, content});
    made.spec = stored().with_content(std::move(content));
    return made;
  }

 private:
  const tokenizer::TokenizerSpec& named_;
  const TrainerEnvironment& environment_;
};

/// The copy of one side's tokenizer in the folder of a continued run.
struct Copy {
  fs::path path;
  std::string sum;  ///< empty: the program that began the run made no copies

  bool recorded() const noexcept { return !sum.empty(); }
  /// Returns nullopt if the copy is lost or differs from run.json.
  std::optional<std::string> content() const {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    std::string text = core::read_regular_file(path, kLargestFile);
    if (formats::sha256_of(text) != sum) return std::nullopt;
    return text;
  }
};

Copy copy_of(const RunFolder& folder, formats::TokenizerSide side, const tokenizer::TokenizerSpec& stored) {
  for (const formats::TokenizerSide place : {formats::TokenizerSide::kJoint, side}) {
    const char* const name = formats::tokenizer_file_name(place, stored);
    if (std::string sum = folder.recorded_sum(name); !sum.empty()) return {folder.file(name), std::move(sum)};
  }
  return {};
}

/// Returns the file that the configuration names, or nullopt if it is missing while there is a copy.
std::optional<NamedFile> read_unless_gone(const std::string& path, const Copy& copy, const std::stop_token& stop) {
  std::error_code ignored;
  const bool gone = fs::status(path, ignored).type() == fs::file_type::not_found;
  if (gone && copy.recorded()) return std::nullopt;
  return read_named(path, stop);
}

/// `content` is the content of the copy, if it is present and intact.
void require_unchanged(const NamedFile& file, const std::string& recorded, const Copy& copy,
                       const std::optional<std::string>& content, bool may_fork) {
  if (file.fingerprint == recorded) return;
  const std::string problem = fmt::format("{}: this is not the tokenizer that the run began with", file.path);
  if (may_fork)
    core::fail_option(
        "fork", ErrorCode::kBadInput, "{}; restore the file{}, or accept the new one with `fork`", problem,
        content ? fmt::format(", or name the copy of the former one, {}, as data.tokenizer", copy.path.string())
                : std::string());
  core::fail(ErrorCode::kBadInput, "{}{}", problem,
             copy.recorded() ? fmt::format(", and the copy of that one, {}, is lost or damaged; restore either of them",
                                           copy.path.string())
                             : "; restore the file");
}

RunTokenizer continued(const std::string& path, formats::TokenizerSide side, const TokenizerMaker& maker,
                       const TokenizerOptions& options) {
  const RunFolder& folder = *options.folder;
  const char* const key = side == formats::TokenizerSide::kSource ? "source_tokenizer" : "target_tokenizer";
  const auto recorded = folder.record()["data"].value(key, std::string());
  const Copy copy = copy_of(folder, side, maker.stored());
  std::optional<std::string> content = copy.recorded() ? copy.content() : std::nullopt;
  std::optional<NamedFile> file;
  if (!options.copies || !content) file = read_unless_gone(path, copy, options.stop);
  // The configuration may name the copy itself: its content is that of the run, whatever the kind of the original file.
  const bool named_copy = file && copy.recorded() && formats::sha256_of(file->content) == copy.sum;
  if (named_copy) file->fingerprint = recorded;
  if (file && !options.fork) require_unchanged(*file, recorded, copy, content, !options.copies);
  if (file && file->fingerprint != recorded) return maker.make(std::move(*file));
  if (content) return maker.make(std::move(*content), copy.path, recorded);
  core::require(file.has_value(), ErrorCode::kBadInput,
                "{}: is lost or damaged (its sum is not the one in run.json), and {} is gone; restore either of them",
                copy.path.string(), path);
  if (copy.recorded())
    core::log(options.environment->log, core::LogLevel::kWarning,
              fmt::format("{}: is lost or damaged; {} {}", copy.path.string(),
                          options.copies ? "read in its place:" : "made again from", path));
  return maker.make(std::move(*file));
}

RunTokenizer load(const tokenizer::TokenizerSpec& named, formats::TokenizerSide side, const TokenizerOptions& options) {
  const TokenizerMaker maker(named, *options.environment);
  if (options.folder->record().is_null()) return maker.make(read_named(named.file, options.stop));
  return continued(named.file, side, maker, options);
}

/// A file with this name that no run has recorded belongs to the user.
void write_copy(const RunFolder& folder, const std::string& name, const std::string& content) {
  const std::filesystem::path file = folder.file(name);
  std::error_code ignored;
  const bool of_a_run = std::filesystem::exists(folder.file(RunFiles::kRecord), ignored);
  if (!of_a_run && std::filesystem::exists(file, ignored))
    core::require(core::read_file(file) == content, core::ErrorCode::kInvalidArgument,
                  "{}: is another tokenizer than the one that data.tokenizer names; name another folder as output",
                  file.string());
  core::write_file(file, content);
}

}  // namespace

RunTokenizers load_tokenizers(const DataConfig& config, const TokenizerOptions& options) {
  RunTokenizers result;
  result.source = load(config.source_tokenizer, formats::TokenizerSide::kSource, options);
  const bool joint = config.source_tokenizer == config.target_tokenizer;
  result.target = joint ? result.source : load(config.target_tokenizer, formats::TokenizerSide::kTarget, options);
  return result;
}

void write_tokenizers(const RunTokenizers& tokenizers, const RunFolder& folder) {
  write_copy(folder, tokenizers.source_name(), tokenizers.source.spec.content);
  if (!tokenizers.joint()) write_copy(folder, tokenizers.target_name(), tokenizers.target.spec.content);
}

}  // namespace dragoman::training
