#include "options/input_guard.h"
#include "options/memory_option.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "options/tokenizer/invalid_utf8_option.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/tokenizer/count_words.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class CountWords final : public Command {
 public:
  std::string_view name() const override { return "count-words"; }
  std::string_view summary() const override {
    return "count the words of text, or merge counts, for learn-bpe --counts";
  }
  std::string_view examples() const override {
    return "dragoman count-words part1.txt part2.txt.gz --output part.counts\n"
           "dragoman count-words --counts *.counts --min-count 2 --output corpus.counts\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("input,i", po::value(&inputs_)->multitoken()->value_name("FILE..."),
         "text; gz and zst are recognised; - is standard input; quoted patterns are expanded")  //
        ("counts", po::value(&counts_)->multitoken()->value_name("FILE..."),
         "count files to merge, instead of text")  //
        ("output,o", po::value(&output_)->default_value("-")->value_name("FILE"),
         "lines with count, tab and word, sorted by the bytes of the words; - is standard output")  //
        ("min-count",
         whole_number("--min-count", count_.min_count, std::uint64_t{0})->default_value("1")->value_name("N"),
         "leave out words that occur less often; not suitable for parts of a corpus")  //
        ("threads", thread_count(count_.threads),
         "0: all cores that the process may use; the output does not depend on it");
    utf8_.add_to(options);
    memory_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    if (inputs_.empty() == counts_.empty()) throw UsageError("count-words needs either --input or --counts");
    count_.memory = memory_.budget(output_);
    count_.invalid_utf8 = utf8_.value();
    if (!counts_.empty() && count_.invalid_utf8 != tokenizer::InvalidUtf8::kKeep)
      throw UsageError("--invalid-utf8 goes with --input; count files are read as they are");
    const auto files = expand_files(counts_.empty() ? inputs_ : counts_);
    require_not_an_input(output_, files);
    core::OutputFile output(output_, {.stop = session.stop});
    const auto count = counts_.empty() ? tokenizer::count_words : tokenizer::merge_counts;
    const auto summary = count(files, output, count_, session.progress, session.log, session.stop);
    output.commit();
    core::log(session.log, core::LogLevel::kInfo,
              fmt::format("{}: {} distinct words, {} in all", output.name(), summary.words, summary.occurrences));
  }

 private:
  tokenizer::CountOptions count_;
  MemoryOption memory_;
  InvalidUtf8Option utf8_;
  std::vector<std::string> inputs_;
  std::vector<std::string> counts_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_count_words() {
  return std::make_unique<CountWords>();
}

}  // namespace dragoman::cli
