#include "options/input_guard.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "options/text_inputs.h"
#include "options/tokenizer/character_map_options.h"
#include "options/tokenizer/invalid_utf8_option.h"
#include "options/tokenizer/user_symbols_file.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/learn_unigram.h>
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
    add_size(size);
    options.add(size);
    po::options_description pieces = option_group("Special pieces");
    add_pieces(pieces);
    options.add(pieces);
    po::options_description words = option_group("Words");
    add_words(words);
    options.add(words);
    po::options_description machine = option_group("Machine");
    machine.add_options()("threads", thread_count(learn_.threads),
                          "0: all cores that the process may use; the result does not depend on it");
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    refuse_taken_files("--special", special_tokens_);
    refuse_taken_files("--user-symbol", learn_.user_symbols);
    if (inputs_.empty() == counts_.empty()) throw UsageError("learn-unigram needs either --input or --counts");
    if (output_.ends_with(".json"))
      throw UsageError(
          fmt::format("--output {}: learn-unigram writes SentencePiece models; name it .model, and `convert` makes a "
                      "tokenizer.json of it",
                      output_));
    if (!symbols_file_.empty()) append_user_symbols(symbols_file_, learn_.user_symbols);
    if (!special_tokens_.empty()) learn_.special_tokens = special_tokens_;
    learn_.byte_fallback = !no_byte_fallback_;
    learn_.split_scripts = !no_split_scripts_;
    learn_.split_numbers = !no_split_numbers_;
    learn_.split_whitespace = !no_split_whitespace_;
    learn_.normalization.dummy_prefix = !no_dummy_prefix_;
    learn_.normalization.remove_extra_spaces = !keep_extra_spaces_;
    learn_.normalization.space_as_suffix = space_as_suffix_;
    learn_.invalid_utf8 = utf8_.value();
    if (!counts_.empty() && learn_.invalid_utf8 != tokenizer::InvalidUtf8::kKeep)
      throw UsageError("--invalid-utf8 goes with --input; count files are read as they are");
    require_folder_of_output();
    const auto files = expand_files(counts_.empty() ? inputs_ : counts_);
    require_not_an_input(output_, files);
    require_not_an_input(output_, {symbols_file_, normalization_.rules_file()});
    normalization_.apply_to(learn_.normalization);
    const auto learn = counts_.empty() ? tokenizer::learn_unigram : tokenizer::learn_unigram_from_counts;
    const auto learned = learn(files, learn_, session.progress, session.log, session.stop);
    tokenizer::write_tokenizer_file(learned, tokenizer::FileKind::kSentencePiece, output_);
    core::log(session.log, core::LogLevel::kInfo, fmt::format("{}: {} pieces", output_, learned.pieces.size()));
  }

 private:
  void add_files(po::options_description& options) {
    options.add_options()  //
        ("input,i", po::value(&inputs_)->multitoken()->value_name("FILE..."),
         "text, one sentence per line; gz and zst are recognised; - is standard input; quoted patterns are "
         "expanded")  //
        ("counts", po::value(&counts_)->multitoken()->value_name("FILE..."),
         "files of count-words instead of text, for the whole corpus or its parts; the result is the same")  //
        ("output,o", po::value(&output_)->required()->value_name("FILE"),
         "required: the .model file to write; an existing file is replaced when learning is done");
    utf8_.add_to(options);
  }

  void add_size(po::options_description& options) {
    options.add_options()  //
        ("vocab-size",
         whole_number("--vocab-size", learn_.vocab_size, std::int32_t{1})->default_value("8000")->value_name("N"),
         "total number of pieces")  //
        ("character-coverage",
         real_number("--character-coverage", learn_.character_coverage, kShare)
             ->default_value("0.9995")
             ->value_name("SHARE"),
         "share of the corpus's characters that become pieces")  //
        ("seed-size",
         whole_number("--seed-size", learn_.seed_size, std::int64_t{1})->default_value("1000000")->value_name("N"),
         "number of frequent substrings to start from")  //
        ("shrinking-factor",
         real_number("--shrinking-factor", learn_.shrinking_factor, kShare)->default_value("0.75")->value_name("SHARE"),
         "share of the pieces that each round of pruning keeps")  //
        ("sub-iterations",
         whole_number("--sub-iterations", learn_.sub_iterations, 1)->default_value("2")->value_name("N"),
         "rounds of expectation maximisation between two rounds of pruning")  //
        ("max-piece-length",
         whole_number("--max-piece-length", learn_.max_piece_length, 1)->default_value("16")->value_name("N"),
         "maximum length of a piece in characters")  //
        ("min-word-count",
         whole_number("--min-word-count", learn_.min_word_count, std::uint64_t{0})->default_value("1")->value_name("N"),
         "ignore words that occur less often in the corpus");
  }

  void add_pieces(po::options_description& options) {
    options.add_options()  //
        ("special", po::value(&special_tokens_)->multitoken()->value_name("TOKEN..."),
         "special tokens in the order of their ids, instead of <unk> <s> </s>")  //
        ("user-symbol", po::value(&learn_.user_symbols)->multitoken()->value_name("SYMBOL..."),
         "texts that are always one piece")                                                                           //
        ("user-symbols-file", po::value(&symbols_file_)->value_name("FILE"), "file with user symbols, one per line")  //
        ("no-byte-fallback", po::bool_switch(&no_byte_fallback_),
         "no pieces for the 256 bytes; unknown characters become <unk>");
  }

  void add_words(po::options_description& options) {
    normalization_.add_to(options, "nmt_nfkc");
    options.add_options()                                                                                            //
        ("split-digits", po::bool_switch(&learn_.split_digits), "make each digit a separate piece")                  //
        ("no-split-scripts", po::bool_switch(&no_split_scripts_), "allow characters of several scripts in a piece")  //
        ("no-split-numbers", po::bool_switch(&no_split_numbers_), "allow both digits and letters in a piece")        //
        ("no-split-whitespace", po::bool_switch(&no_split_whitespace_), "allow pieces that span spaces")             //
        ("space-as-suffix", po::bool_switch(&space_as_suffix_),
         "put the space mark at the end of words instead of the beginning")                                       //
        ("no-dummy-prefix", po::bool_switch(&no_dummy_prefix_), "no space mark before the first word of a text")  //
        ("keep-extra-spaces", po::bool_switch(&keep_extra_spaces_),
         "keep leading, trailing and repeated spaces; otherwise they are removed");
  }

  /// Fails before a corpus is read in vain.
  void require_folder_of_output() const {
    const std::filesystem::path folder = std::filesystem::path(output_).parent_path();
    std::error_code ignored;
    core::require(folder.empty() || std::filesystem::is_directory(folder, ignored), core::ErrorCode::kIo,
                  "{}: there is no folder {}; make it, or name another output", output_, folder.string());
  }

  tokenizer::LearnUnigramOptions learn_;
  InvalidUtf8Option utf8_;
  CharacterMapOptions normalization_;
  std::vector<std::string> inputs_;
  std::vector<std::string> counts_;
  std::string output_;
  std::string symbols_file_;
  std::vector<std::string> special_tokens_;
  bool no_byte_fallback_ = false;
  bool no_split_scripts_ = false;
  bool no_split_numbers_ = false;
  bool no_split_whitespace_ = false;
  bool space_as_suffix_ = false;
  bool no_dummy_prefix_ = false;
  bool keep_extra_spaces_ = false;
};

}  // namespace

std::unique_ptr<Command> make_learn_unigram() {
  return std::make_unique<LearnUnigram>();
}

}  // namespace dragoman::cli
