#include "options/input_guard.h"
#include "options/memory_option.h"
#include "options/number_option.h"
#include "options/tokenizer/invalid_utf8_option.h"
#include "options/tokenizer/text_or_counts.h"
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
           "zcat corpus/*.gz | dragoman count-words --output corpus.counts\n"
           "dragoman count-words --counts *.counts --min-count 2 --output corpus.counts\n";
  }

  void add_options(po::options_description& options) override {
    input_.add_to(options,
                  "text; gz and zst are recognised; - is standard input, and the default if text is piped; quoted "
                  "patterns are expanded",
                  "count files to merge, instead of text");
    options.add_options()  //
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
    count_.memory = memory_.budget(output_);
    count_.invalid_utf8 = utf8_.value();
    input_.choose(name(), count_.invalid_utf8);
    const auto files = input_.files();
    require_not_an_input(output_, files, "output");
    core::OutputFile output(output_, {.stop = session.stop});
    const auto count = input_.is_counts() ? tokenizer::merge_counts : tokenizer::count_words;
    const auto summary = count(files, output, count_, session.progress, session.log, session.stop);
    output.commit();
    core::log(session.log, core::LogLevel::kInfo,
              fmt::format("{}: {} distinct words, {} in all", output.name(), summary.words, summary.occurrences));
  }

 private:
  tokenizer::CountOptions count_;
  TextOrCounts input_;
  MemoryOption memory_;
  InvalidUtf8Option utf8_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_count_words() {
  return std::make_unique<CountWords>();
}

}  // namespace dragoman::cli
