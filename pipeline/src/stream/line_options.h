#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// The fields of a record that set options of its translation.
inline constexpr const char* kSourceLanguageField = "source_language";
inline constexpr const char* kTargetLanguageField = "target_language";
inline constexpr const char* kTargetPrefixField = "target_prefix";
inline constexpr const char* kSuppressField = "suppress";
inline constexpr const char* kConstraintsField = "constraints";
inline constexpr const char* kDecodingField = "decoding";

/// Limits for a line, which may come from an untrusted source. A line may also request up to the number of hypotheses
/// that the stage returns.
inline constexpr std::int32_t kMaxHypothesesOfLine = 128;
inline constexpr std::size_t kMaxConstraintsOfLine = 100;

/// A requirement that the translation contain one of the targets. If there is a source, it applies only to sentences
/// that contain the source.
struct LineConstraint {
  std::optional<std::string> source{};
  std::vector<std::string> targets{};
};

/// The requirements of a record's translation, apart from the search.
struct LineDemands {
  LanguagePair languages{};
  /// The prefix of each part's translation.
  std::string target_prefix{};
  /// The prefix of the first part's translation, in place of `target_prefix`.
  std::optional<std::string> first_target_prefix{};
  std::vector<LineConstraint> constraints{};
};

/// The searches that records request. Equal ones are shared. Thread-safe.
class LineSearches {
 public:
  explicit LineSearches(const ModelView& model) : model_(model) {}

  /// Returns `usual`, overridden by the settings `said` and with further suppressed texts. Error{kInvalidArgument} if
  /// the search is then invalid, or does not use an option that `said` changes.
  decoding::SharedSearch get(const decoding::SharedSearch& usual, const decoding::Search& said,
                             const std::vector<std::string>& suppress = {});

 private:
  static constexpr std::size_t kKept = 64;

  struct Kept {
    decoding::SharedSearch usual;
    decoding::Search said;
    std::vector<std::string> suppress;
    decoding::SharedSearch search;
  };

  decoding::SharedSearch make(const decoding::SearchPlan& usual, const decoding::Search& said,
                              const std::vector<std::string>& suppress) const;
  /// Returns nullptr if it does not exist yet. Requires the lock.
  decoding::SharedSearch find(const decoding::SharedSearch& usual, const decoding::Search& said,
                              const std::vector<std::string>& suppress) const;

  ModelView model_;
  std::mutex mutex_;
  std::vector<Kept> searches_;
};

/// Reads the record's fields and merges them with `options`, whose `plan` becomes the merged search. A record with
/// invalid fields is marked as failed; invalid `options` are an Error{kInvalidArgument}.
LineDemands read_line_options(Record& record, LineSearches& searches, RecordOptions& options);

}  // namespace dragoman::pipeline
