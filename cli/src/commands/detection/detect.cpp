#include "options/number_option.h"
#include "program/command.h"

#include <optional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/detection/language_detector.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using detection::LanguageDetector;

class Detect final : public Command {
 public:
  std::string_view name() const override { return "detect"; }
  std::string_view summary() const override { return "detect the language of each line"; }
  std::string_view examples() const override {
    return "dragoman detect corpus.txt --output corpus.languages\n"
           "echo 'Guten Morgen!' | dragoman detect --n-best 3 --languages de en nl\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("input,i", po::value(&input_)->default_value("-")->value_name("FILE"),
         "text; gz and zst are recognised; - is standard input")  //
        ("output,o", po::value(&output_)->default_value("-")->value_name("FILE"),
         "per line: language, tab and confidence; - is standard output")  //
        ("languages", po::value(&languages_)->multitoken()->value_name("CODE..."),
         "choose between these languages only (default: all)")  //
        ("n-best", whole_number("--n-best", n_best_, std::size_t{1}, kMaxGuesses)->default_value("1")->value_name("N"),
         "write the N likeliest languages of each line, separated by tabs")  //
        ("detector", po::value(&detector_)->value_name("FILE"),
         "a table of `learn-detector` (default: the built-in table)")  //
        ("list", po::bool_switch(&list_), "print the codes of the languages instead");
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    const core::StopScope scope(session.stop);
    const LanguageDetector detector = open();
    core::OutputFile output(output_, {.partial = core::PartialPolicy::kTemporary, .stop = session.stop});
    if (list_) {
      for (const std::string& language : detector.languages()) output.write(language + '\n');
    } else {
      core::LineReader lines(input_, session.stop);
      for (std::string line; lines.next(line);) {
        core::check_stop("detecting languages");
        output.write(describe(detector.detect(line, n_best_)));
      }
    }
    output.commit();
  }

 private:
  /// More guesses than there are languages are never written.
  static constexpr std::size_t kMaxGuesses = 1000;

  LanguageDetector open() const {
    const LanguageDetector detector = detector_.empty() ? detection::built_in_detector() : LanguageDetector(detector_);
    if (languages_.empty()) return detector;
    try {
      return detector.among(languages_);
    } catch (const core::Error& error) {
      throw UsageError(fmt::format("--languages: {}", error.what()));
    }
  }

  /// A text without letters has the language "und" (ISO 639-2: undetermined), so that each line has one.
  static std::string describe(const std::vector<detection::Guess>& guesses) {
    if (guesses.empty()) return "und\t0.000\n";
    std::string line;
    for (const auto& guess : guesses) line += fmt::format("{}\t{:.3f}\t", guess.language, guess.confidence);
    line.back() = '\n';
    return line;
  }

  std::string input_;
  std::string output_;
  std::string detector_;
  std::vector<std::string> languages_;
  std::size_t n_best_ = 1;
  bool list_ = false;
};

}  // namespace

std::unique_ptr<Command> make_detect() {
  return std::make_unique<Detect>();
}

}  // namespace dragoman::cli
