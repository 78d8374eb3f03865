#include "options/length_penalty_options.h"
#include "options/lines/line_job.h"
#include "options/lines/line_pairs.h"
#include "options/model_options.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/ensemble.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Score final : public Command {
 public:
  std::string_view name() const override { return "score"; }
  std::string_view summary() const override {
    return "score given translations: how probable a model finds each target line";
  }
  std::string_view examples() const override {
    return "dragoman score --model models/de-en test.de test.en --output scores.txt\n"
           "dragoman score --model models/de-en test.de test.en --length-penalty fairseq --format jsonl\n"
           "dragoman score --model run-1/best --ensemble run-2/best test.de test.en --format jsonl\n"
           "dragoman score --model models/de-en test.de test.en --attention cross --attention-svg pictures\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "required: model folder")(
        "source", po::value(&source_)->required()->value_name("FILE"), "required: source lines")(
        "target", po::value(&target_)->required()->value_name("FILE"),
        "required: target lines, one for each source line")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "scores; - is standard output")(
        "format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
        "text: the log probability of each line; jsonl: also of each token, and attention");
    long_lines_.add_to(
        options,
        "for a pair with more tokens than the model supports: fail; cut (score the supported part); or skip (write an "
        "empty line, in jsonl an `error`). After a failure, continue with --resume --long-lines skip");
    job_.add_to(options);
    length_penalty_.add_to(options, "none");
    ensemble_.add_to(options);
    languages_.add_to(options);
    attention_.add_to(options);
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }
  std::vector<std::string> written() const override { return {"output", "attention-svg", "attention-npy"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    if (source_ == "-" && target_ == "-") throw UsageError("--source and --target cannot both be standard input");
    if (format_ != "text" && format_ != "jsonl") throw UsageError("--format must be text or jsonl");
    const pipeline::AttentionSettings attention = read_attention();
    const pipeline::EnsembleOptions ensemble = read_ensemble_options(attention);
    pipeline::require_empty_folders(attention);
    plugins::Host host(model_options_.host());
    const pipeline::Model model(model_, host, model_options_.read(host, session.log), ensemble, session.stop);
    pipeline::Scorer scorer(
        model, {.length_penalty = length_penalty_.given() ? length_penalty_.chosen() : decoding::LengthPenalty::none(),
                .attention = attention,
                .languages = read_languages(),
                .long_lines = long_lines_.read()});
    LinePairReader reader(source_, target_, session.stop);
    std::vector<std::string> models = {model_};
    models.insert(models.end(), ensemble.models.begin(), ensemble.models.end());
    job_.open("score", identity(), models, output_, session.stop);
    job_.skip_lines_kept(reader);
    std::vector<pipeline::LineScore> scores;
    const auto compute = [&] {
      std::vector<pipeline::LinePair> pairs;
      const bool more = reader.read(pairs, attention.kind ? LinePairReader::kFewBytes : LinePairReader::kUsualBytes);
      scores = scorer.score(std::move(pairs), session.stop);
      return more;
    };
    job_.run(session, "score", reader, compute, [&] {
      for (const pipeline::LineScore& line : scores) {
        write(line);
        if (line.attention) pipeline::write_attention(*line.attention, attention, std::to_string(job_.written()));
      }
    });
    for (const std::string& text : {pipeline::describe(reader.counts()), long_lines_.describe("pair")})
      if (!text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  pipeline::AttentionSettings read_attention() const {
    core::OptionReader options(attention_.settings(), "score");
    pipeline::AttentionSettings settings;
    pipeline::attention_table().read(options, settings);
    try {
      pipeline::check(settings, options);
    } catch (const core::Error& error) {
      throw UsageError(error, "score");
    }
    if (settings.kind && format_ == "text" && settings.svg.empty() && settings.npy.empty())
      throw UsageError("--attention needs --format jsonl, --attention-svg or --attention-npy");
    return settings;
  }

  pipeline::LanguagePair read_languages() const {
    core::OptionReader options(languages_.settings(), "score");
    pipeline::LanguagePair pair;
    pipeline::language_table().read(options, pair);
    return pair;
  }

  pipeline::EnsembleOptions read_ensemble_options(const pipeline::AttentionSettings& attention) const {
    core::OptionReader options(ensemble_.settings(), "score");
    pipeline::EnsembleOptions ensemble;
    try {
      pipeline::ensemble_table().read(options, ensemble);
    } catch (const core::Error& error) {
      throw UsageError(error, "score");
    }
    if (attention.kind && !ensemble.models.empty())
      throw UsageError("--attention is one model's and not an ensemble's; leave it or --ensemble out");
    return ensemble;
  }

  /// Returns everything that determines a score, except for the models and the text.
  core::Json identity() const {
    return {{"format", format_},
            {"length_penalty", length_penalty_.identity()},
            {"ensemble", ensemble_.settings()},
            {"languages", languages_.settings()},
            {"attention", attention_.settings()},
            {"machine", model_options_.identity()}};
  }

  void write(const pipeline::LineScore& score) {
    job_.write(line_of(score));
    if (score.cut) long_lines_.count_cut();
    if (!score.error.empty()) long_lines_.count_skipped();
    if (score.cut || !score.error.empty()) job_.note_long_line(long_lines_.policy());
  }

  std::string line_of(const pipeline::LineScore& score) const {
    if (!score.error.empty()) return format_ == "text" ? "" : core::one_line({{"error", score.error}});
    if (format_ == "text") return fmt::format("{:.6f}", score.score);
    core::Json line{{"score", score.score},
                    {"log_probability", score.log_probability},
                    {"tokens", score.pieces},
                    {"token_log_probabilities", score.token_log_probabilities}};
    if (score.attention) line["attention"] = pipeline::to_json(*score.attention);
    return core::one_line(line);
  }

  std::string model_;
  std::string source_;
  std::string target_;
  std::string output_;
  std::string format_;
  LongLinesOption long_lines_;
  LineJob job_;
  LengthPenaltyOptions length_penalty_;
  StageOptions ensemble_{pipeline::ensemble_table().options()};
  StageOptions languages_{pipeline::language_table().options()};
  StageOptions attention_{pipeline::attention_table().options()};
  ModelOptions model_options_;
};

}  // namespace

std::unique_ptr<Command> make_score() {
  return std::make_unique<Score>();
}

}  // namespace dragoman::cli
