#include "commands/evaluation/bleu_tokenizers.h"
#include "commands/evaluation/segment_counting.h"
#include "commands/evaluation/system_comparison.h"
#include "options/number_option.h"
#include "program/command.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/evaluation/significance.h>
#include <dragoman/evaluation/ter.h>
#include <dragoman/evaluation/text_file.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// A larger number would not change any printed digit.
constexpr std::uint32_t kMaxResamples = 1'000'000;

template <class Value>
Value choose(std::string_view option, const std::string& word,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(fmt::format("--{} {}: must be one of {}", option, word, known));
}

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list) {
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

/// Returns the object that sacreBLEU prints: the fields of the signature are repeated as keys.
core::Json as_json(const evaluation::Score& score, int decimals) {
  const auto rounded = [&](double value) { return std::stod(fmt::format("{:.{}f}", value, decimals)); };
  core::Json json{{"name", score.name}, {"score", rounded(score.value)}, {"signature", score.signature}};
  if (score.confidence && score.confidence->mean > 0) {
    json["confidence_mean"] = rounded(score.confidence->mean);
    json["confidence_var"] = rounded(score.confidence->half_width);
    json["confidence"] =
        fmt::format("μ = {:.{}f} ± {:.{}f}", score.confidence->mean, decimals, score.confidence->half_width, decimals);
  }
  if (!score.details.empty()) json["verbose_score"] = score.details;
  for (std::size_t begin = 0; begin < score.signature.size();) {
    const std::size_t end = std::min(score.signature.find('|', begin), score.signature.size());
    const std::string field = score.signature.substr(begin, end - begin);
    const std::size_t colon = field.find(':');
    json[field.substr(0, colon)] = field.substr(colon + 1);
    begin = end + 1;
  }
  return json;
}

class Evaluate final : public Command {
 public:
  std::string_view name() const override { return "evaluate"; }
  std::string_view summary() const override {
    return "score translations against references: BLEU, chrF, TER, as sacreBLEU does";
  }
  std::string_view examples() const override {
    return "dragoman evaluate hypothesis.en --reference test.en\n"
           "dragoman evaluate new.en --reference test.en --metrics bleu chrf --confidence --baseline old.en\n"
           "dragoman evaluate old.en new.en newest.en --reference test.en --metrics bleu,chrf,ter --paired-bs\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("hypothesis,i", po::value(&hypotheses_)->multitoken()->composing()->value_name("FILE..."),
         "translations, one per line (gz and zst too); - is standard input, the default. For several files, a table "
         "with one row per file is printed")  //
        ("reference,r", po::value(&references_)->required()->multitoken()->composing()->value_name("FILE..."),
         "required: one or more references, each with the same number of lines")  //
        ("metrics,m",
         po::value(&metrics_)->multitoken()->composing()->default_value({"bleu"}, "bleu")->value_name("NAME..."),
         "any of bleu, chrf, chrf++ and ter, separated by spaces or commas")                                         //
        ("score-only,b", po::bool_switch(&score_only_), "print only the score of each metric, one per line")         //
        ("json", po::bool_switch(&json_), "print JSON as sacreBLEU does: an object, or a list for several metrics")  //
        ("width,w", whole_number("--width", decimals_, 0, 15)->default_value("1")->value_name("N"),
         "digits after the decimal point")                                                                    //
        ("sentence-level", po::bool_switch(&sentence_level_), "score each line separately, with one metric")  //
        ("lowercase", po::bool_switch(&lowercase_),
         "BLEU, chrF: ignore case; TER ignores it unless --ter-case-sensitive is given")  //
        ("tokenize", po::value(&tokenizer_)->default_value("13a")->value_name("NAME"),
         fmt::format("BLEU: {}", kBleuTokenizers).c_str())  //
        ("tokenize-model", po::value(&tokenizer_model_)->value_name("PATH"),
         "the SentencePiece model of spm, flores200 or spBLEU-1K, which signatures name by its SHA-256 (default: the "
         "file in sacreBLEU's folder); or the folder of ja-mecab's dictionary (default: Debian's)")  //
        ("smooth-method", po::value(&smoothing_)->default_value("exp")->value_name("NAME"),
         "BLEU: exp, floor, add-k or none")  //
        ("smooth-value", real_number("--smooth-value", bleu_.smoothing_value, {.least = 0})->value_name("X"),
         "BLEU: for floor (default 0.1) and add-k (default 1)")                                                   //
        ("ter-normalized", po::bool_switch(&ter_.normalized), "TER: separate punctuation, resolve XML entities")  //
        ("ter-no-punct", po::bool_switch(&ter_.no_punct), "TER: remove punctuation")                              //
        ("ter-asian-support", po::bool_switch(&ter_.asian_support),
         "TER: apply --ter-normalized and --ter-no-punct to Chinese and Japanese, too")                         //
        ("ter-case-sensitive", po::bool_switch(&ter_.case_sensitive), "TER: distinguish upper and lower case")  //
        ("confidence",
         whole_number("--confidence", confidence_samples_, std::uint32_t{2}, kMaxResamples)
             ->implicit_value("1000")
             ->value_name("N"),
         "add the 95 % confidence interval of N bootstrap resamples (1000 if N is not given)")  //
        ("baseline", po::value(&baseline_)->value_name("FILE"),
         "translations of the same lines by another system: add the p-value of the difference (paired bootstrap)")  //
        ("paired-bs",
         whole_number("--paired-bs", paired_bootstrap_, std::uint32_t{1}, kMaxResamples)
             ->implicit_value("1000")
             ->value_name("N"),
         "compare each system with the first by paired bootstrap resampling, N times (1000 if N is not given)")  //
        ("paired-ar",
         whole_number("--paired-ar", paired_randomization_, std::uint32_t{1}, kMaxResamples)
             ->implicit_value("10000")
             ->value_name("N"),
         "compare each system with the first by paired approximate randomisation, in N trials (10000 if N is not "
         "given)")  //
        ("seed", whole_number("--seed", bootstrap_.seed, std::uint64_t{0})->default_value("12345")->value_name("N"),
         "seed for --confidence, --baseline, --paired-bs and --paired-ar; the draws equal sacreBLEU's with the same "
         "seed");
  }
  std::vector<std::string> positional() const override { return {"hypothesis"}; }

  void run(const Session& session) override {
    read_metric_names();
    const bool named = !hypotheses_.empty();
    if (!named) hypotheses_ = {"-"};
    check_usage();
    if (confidence_samples_) bootstrap_.samples = *confidence_samples_;
    const auto metrics = make_metrics();
    evaluation::ParallelTextReader texts;
    open_hypothesis(texts, named, session.stop);
    for (const std::string& path : references_) texts.open(path, session.stop);
    for (std::size_t i = 1; i < hypotheses_.size(); ++i) texts.open(hypotheses_[i], session.stop);
    if (!baseline_.empty()) texts.open(baseline_, session.stop);
    if (hypotheses_.size() > 1)
      print_systems(metrics, texts, session);
    else if (sentence_level_)
      print_sentences(*metrics.front(), texts, session);
    else
      print_corpus(metrics, texts, session);
  }

 private:
  using Metrics = std::vector<std::unique_ptr<evaluation::Metric>>;

  /// In `-m bleu chrf out.txt`, words after the metrics that are files are translations.
  void read_metric_names() {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const std::string& word : metrics_) {
      const bool is_file = !names.empty() && !is_metric(word) && std::filesystem::exists(word, ignored);
      if (is_file)
        hypotheses_.push_back(word);
      else
        for (std::string& name : split_at_commas(word)) names.push_back(std::move(name));
    }
    metrics_ = std::move(names);
  }

  static bool is_metric(const std::string& word) {
    return word == "bleu" || word == "chrf" || word == "chrf++" || word == "ter";
  }

  void check_usage() const {
    const auto from_input = std::count(references_.begin(), references_.end(), "-") +
                            std::count(hypotheses_.begin(), hypotheses_.end(), "-") + (baseline_ == "-");
    const bool tested = paired_bootstrap_ || paired_randomization_;
    if (paired_bootstrap_ && paired_randomization_) throw UsageError("give --paired-bs or --paired-ar, not both");
    if (tested && hypotheses_.size() < 2)
      throw UsageError(
          "--paired-bs and --paired-ar compare systems: give several files as --hypothesis, baseline first");
    if (hypotheses_.size() > 1 && (confidence_samples_ || !baseline_.empty()))
      throw UsageError(
          "--confidence and --baseline are of one system; for several there are --paired-bs and --paired-ar");
    if (hypotheses_.size() > 1 && sentence_level_) throw UsageError("--sentence-level is of one system");
    if (from_input > 1)
      throw UsageError("only one of --hypothesis, --reference and --baseline can be standard input (-)");
    if (!sentence_level_) return;
    if (metrics_.size() > 1) throw UsageError("--sentence-level takes one metric");
    if (confidence_samples_ || !baseline_.empty())
      throw UsageError("--sentence-level has no confidence interval and no baseline");
  }

  Metrics make_metrics() {
    bleu_.lowercase = lowercase_;
    bleu_.effective_order = sentence_level_;
    check_bleu_tokenizer(tokenizer_, tokenizer_model_);
    if (std::ranges::find(metrics_, "bleu") != metrics_.end()) set_bleu_tokenizer(tokenizer_, tokenizer_model_, bleu_);
    bleu_.smoothing = choose<evaluation::BleuSmoothing>("smooth-method", smoothing_,
                                                        {{"exp", evaluation::BleuSmoothing::kExponential},
                                                         {"floor", evaluation::BleuSmoothing::kFloor},
                                                         {"add-k", evaluation::BleuSmoothing::kAddK},
                                                         {"none", evaluation::BleuSmoothing::kNone}});
    Metrics metrics;
    for (const std::string& name : metrics_) metrics.push_back(make_metric(name));
    return metrics;
  }

  std::unique_ptr<evaluation::Metric> make_metric(const std::string& name) const {
    if (name == "bleu") return std::make_unique<evaluation::Bleu>(bleu_);
    if (name == "ter") return std::make_unique<evaluation::Ter>(ter_);
    const int word_order = choose<int>("metrics", name, {{"bleu", 0}, {"chrf", 0}, {"chrf++", 2}, {"ter", 0}});
    return std::make_unique<evaluation::Chrf>(
        evaluation::ChrfOptions{.word_order = word_order, .lowercase = lowercase_});
  }

  /// --reference takes all names that follow it, so one of its files may be intended as the hypothesis.
  void open_hypothesis(evaluation::ParallelTextReader& texts, bool named, const std::stop_token& stop) const {
    try {
      texts.open(hypotheses_.front(), stop);
    } catch (const core::Error& error) {
      if (named || references_.size() < 2 || error.code() != core::ErrorCode::kBadInput) throw;
      throw UsageError(
          fmt::format("no hypothesis was named, and {}; put the hypothesis before --reference, which takes "
                      "all names that follow it, or name it by --hypothesis",
                      error.what()));
    }
  }

  /// A space before the final period indicates text that was tokenised and not detokenised, which changes scores.
  static void warn_if_tokenized(std::uint64_t lines, const std::string& name, const Session& session) {
    constexpr std::uint64_t kSuspicious = 100;
    if (lines >= kSuspicious)
      core::log(
          session.log, core::LogLevel::kWarning,
          fmt::format("{} lines of {} end in \" .\": scores of tokenised text cannot be compared, detokenise it first",
                      lines, name));
  }

  static evaluation::Score score_of_line(std::size_t line, const evaluation::Metric& metric,
                                         const std::string& hypothesis, std::span<const std::string> references,
                                         const std::stop_token& stop) {
    try {
      return sentence_score(metric, hypothesis, references, stop);
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::kInterrupted) throw;
      core::fail(error.code(), "line {}: {}", line, error.what());
    }
  }

  void print_sentences(const evaluation::Metric& metric, evaluation::ParallelTextReader& texts,
                       const Session& session) const {
    core::OutputFile output("-");
    std::uint64_t tokenized = 0;
    while (texts.next()) {
      const auto lines = texts.lines();
      tokenized += lines[0].ends_with(" .") ? 1 : 0;
      const evaluation::Score score =
          score_of_line(texts.line_number(), metric, lines[0], lines.subspan(1), session.stop);
      output.write((json_ ? as_json(score, decimals_).dump() : score_line(score)) + "\n");
    }
    output.commit();
    warn_if_tokenized(tokenized, texts.name(0), session);
  }

  void print_corpus(const Metrics& metrics, evaluation::ParallelTextReader& texts, const Session& session) const {
    const bool resampled = confidence_samples_ || !baseline_.empty();
    CountedTexts counted = count_texts(metrics, texts, references_.size(), baseline_.empty() ? 1 : 2,
                                       resampled ? KeptStatistics::kSegments : KeptStatistics::kSums, session.stop);
    warn_if_tokenized(counted.tokenized.front(), texts.name(0), session);
    const auto confidence = confidence_samples_ ? std::optional(bootstrap_) : std::nullopt;
    core::Json list = core::Json::array();
    std::string lines;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      auto& statistics = counted.statistics[i];
      const evaluation::Score score =
          evaluation::score_segments(*metrics[i], statistics.front(), confidence, session.stop);
      list.push_back(as_json(score, decimals_));
      lines += score_line(score) + "\n";
      if (!baseline_.empty()) compare(*metrics[i], statistics, list, lines, session.stop);
    }
    core::OutputFile output("-");
    output.write(json_ ? (list.size() == 1 ? list.front() : list).dump(1) + "\n" : lines);
    output.commit();
  }

  void print_systems(const Metrics& metrics, evaluation::ParallelTextReader& texts, const Session& session) const {
    ComparisonOptions options{.decimals = decimals_, .json = json_, .score_only = score_only_};
    if (paired_bootstrap_)
      options.test = {
          .test = evaluation::PairedTest::kBootstrap, .samples = *paired_bootstrap_, .seed = bootstrap_.seed};
    if (paired_randomization_)
      options.test = {.test = evaluation::PairedTest::kApproximateRandomization,
                      .samples = *paired_randomization_,
                      .seed = bootstrap_.seed};
    const CountedTexts counted =
        count_texts(metrics, texts, references_.size(), hypotheses_.size(),
                    options.test ? KeptStatistics::kSegments : KeptStatistics::kSums, session.stop);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hypotheses_.size(); ++i) {
      names.push_back(texts.name(i == 0 ? 0 : references_.size() + i));
      warn_if_tokenized(counted.tokenized[i], names.back(), session);
    }
    const std::string text = compare_systems(metrics, names, counted, references_.size(), options, session.stop);
    core::OutputFile output("-");
    output.write(text);
    output.commit();
  }

  /// Adds the score of the second system, the baseline, to the output for the first one.
  void compare(const evaluation::Metric& metric, std::vector<evaluation::SegmentStatistics>& systems, core::Json& list,
               std::string& lines, const std::stop_token& stop) const {
    std::ranges::reverse(systems);
    const double value = metric.value(systems.front().sum());
    const evaluation::PairedOptions options{.samples = bootstrap_.samples, .seed = bootstrap_.seed};
    const double p_value = evaluation::paired_test(metric, systems, options, stop).back().p_value.value();
    list.back()["baseline_score"] = value;
    list.back()["p_value"] = p_value;
    if (!score_only_)
      lines += fmt::format("{}|baseline|bs:{}|seed:{} = {:.{}f} (p = {:.4f})\n", metric.name(), bootstrap_.samples,
                           bootstrap_.seed, value, decimals_, p_value);
  }

  std::string score_line(const evaluation::Score& score) const {
    return score_only_ ? score.number(decimals_) : score.text(decimals_);
  }

  evaluation::BleuOptions bleu_;
  evaluation::TerOptions ter_;
  evaluation::BootstrapOptions bootstrap_;
  std::vector<std::string> hypotheses_;
  std::vector<std::string> references_;
  std::string baseline_;
  std::vector<std::string> metrics_;
  std::string tokenizer_;
  std::string tokenizer_model_;
  std::string smoothing_;
  int decimals_ = 1;
  bool score_only_ = false;
  bool json_ = false;
  bool sentence_level_ = false;
  bool lowercase_ = false;
  std::optional<std::uint32_t> confidence_samples_;
  std::optional<std::uint32_t> paired_bootstrap_;
  std::optional<std::uint32_t> paired_randomization_;
};

}  // namespace

std::unique_ptr<Command> make_evaluate() {
  return std::make_unique<Evaluate>();
}

}  // namespace dragoman::cli
