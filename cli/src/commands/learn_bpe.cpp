#include "options/input_guard.h"
#include "options/memory_option.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "options/text_inputs.h"
#include "options/tokenizer/character_map_options.h"
#include "options/tokenizer/protected_patterns_file.h"
#include "options/tokenizer/text_or_counts.h"
#include "options/tokenizer/tokenizer_options.h"
#include "options/tokenizer/user_symbols_file.h"
#include "options/tokenizer/vocab_size_option.h"
#include "program/command.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/learning_tables.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

tokenizer::Normalization normalization(const std::string& word) {
  if (word == "none") return tokenizer::Normalization::kNone;
  if (word == "nfc") return tokenizer::Normalization::kNfc;
  if (word == "nfkc") return tokenizer::Normalization::kNfkc;
  throw UsageError(
      "--normalization " + word +
      ": must be none, nfc or nfkc, or with --to sentencepiece nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity");
}

class LearnBpe final : public Command {
 public:
  std::string_view name() const override { return "learn-bpe"; }
  std::string_view summary() const override {
    return "learn a BPE vocabulary from text, joint if several files are given";
  }
  std::string_view examples() const override {
    return "dragoman learn-bpe --vocab-size 32000 --output tokenizer.json train.de train.en\n"
           "dragoman learn-bpe --vocab-size 8000 16000 32000 --output vocab-{size}.json 'corpus/*.zst'\n"
           "dragoman learn-bpe --vocab-size 1000 --no-word-marks --no-byte-fallback --output tokenizer.json train.txt\n"
           "dragoman learn-bpe --counts corpus.counts --vocab-size 32000 --output tokenizer.json\n";
  }

  void add_options(po::options_description& options) override {
    po::options_description files = option_group("Files");
    add_files(files);
    options.add(files);
    po::options_description size = option_group("Size");
    add_size(size);
    options.add(size);
    po::options_description pieces = option_group("Special pieces");
    add_pieces(pieces);
    options.add(pieces);
    po::options_description words = option_group("Words");
    add_words(words);
    options.add(words);
    po::options_description machine = option_group("Machine");
    table_.add_group_to("Machine", machine);
    memory_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    const std::vector<std::int32_t> sizes = sizes_.sizes(input_.texts(), output_);
    core::OptionReader reader(table_.settings(), "command line");
    tokenizer::learn_bpe_table().read(reader, learn_);
    learn_.smallest_vocab_size = sizes.front();
    learn_.vocab_size = sizes.back();
    require_folder_of_output();
    if (table_.said().contains("special_tokens")) refuse_taken_files("--special", learn_.special_tokens);
    refuse_taken_files("--user-symbol", learn_.user_symbols);
    input_.choose(name(), learn_.invalid_utf8);
    if (!symbols_file_.empty()) append_user_symbols(symbols_file_, learn_.user_symbols);
    if (!patterns_file_.empty()) append_protected_patterns(patterns_file_, learn_.protected_patterns);
    if (no_special_) drop_special_tokens();
    learn_.spaces_apart = !learn_.word_marks;
    const tokenizer::FileKind kind = kind_to_write();
    choose_normalization(kind);
    learn_.written_as = kind;
    learn_.memory = memory_.budget(output_);
    if (kind == tokenizer::FileKind::kSentencePiece) learn_.escape_marks = false;
    const auto files = input_.files();
    std::vector<std::filesystem::path> inputs = files;
    inputs.insert(inputs.end(), {symbols_file_, rules_.rules_file(), patterns_file_});
    for (const std::int32_t size : sizes) require_not_an_input(path_for_size(output_, size), inputs, "output");
    for (const std::string token : {"<unk>", "<s>", "</s>"})
      if (!no_special_ && std::ranges::find(learn_.special_tokens, token) == learn_.special_tokens.end())
        core::log(
            session.log, core::LogLevel::kWarning,
            fmt::format("--special: without {}, which `train` looks for unless data.special_tokens says otherwise",
                        token));
    const auto learn = input_.is_counts() ? tokenizer::learn_bpe_from_counts : tokenizer::learn_bpe;
    const auto learned = learn(files, learn_, session.progress, session.log, session.stop);
    for (const std::int32_t size : sizes) {
      const std::string path = path_for_size(output_, size);
      if (sizes.size() > 1 && size < learned.size())
        save(truncate(learned.definition(), size).definition, kind, path, session.log);
      else
        save(learned.definition(), kind, path, session.log);
    }
  }

 private:
  void add_files(po::options_description& options) {
    input_.add_to(options,
                  "text, one sentence per line; gz and zst are recognised; - is standard input, and the default if "
                  "text is piped; quoted patterns are expanded",
                  "files of count-words instead of text, for the whole corpus or its parts; the result is the same");
    options.add_options()  //
        ("output,o", po::value(&output_)->required()->value_name("FILE"),
         "required: the output file; {size} in its name is replaced by the vocabulary size; an existing file is "
         "replaced when learning is done")  //
        ("to", po::value(&to_)->value_name("KIND"),
         "format of the output: tokenizer-json or sentencepiece; by default, the name of --output decides: "
         "sentencepiece for .model, tokenizer-json for others");
    table_.add_group_to("Files", options);
  }

  void add_size(po::options_description& options) {
    sizes_.add_to(options);
    table_.add_group_to("Size", options);
  }

  void add_pieces(po::options_description& options) {
    table_.add_group_to("Special pieces", options);
    options.add_options()                                                                                             //
        ("user-symbols-file", po::value(&symbols_file_)->value_name("FILE"), "file with user symbols, one per line")  //
        ("no-special", po::bool_switch(&no_special_),
         "no special tokens; the vocabulary cannot be used for translation");
  }

  void add_words(po::options_description& options) {
    options.add_options()("normalization", po::value(&normalization_)->default_value("none")->value_name("FORM"),
                          "none, nfc or nfkc; with --to sentencepiece also nmt_nfkc, nmt_nfkc_cf and nfkc_cf");
    rules_.add_rules_to(options);
    table_.add_group_to("Words", options);
    options.add_options()("protect-file", po::value(&patterns_file_)->value_name("FILE"),
                          "file with regular expressions for --protect, one per line");
  }

  /// A learned vocabulary marks the beginning of words, and does not use the byte alphabet of GPT-2.
  tokenizer::FileKind kind_to_write() const {
    if (to_.empty())
      return output_.ends_with(".model") ? tokenizer::FileKind::kSentencePiece : tokenizer::FileKind::kTokenizerJson;
    const tokenizer::FileKind kind = TokenizerOptions::file_kind(to_, "--to");
    if (kind != tokenizer::FileKind::kTokenizerJson && kind != tokenizer::FileKind::kSentencePiece)
      throw UsageError("--to " + to_ +
                       ": a vocabulary that is learned here is none of that kind, which marks the ends of words or "
                       "spells bytes in another way; must be tokenizer-json or sentencepiece");
    return kind;
  }

  /// For a SentencePiece model, names of normalisations refer to SentencePiece's rules.
  void choose_normalization(tokenizer::FileKind kind) {
    const bool model = kind == tokenizer::FileKind::kSentencePiece;
    const bool named = CharacterMapOptions::is_name(normalization_) && (model || normalization_ != "nfkc");
    if (!rules_.rules_file().empty() && normalization_ != "none")
      throw UsageError("--normalization-rule-tsv takes the place of --normalization; leave one of the two out");
    if (!named && rules_.rules_file().empty()) {
      learn_.normalization = normalization(normalization_);
      // There, words continue after symbols, as with spm_train --normalization_rule_name=identity.
      if (model && normalization_ == "none" && !learn_.user_symbols.empty()) learn_.sentencepiece.emplace();
      return;
    }
    if (!model)
      throw UsageError(rules_.rules_file().empty()
                           ? "--normalization " + normalization_ + " goes with --to sentencepiece only"
                           : "--normalization-rule-tsv goes with --to sentencepiece only");
    rules_.choose(normalization_);
    rules_.apply_to(learn_.sentencepiece.emplace());
  }

  void drop_special_tokens() {
    if (table_.said().contains("special_tokens"))
      throw UsageError("--no-special: --special names special tokens; leave one of the two out");
    learn_.special_tokens.clear();
  }

  /// Fails before a corpus is read in vain.
  void require_folder_of_output() const {
    const std::filesystem::path folder = std::filesystem::path(output_).parent_path();
    std::error_code ignored;
    core::require(folder.empty() || std::filesystem::is_directory(folder, ignored), core::ErrorCode::kIo,
                  "{}: there is no folder {}; make it, or name another output", output_, folder.string());
  }

  static void save(const tokenizer::BpeDefinition& learned, tokenizer::FileKind kind, const std::string& path,
                   const core::LogSink& log) {
    tokenizer::write_tokenizer_file(learned, kind, path);
    core::log(log, core::LogLevel::kInfo,
              fmt::format("{}: {} pieces, {} merges", path, learned.pieces.size(), learned.merges.size()));
  }

  tokenizer::LearnOptions learn_;
  /// The options of the table, except for those that the command sets by other options.
  StageOptions table_{tokenizer::learn_bpe_table().options(),
                      {"vocab_size", "written_as", "memory", "normalization", "spaces_apart", "sentencepiece",
                       "character_map", "dummy_prefix", "remove_extra_spaces", "escape_spaces", "space_as_suffix"},
                      {{"special_tokens", "special"}, {"user_symbols", "user-symbol"}, {"escape_marks", "no-escape"}}};
  CharacterMapOptions rules_;
  VocabSizeOption sizes_;
  MemoryOption memory_;
  TextOrCounts input_;
  std::string output_;
  std::string symbols_file_;
  std::string patterns_file_;
  std::string to_;
  std::string normalization_;
  bool no_special_ = false;
};

}  // namespace

std::unique_ptr<Command> make_learn_bpe() {
  return std::make_unique<LearnBpe>();
}

}  // namespace dragoman::cli
