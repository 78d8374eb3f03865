#include "options/line_format.h"
#include "options/number_option.h"
#include "options/tokenizer/tokenizer_kind_options.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/file.h>
#include <dragoman/tokenizer/line_coding.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Decode final : public Command {
 public:
  std::string_view name() const override { return "decode"; }
  std::string_view summary() const override { return "convert lines of pieces or ids to text"; }
  std::string_view examples() const override {
    return "dragoman decode --tokenizer tokenizer.json corpus.pieces --output corpus.txt\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("tokenizer,t", po::value(&tokenizer_)->required()->value_name("FILE"),
         "required: tokenizer.json, another format that `convert` reads, or the format of --tokenizer-type")  //
        ("input,i", po::value(&input_)->default_value("-")->value_name("FILE"),
         "pieces or ids; - is standard input")                                                             //
        ("output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "- is standard output")  //
        ("format", po::value(&format_)->default_value("pieces")->value_name("FORMAT"),
         "format of the input: pieces or ids")  //
        ("threads", thread_count(coding_.threads),
         "0: all cores that the process may use; the output does not depend on it");
    tokenizer_options_.add_kind_to(options);
    tokenizer_options_.add_to(options);
    kind_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    coding_.format = line_format(format_);
    coding_.log = session.log;
    const auto tokenizer = kind_options_.load(tokenizer_, tokenizer_options_, session.log);
    core::OutputFile output(output_, {.stop = session.stop});
    const auto changed = tokenizer::decode_lines(*tokenizer, input_, output, coding_, session.progress, session.stop);
    output.commit();
    if (changed > 0)
      core::log(session.log, core::LogLevel::kWarning,
                fmt::format("{} lines held a line feed, written as a space", changed));
  }

 private:
  tokenizer::LineCodingOptions coding_;
  TokenizerOptions tokenizer_options_;
  TokenizerKindOptions kind_options_;
  std::string tokenizer_;
  std::string input_;
  std::string output_;
  std::string format_;
};

}  // namespace

std::unique_ptr<Command> make_decode() {
  return std::make_unique<Decode>();
}

}  // namespace dragoman::cli
