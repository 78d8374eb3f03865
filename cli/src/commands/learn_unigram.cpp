#include "options/input_guard.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "options/text_inputs.h"
#include "options/tokenizer/character_map_options.h"
#include "options/tokenizer/text_or_counts.h"
#include "options/tokenizer/user_symbols_file.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/learn_unigram.h>
#include <dragoman/tokenizer/learning_tables.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class LearnUnigram final : public Command {
 public:
  std::string_view name() const override { return "learn-unigram"; }
  std::string_view summary() const override { return "learn a unigram vocabulary from text, as a SentencePiece model"; }
  std::string_view examples() const override {
    return "dragoman learn-unigram --vocab-size 8000 --output spm.model train.de train.en\n"
           "dragoman learn-unigram --vocab-size 8000 --no-byte-fallback --special '<unk>' '<s>' '</s>' '<pad>' "
           "--output "
           "spm.model train.txt\n"
           "dragoman learn-unigram --counts corpus.counts --vocab-size 32000 --output spm.model\n";
  }

  void add_options(po::options_description& options) override {
    po::options_description files = option_group("Files");
    add_files(files);
    options.add(files);
    po::options_description size = option_group("Size");
    table_.add_group_to("Size", size);
    options.add(size);
    po::options_description pieces = option_group("Special pieces");
    table_.add_group_to("Special pieces", pieces);
    pieces.add_options()("user-symbols-file", po::value(&symbols_file_)->value_name("FILE"),
                         "file with user symbols, one per line");
    options.add(pieces);
    po::options_description words = option_group("Words");
    rules_.add_rules_to(words);
    table_.add_group_to("Words", words);
    options.add(words);
    po::options_description machine = option_group("Machine");
    table_.add_group_to("Machine", machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    core::OptionReader reader(table_.settings(), "command line");
    tokenizer::learn_unigram_table().read(reader, learn_);
    if (table_.said().contains("special_tokens")) refuse_taken_files("--special", learn_.special_tokens);
    refuse_taken_files("--user-symbol", learn_.user_symbols);
    input_.choose(name(), learn_.invalid_utf8);
    if (output_.ends_with(".json"))
      throw UsageError(
          fmt::format("--output {}: learn-unigram writes SentencePiece models; name it .model, and `convert` makes a "
                      "tokenizer.json of it",
                      output_));
    if (!symbols_file_.empty()) append_user_symbols(symbols_file_, learn_.user_symbols);
    require_folder_of_output();
    const auto files = input_.files();
    require_not_an_input(output_, files, "output");
    if (!rules_.rules_file().empty()) rules_.apply_to(learn_.normalization);
    const auto learn = input_.is_counts() ? tokenizer::learn_unigram_from_counts : tokenizer::learn_unigram;
    const auto learned = learn(files, learn_, session.progress, session.log, session.stop);
    tokenizer::write_tokenizer_file(learned, tokenizer::FileKind::kSentencePiece, output_);
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: {} pieces", output_, learned.pieces.size()));
  }

 private:
  void add_files(po::options_description& options) {
    input_.add_to(options,
                  "text, one sentence per line; gz and zst are recognised; - is standard input, and the default if "
                  "text is piped; quoted patterns are expanded",
                  "files of count-words instead of text, for the whole corpus or its parts; the result is the same");
    options.add_options()  //
        ("output,o", po::value(&output_)->required()->value_name("FILE"),
         "required: the .model file to write; an existing file is replaced when learning is done");
    table_.add_group_to("Files", options);
  }

  /// Fails before a corpus is read in vain.
  void require_folder_of_output() const {
    const std::filesystem::path folder = std::filesystem::path(output_).parent_path();
    std::error_code ignored;
    core::require(folder.empty() || std::filesystem::is_directory(folder, ignored), core::ErrorCode::kIo,
                  "{}: there is no folder {}; make it, or name another output", output_, folder.string());
  }

  tokenizer::LearnUnigramOptions learn_;
  StageOptions table_{tokenizer::learn_unigram_table().options(),
                      {"whitespace_pieces", "escape_spaces"},
                      {{"special_tokens", "special"},
                       {"user_symbols", "user-symbol"},
                       {"character_map", "normalization"},
                       {"remove_extra_spaces", "keep-extra-spaces"}}};
  CharacterMapOptions rules_;
  TextOrCounts input_;
  std::string output_;
  std::string symbols_file_;
};

}  // namespace

std::unique_ptr<Command> make_learn_unigram() {
  return std::make_unique<LearnUnigram>();
}

}  // namespace dragoman::cli
