#include "options/input_guard.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "program/command.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/detection/learn_detector.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class LearnDetector final : public Command {
 public:
  std::string_view name() const override { return "learn-detector"; }
  std::string_view summary() const override { return "learn a table for detect from texts of known language"; }
  std::string_view examples() const override {
    return "dragoman learn-detector --text de=corpus.de --text en=corpus.en.gz --output languages.bin\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("text", po::value(&texts_)->required()->composing()->value_name("CODE=FILE"),
         "required, once per file: a text with a sentence per line, and the code of its language; quoted patterns are "
         "expanded")                                                                              //
        ("output,o", po::value(&output_)->required()->value_name("FILE"), "required: the table")  //
        ("rows",
         whole_number("--rows", learn_.rows, std::uint32_t{1024}, std::uint32_t{1} << 24)
             ->default_value("65536")
             ->value_name("N"),
         "rows of the table, which n-grams share by their hashes")  //
        ("width",
         whole_number("--width", learn_.width, std::uint32_t{2}, std::uint32_t{256})
             ->default_value("16")
             ->value_name("N"),
         "bytes per row")  //
        ("steps", whole_number("--steps", learn_.steps, std::uint64_t{1})->default_value("5000000")->value_name("N"),
         "random samples to learn from")  //
        ("learning-rate",
         real_number("--learning-rate", learn_.learning_rate, core::kPositive)
             ->default_value("0.2")
             ->value_name("RATE"),
         "learning rate of the first step; it falls linearly to 0")  //
        ("seed", whole_number("--seed", learn_.seed, std::uint64_t{0})->default_value("1")->value_name("N"),
         "seed of the samples");
  }

  void run(const Session& session) override {
    std::vector<detection::LanguageText> texts;
    for (const std::string& value : texts_) {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == value.size())
        throw UsageError("--text '" + value + "': must be CODE=FILE, such as de=corpus.de");
      const std::string language = value.substr(0, equals);
      const auto files = expand_files({value.substr(equals + 1)});
      require_not_an_input(output_, files, "output");
      auto found =
          std::find_if(texts.begin(), texts.end(), [&](const auto& text) { return text.language == language; });
      if (found == texts.end()) found = texts.insert(texts.end(), {language, {}});
      found->files.insert(found->files.end(), files.begin(), files.end());
    }
    detection::learn_detector(texts, output_, learn_, session.progress, session.stop);
  }

 private:
  detection::LearnDetectorOptions learn_;
  std::vector<std::string> texts_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_learn_detector() {
  return std::make_unique<LearnDetector>();
}

}  // namespace dragoman::cli
