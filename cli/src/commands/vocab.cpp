#include "options/input_guard.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "options/tokenizer/invalid_utf8_option.h"
#include "options/tokenizer/tokenizer_options.h"
#include "options/tokenizer/user_symbols_file.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/publish_together.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/corpus_statistics.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using tokenizer::BpeDefinition;
using tokenizer::VocabularyEdit;

class Vocab final : public Command {
 public:
  std::string_view name() const override { return "vocab"; }
  std::string_view summary() const override {
    return "truncate, prune, extend or merge vocabularies, with a map from old ids to new ones";
  }
  std::string_view examples() const override {
    return "dragoman vocab truncate tokenizer.json --size 16000 --output smaller.json --map ids.tsv\n"
           "dragoman vocab extend tokenizer.json --corpus new.txt --size 40000 --output larger.json\n";
  }
  std::vector<std::string> positional() const override { return {"action", "tokenizer"}; }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("action", po::value(&action_)->required()->value_name("ACTION"),
         "required: truncate, prune, extend or merge")  //
        ("tokenizer,t", po::value(&files_)->required()->composing()->value_name("FILE"),
         "required: tokenizer.json, or another format that `convert` reads; merge takes two files")                 //
        ("output,o", po::value(&output_)->required()->value_name("FILE"), "required: the tokenizer.json to write")  //
        ("map", po::value(&map_)->value_name("FILE"),
         "file for lines with old id, tab and new id (- for a removed piece); for merge, the ids of the second "
         "file")  //
        ("size", whole_number("--size", size_, std::int32_t{1})->value_name("N"),
         "truncate, extend --corpus: total number of pieces")  //
        ("corpus", po::value(&corpus_)->multitoken()->value_name("FILE..."),
         "prune: text that determines which pieces are used; extend: text to learn more merges from; files as for "
         "learn-bpe; by default, the text that is piped to prune, or to extend --size")  //
        ("min-frequency",
         whole_number("--min-frequency", extension_.min_frequency, std::uint64_t{0})
             ->default_value("2")
             ->value_name("N"),
         "extend --corpus: minimum frequency of a merged pair")  //
        ("character-coverage",
         real_number("--character-coverage", extension_.character_coverage, kShare)
             ->default_value("1")
             ->value_name("SHARE"),
         "extend --corpus: share of the corpus's characters that have a piece afterwards")  //
        ("min-count",
         whole_number("--min-count", prune_.min_count, std::uint64_t{0})->default_value("1")->value_name("N"),
         "prune: remove pieces that occur less often, except parts of other pieces")  //
        ("drop-characters", po::bool_switch(&prune_.drop_characters),
         "prune: also remove rare characters, which become bytes")                                                //
        ("special", po::value(&special_)->multitoken()->value_name("TOKEN..."), "extend: special tokens to add")  //
        ("user-symbol", po::value(&symbols_)->multitoken()->value_name("SYMBOL..."),
         "extend: texts to add that are always one piece")  //
        ("user-symbols-file", po::value(&symbols_file_)->value_name("FILE"),
         "extend: file with user symbols, one per line")  //
        ("threads", thread_count(threads_),
         "prune, extend --corpus: threads; 0: all cores that the process may use; the output does not depend on it");
    invalid_utf8_.add_to(options);
    tokenizer_options_.add_to(options);
  }

  std::vector<std::string> written() const override { return {"output", "map"}; }

  void run(const Session& session) override {
    const std::size_t wanted = action_ == "merge" ? 2 : 1;
    if (files_.size() != wanted)
      throw UsageError(fmt::format("vocab {}: takes {} tokenizer file{}, not {}", action_, wanted,
                                   wanted == 1 ? "" : "s", files_.size()));
    if (!map_.empty() && core::same_file(map_, output_))
      throw UsageError(fmt::format("--map {}: is the tokenizer file {}", map_, output_));
    const bool needs_text = action_ == "prune" || (action_ == "extend" && size_ > 0);
    if (needs_text && corpus_.empty() && standard_input_is_piped()) corpus_ = {"-"};
    const std::vector<std::filesystem::path> corpus = expand_files(corpus_);
    require_not_an_input(output_, corpus, "output");
    if (!map_.empty()) require_not_an_input(map_, corpus, "map");
    const VocabularyEdit edit = this->edit(session);
    const tokenizer::BpeTokenizer checked(edit.definition, output_);
    const std::string json = checked.to_json(), lines = map_.empty() ? "" : id_map_lines(edit);
    std::vector<core::FileContent> files{{output_, json}};
    if (!map_.empty()) files.push_back({map_, lines});
    core::write_together(files);
    core::log(session.log, core::LogLevel::kInfo,
              fmt::format("{}: {} pieces, {} merges", output_, checked.size(), edit.definition.merges.size()));
  }

 private:
  BpeDefinition read(const std::string& path, const Session& session) const {
    tokenizer::ReadOptions options = tokenizer_options_.read_options();
    options.log = session.log;
    return tokenizer::read_tokenizer_file(path, options);
  }

  VocabularyEdit edit(const Session& session) const {
    if (action_ == "truncate") return truncated(session);
    if (action_ == "prune") return pruned(session);
    if (action_ == "extend") return extended(session);
    if (action_ == "merge") return merge_vocabularies(read(files_[0], session), read(files_[1], session));
    throw UsageError("vocab " + action_ + ": must be truncate, prune, extend or merge");
  }

  VocabularyEdit truncated(const Session& session) const {
    if (size_ == 0) throw UsageError("vocab truncate needs --size");
    return truncate(read(files_[0], session), size_);
  }

  VocabularyEdit pruned(const Session& session) const {
    if (corpus_.empty()) throw UsageError("vocab prune needs --corpus, or text that is piped to it");
    const tokenizer::BpeTokenizer full(read(files_[0], session), files_[0]);
    const auto statistics =
        tokenizer::measure_corpus(full, expand_files(corpus_), threads_, session.progress, session.stop);
    core::require(statistics.pieces > 0, core::ErrorCode::kBadInput,
                  "{}: the corpus is empty, so every piece would go; give text that is like what will be encoded",
                  corpus_.front());
    return prune(full.definition(), statistics.piece_counts, prune_);
  }

  /// Adds tokens first, so that merges avoid them.
  VocabularyEdit extended(const Session& session) const {
    refuse_taken_files("--special", special_);
    refuse_taken_files("--user-symbol", symbols_);
    std::vector<std::string> symbols = symbols_;
    if (!symbols_file_.empty()) append_user_symbols(symbols_file_, symbols);
    if (special_.empty() && symbols.empty() && corpus_.empty())
      throw UsageError(
          "vocab extend needs --special, --user-symbol, --user-symbols-file or --corpus; with --size, text may be "
          "piped to it");
    VocabularyEdit edit = extend(read(files_[0], session), special_, symbols);
    if (corpus_.empty()) return edit;
    if (size_ == 0) throw UsageError("vocab extend --corpus needs --size");
    tokenizer::CorpusExtension options = extension_;
    options.size = size_;
    options.threads = threads_;
    options.invalid_utf8 = invalid_utf8_.value();
    edit.definition =
        extend_with_corpus(edit.definition, expand_files(corpus_), options, session.progress, session.log, session.stop)
            .definition;
    return edit;
  }

  TokenizerOptions tokenizer_options_;
  std::string action_;
  std::vector<std::string> files_;
  std::string output_;
  std::string map_;
  std::int32_t size_ = 0;
  std::vector<std::string> corpus_;
  tokenizer::PruneOptions prune_;
  tokenizer::CorpusExtension extension_;
  InvalidUtf8Option invalid_utf8_;
  std::vector<std::string> special_;
  std::vector<std::string> symbols_;
  std::string symbols_file_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_vocab() {
  return std::make_unique<Vocab>();
}

}  // namespace dragoman::cli
