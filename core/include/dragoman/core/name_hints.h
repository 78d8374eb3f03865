#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// A name that another toolkit has for something of ours.
struct ForeignName {
  std::string_view theirs;  ///< in lower case, with '_' in place of '-' and without dashes before it
  /// Our names for it, with a space between them: paths of keys (`training.batch_tokens`), keys that commands, JSON
  /// lines and pipelines have as options (`beam_size`, which the command line spells --beam-size), and commands
  /// (`translate`).
  std::string_view ours;
  /// The rest of the question "did you mean '...'", such as "with the value fp16"; empty for most.
  std::string_view remark = {};
};

/// The names that users of fairseq, Marian, OpenNMT, Sockeye, Hugging Face, CTranslate2, SentencePiece, subword-nmt and
/// sacreBLEU type. Each name is there once.
std::span<const ForeignName> foreign_names();

/// A guess at what an unknown name stands for.
struct NameHint {
  std::vector<std::string> names;  ///< at most three, as they are in `known`; empty: there is no guess
  std::string_view remark = {};    ///< ForeignName::remark
};

/// Guesses what `word` stands for among the names in `known`. These are options, commands, or keys as paths with dots
/// (`training.schedule.warmup`); `scope` is the path of the section in which the word was found, empty at the top. The
/// first of these that finds something decides:
///
/// 1. names of the section that differ from the word by case or by '-' for '_' only;
/// 2. keys of this name in other sections, those below the section first;
/// 3. foreign_names();
/// 4. names of the section that begin with the word, with which the word begins, or that are close to it;
/// 5. names in other sections that are very close to it.
NameHint hint_name(std::string_view word, std::string_view scope, const std::vector<std::string>& known);

/// hint_name() as the end of an error message: "; did you mean 'beam_size'?", or "" without a guess. Keys of the
/// section are shown without its path.
std::string did_you_mean(std::string_view word, std::string_view scope, const std::vector<std::string>& known);
/// Words a guess, whose names are shown as they are.
std::string did_you_mean(const NameHint& hint);

}  // namespace dragoman::core
