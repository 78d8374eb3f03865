#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// A name in another toolkit and the corresponding names in Dragoman.
struct ForeignName {
  std::string_view theirs;  ///< in lower case, with '_' for '-', without leading dashes
  /// Dragoman's names, separated by spaces. Each is one of these:
  ///
  /// - the path of a key (`training.batch_tokens`);
  /// - a key that commands, JSON lines and pipelines have as an option (`beam_size`, on the command line --beam-size);
  /// - a command (`translate`).
  std::string_view ours;
  /// The rest of the question "did you mean '...'", such as "with the value fp16". Empty for most names.
  std::string_view remark = {};
};

/// Returns the names that users of fairseq, Marian, OpenNMT, Sockeye, Hugging Face, CTranslate2, SentencePiece,
/// subword-nmt and sacreBLEU know. Each name occurs once.
std::span<const ForeignName> foreign_names();

/// A guess at the meaning of an unknown name.
struct NameHint {
  std::vector<std::string> names;  ///< at most three, spelled as in `known`; empty if there is no guess
  std::string_view remark = {};    ///< ForeignName::remark
};

/// Guesses which of the names in `known` the unknown name `word` stands for. `known` contains options, commands, or
/// keys as dotted paths (`training.schedule.warmup`). `scope` is the path of the section that contains the word, empty
/// at the top. The first of these rules that finds a name decides:
///
/// 1. names of the section that differ from the word only in case, or in '-' for '_';
/// 2. keys of this name in other sections, subsections first;
/// 3. foreign_names();
/// 4. names of the section that are prefixes of the word, have the word as a prefix, or are close to it;
/// 5. names in other sections that are very close to it.
NameHint hint_name(std::string_view word, std::string_view scope, const std::vector<std::string>& known);

/// Returns the guess of hint_name() as the end of an error message: "; did you mean 'beam_size'?", or "" if there is
/// none. Keys of the section are shown without its path.
std::string did_you_mean(std::string_view word, std::string_view scope, const std::vector<std::string>& known);
/// Returns the same text for a given guess, with the names unchanged.
std::string did_you_mean(const NameHint& hint);

}  // namespace dragoman::core
