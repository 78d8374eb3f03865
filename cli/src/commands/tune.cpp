#include "options/input_guard.h"
#include "options/lines/line_pairs.h"
#include "options/model_options.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "program/command.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/formats/finite_weights.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/training/tune.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// The limits of the text, which is translated many times and therefore kept in memory.
constexpr std::size_t kMaxLines = 1'000'000;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

/// Parses "0.6,1,1.4".
template <class Number>
std::vector<Number> parse_list(std::string_view option, const std::string& text,
                               const core::NumberRange<Number>& range) {
  std::vector<Number> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(parse_number(option, text.substr(begin, end - begin), range));
    begin = end + 1;
  }
  return numbers;
}

class Tune final : public Command {
 public:
  std::string_view name() const override { return "tune"; }
  std::string_view summary() const override {
    return "try length penalties and beam sizes on a text with references, and store the best in a model folder";
  }
  std::string_view examples() const override {
    return "dragoman tune --model models/de-en val.de val.en\n"
           "dragoman tune --model models/de-en val.de val.en --output models/de-en\n"
           "dragoman tune --model models/de-en val.de val.en --alpha 0.8,1,1.2 --beam-size 4,8 --output tuned\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "required: model folder")(
        "source", po::value(&source_)->required()->value_name("FILE"), "required: source lines")(
        "target", po::value(&target_)->required()->value_name("FILE"),
        "required: reference translations, one for each source line")(
        "output,o", po::value(&output_)->value_name("DIR")->notifier([](const std::string& name) {
          require_named("--output", name);
        }),
        "model folder to write with the best settings (config.json, decoding); it may be the folder of --model. "
        "Without this option, the settings are only shown")(
        "alpha", po::value(&alpha_)->default_value("0.6,0.8,1,1.2,1.4,1.6,1.8,2,2.2")->value_name("X,..."),
        "strengths of the length penalty to try")("beam-size", po::value(&beam_size_)->value_name("N,..."),
                                                  "beam sizes to try (default: the beam size of the model)")(
        "metric", po::value(&metric_)->default_value("bleu")->value_name("NAME"),
        "metric that selects the best settings: bleu or chrf");
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }
  /// May change the folder of the model, which it reads: see run().
  std::vector<std::string> written() const override { return {}; }

  void run(const Session& session) override {
    const training::TuneConfig config = read_config();
    if (source_ == "-" && target_ == "-") throw UsageError("--source and --target cannot both be standard input");
    if (!output_.empty()) {
      require_not_an_input(output_, {source_, target_}, "output");
      formats::require_replaceable(output_);
    }
    plugins::Host host(model_options_.host());
    const formats::FolderState state(model_);
    // A new folder certifies its weights, even if --allow-non-finite uses them. The searches take long, so the check
    // comes before them.
    if (!output_.empty())
      formats::require_finite_weights(std::filesystem::path(model_) / formats::ModelFiles::kWeights);
    const core::Json defaults = formats::load_model_config(model_).decoding;
    pipeline::Translator translator(
        pipeline::Model(model_, host, model_options_.read(host, session.log), session.stop));
    read_lines(session);
    const auto translate = [&](const decoding::DecodingOptions& search) {
      core::report(session.progress,
                   {.stage = "tune", .done = tried_++, .total = trials(config), .unit = "searches", .figures = {}});
      try {
        return translator.translate(
            sources_, {.plan = std::make_shared<const decoding::SearchPlan>(search), .stop = session.stop});
      } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::kInterrupted) throw;
        core::fail(error.code(), "interrupted in search {} of {}; nothing was written", tried_, trials(config));
      }
    };
    const evaluation::Bleu bleu;
    const evaluation::Chrf chrf;
    const evaluation::Metric& metric = metric_ == "bleu" ? static_cast<const evaluation::Metric&>(bleu) : chrf;
    const training::TuneResult result =
        training::tune_decoding(defaults, config, training::tune_metric(metric, references_), translate,
                                (std::filesystem::path(model_) / formats::ModelFiles::kConfig).string() + ": decoding");
    show(result);
    if (output_.empty()) return;
    state.require_unchanged();
    formats::write_decoding_defaults(model_, output_, result.trials[result.best.value()].decoding,
                                     plugins::tokenizer_opener(host));
    core::log(session.log, core::LogLevel::kInfo, fmt::format("written: {}", output_));
  }

 private:
  training::TuneConfig read_config() const {
    if (metric_ != "bleu" && metric_ != "chrf") throw UsageError("--metric must be bleu or chrf");
    training::TuneConfig config{.alpha = parse_list("--alpha", alpha_, core::kAnyNumber)};
    if (!beam_size_.empty())
      config.beam_size =
          parse_list<std::int32_t>("--beam-size", beam_size_, {.least = 1, .most = decoding::kMaxHypothesesOfFolder});
    return config;
  }

  static std::uint64_t trials(const training::TuneConfig& config) {
    return config.alpha.size() * std::max<std::size_t>(config.beam_size.size(), 1);
  }

  void read_lines(const Session& session) {
    LinePairReader reader(source_, target_, session.stop);
    std::vector<pipeline::LinePair> pairs;
    std::size_t bytes = 0;
    for (bool more = true; more; pairs.clear()) {
      more = reader.read(pairs, LinePairReader::kUsualBytes);
      for (pipeline::LinePair& pair : pairs) {
        bytes += pair.source.size() + pair.target.size();
        core::require(sources_.size() < kMaxLines && bytes <= kMaxBytes, core::ErrorCode::kBadInput,
                      "{}: line {}: a text for tuning is kept in memory and has at most {} lines and, with its "
                      "references, {} bytes; take a part of it",
                      source_, sources_.size() + 1, kMaxLines, kMaxBytes);
        sources_.push_back(std::move(pair.source));
        references_.push_back(std::move(pair.target));
      }
    }
    core::require(!sources_.empty(), core::ErrorCode::kBadInput, "{}: has no lines; give a text to tune on", source_);
  }

  static void show(const training::TuneResult& result) {
    core::OutputFile out("-");
    for (std::size_t i = 0; i < result.trials.size(); ++i)
      out.write(training::describe(result.trials[i]) + (i == result.best ? "  <- best\n" : "\n"));
    out.commit();
  }

  std::string model_;
  std::string source_;
  std::string target_;
  std::string output_;
  std::string alpha_;
  std::string beam_size_;
  std::string metric_;
  ModelOptions model_options_;
  std::vector<std::string> sources_;
  std::vector<std::string> references_;
  std::uint64_t tried_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_tune() {
  return std::make_unique<Tune>();
}

}  // namespace dragoman::cli
