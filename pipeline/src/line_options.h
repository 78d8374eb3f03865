#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// Fields by which a record says how it is to be translated.
inline constexpr const char* kSourceLanguageField = "source_language";
inline constexpr const char* kTargetLanguageField = "target_language";
inline constexpr const char* kTargetPrefixField = "target_prefix";
inline constexpr const char* kSuppressField = "suppress";
inline constexpr const char* kConstraintsField = "constraints";
inline constexpr const char* kDecodingField = "decoding";

/// A line, which may come from a stranger, may ask for so many hypotheses, or for as many as the stage has.
inline constexpr std::int32_t kMostHypothesesOfLine = 128;
inline constexpr std::size_t kMostConstraintsOfLine = 100;

/// The translation must hold one of the targets; if there is a source, only of sentences that hold that.
struct LineConstraint {
  std::optional<std::string> source{};
  std::vector<std::string> targets{};
};

/// What is demanded of a record's translation besides the search.
struct LineDemands {
  LanguagePair languages{};
  /// Of each part.
  std::string target_prefix{};
  /// Of the first part, in place of that.
  std::optional<std::string> first_target_prefix{};
  std::vector<LineConstraint> constraints{};
};

/// The searches that records ask for, so that equal ones are shared. Thread-safe.
class LineSearches {
 public:
  explicit LineSearches(const TranslationModel& model) : model_(model) {}

  /// `usual` with the options `decoding` (null or an object) and `suppress` (null, a text, or texts) of a record.
  /// core::Error if they make no sense.
  decoding::SharedSearch get(const decoding::SharedSearch& usual, const core::Json& decoding,
                             const core::Json& suppress);

 private:
  static constexpr std::size_t kKept = 64;

  decoding::SharedSearch make(const decoding::Search& usual, const core::Json& decoding,
                              const core::Json& suppress) const;

  TranslationModel model_;
  std::mutex mutex_;
  /// By the usual search, which they hold, and the options.
  std::map<std::pair<decoding::SharedSearch, std::string>, decoding::SharedSearch> searches_;
};

/// What the record's fields say, besides what `options` say, which get the search that it wants. A record that asks for
/// what makes no sense is marked as failed.
LineDemands read_line_options(Record& record, LineSearches& searches, RecordOptions& options);

}  // namespace dragoman::pipeline
