#include "options/line_format.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/comparison.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Verify final : public Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view summary() const override { return "report where two tokenizers encode a text differently"; }
  std::string_view examples() const override {
    return "dragoman verify sentencepiece.model tokenizer.json corpus.txt\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()                                                                                          //
        ("first", po::value(&first_)->required()->value_name("FILE"), "required: a tokenizer file in any format")  //
        ("second", po::value(&second_)->required()->value_name("FILE"),
         "required: the tokenizer to compare it with")  //
        ("corpus", po::value(&corpus_)->value_name("FILE"),
         "text; - is standard input, and the default if text is piped")                                          //
        ("format", po::value(&format_)->default_value("pieces")->value_name("FORMAT"), "compare pieces or ids")  //
        ("show", whole_number("--show", show_, std::size_t{0})->default_value("10")->value_name("N"),
         "print the first N differences");
    tokenizer_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"first", "second", "corpus"}; }

  void run(const Session& session) override {
    if (corpus_.empty() && standard_input_is_piped()) corpus_ = "-";
    if (corpus_.empty()) throw UsageError("verify needs a third file, with text, or text that is piped to it");
    tokenizer::LineCodingOptions coding;
    coding.format = line_format(format_);
    tokenizer::ReadOptions read = tokenizer_options_.read_options();
    read.for_several = true;
    read.log = session.log;
    const auto first = tokenizer::open_tokenizer_file(first_, read);
    const auto second = tokenizer::open_tokenizer_file(second_, read);
    const auto result =
        tokenizer::compare_tokenizers(*first, *second, corpus_, coding, show_, session.progress, session.stop);
    for (const auto& difference : result.differences)
      fmt::print("line {}\n  {}: {}\n  {}: {}\n", difference.line, first_, difference.first, second_,
                 difference.second);
    fmt::print("{} of {} lines differ\n", result.different, result.lines);
    core::require(result.different == 0, core::ErrorCode::kBadInput, "{} and {} differ in {} of {} lines of {}", first_,
                  second_, result.different, result.lines, corpus_);
  }

 private:
  TokenizerOptions tokenizer_options_;
  std::string first_;
  std::string second_;
  std::string corpus_;
  std::string format_;
  std::size_t show_ = 10;
};

}  // namespace

std::unique_ptr<Command> make_verify() {
  return std::make_unique<Verify>();
}

}  // namespace dragoman::cli
