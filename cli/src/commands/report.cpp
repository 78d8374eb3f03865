#include "options/input_guard.h"
#include "options/model_options.h"
#include "program/command.h"
#include "version.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/attention.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/report/run_history.h>
#include <dragoman/training/run_files.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// The number of sentences per run whose attention is shown, and their maximum length in bytes: a picture has a square
/// for each pair of pieces.
constexpr std::size_t kMaxPictures = 6;
constexpr std::size_t kLongestSentence = 400;

/// Returns the newest prediction for each source, in the order in which sources first occur.
std::vector<pipeline::LinePair> sentences_of(const report::RunHistory& run) {
  std::vector<pipeline::LinePair> pairs;
  for (const report::Sample& sample : run.metrics.samples) {
    if (sample.source.empty() || sample.prediction.empty() ||
        sample.source.size() + sample.prediction.size() > kLongestSentence)
      continue;
    const auto known = std::ranges::find(pairs, sample.source, &pipeline::LinePair::source);
    if (known != pairs.end())
      known->target = sample.prediction;
    else if (pairs.size() < kMaxPictures)
      pairs.push_back({.source = sample.source, .target = sample.prediction, .where = "sample: " + sample.source});
  }
  return pairs;
}

class MakeReport final : public Command {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override { return "write a self-contained HTML page about training runs"; }
  std::string_view examples() const override {
    return "dragoman report run --output report.html\n"
           "dragoman report run1 run2 run3 --output comparison.html\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()  //
        ("run", po::value(&runs_)->required()->multitoken()->composing()->value_name("FOLDER..."),
         "required: folders of training runs, at most 50; the runs may still be training")  //
        ("output,o", po::value(&output_)->default_value("report.html")->value_name("FILE"),
         "the page; - is standard output")  //
        ("no-attention", po::bool_switch(&no_attention_),
         "do not run the models in best/ to show their attention in sample sentences");
    model_options_.add_to(options);
  }
  std::vector<std::string> positional() const override { return {"run"}; }

  void run(const Session& session) override {
    constexpr std::size_t kMaxRuns = 50;
    if (runs_.size() > kMaxRuns)
      throw UsageError(fmt::format("{} runs: a page shows at most {}", runs_.size(), kMaxRuns));
    require_no_loss();
    std::vector<report::RunHistory> histories;
    for (const std::string& folder : runs_) histories.push_back(report::read_run(folder));
    if (!no_attention_) add_attention(histories, session);
    for (const report::RunHistory& history : histories)
      for (const std::string& note : history.notes)
        session.log(core::LogLevel::kWarning, fmt::format("{}: {}", history.name, note));
    core::OutputFile out(output_, {.partial = core::PartialPolicy::kTemporary, .stop = session.stop});
    out.write(report::to_html(histories, kVersion));
    out.commit();
  }

  /// Writes into the folder of a run, too: see require_no_loss().
  std::vector<std::string> written() const override { return {}; }

 private:
  /// A page may be in the folder of a run and may replace an earlier page. It must not replace anything else there.
  void require_no_loss() const {
    std::error_code ignored;
    const std::filesystem::path target = std::filesystem::weakly_canonical(output_, ignored);  // with links resolved
    const std::string kind = target.extension();
    if (kind == ".html" || kind == ".htm") return;
    require_not_an_input(output_, {runs_.begin(), runs_.end()}, "output");
  }

  void add_attention(std::vector<report::RunHistory>& histories, const Session& session) {
    plugins::Host host(model_options_.host());
    const pipeline::ModelOptions options = model_options_.read(host, session.log);
    for (report::RunHistory& history : histories) {
      core::require(!session.stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted; no page was written");
      const std::filesystem::path model = std::filesystem::path(history.name) / training::RunFiles::kBest;
      std::error_code ignored;
      const std::vector<pipeline::LinePair> pairs = sentences_of(history);
      if (pairs.empty() || !std::filesystem::exists(model / "config.json", ignored)) continue;
      try {
        add_attention(history, pairs, pipeline::Model(model, host, options, session.stop), session.stop);
      } catch (const core::Error& error) {
        if (error.code() == core::ErrorCode::kInterrupted) throw;
        history.notes.push_back(fmt::format("there is no attention: {}", error.what()));
      }
    }
  }

  void add_attention(report::RunHistory& history, const std::vector<pipeline::LinePair>& pairs,
                     const pipeline::Model& model, const std::stop_token& stop) const {
    pipeline::AttentionSettings settings{.kind = decoding::AttentionKind::kCross};
    settings.request.mean = true;
    pipeline::Scorer scorer(model, {.attention = settings});
    const std::vector<pipeline::LineScore> scores = scorer.score(pairs, stop);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!scores[i].attention) continue;
      core::Json picture = pipeline::to_json(*scores[i].attention);
      picture["source"] = pairs[i].source;
      picture["target"] = pairs[i].target;
      history.attention.push_back(std::move(picture));
    }
  }

  std::vector<std::string> runs_;
  std::string output_;
  bool no_attention_ = false;
  ModelOptions model_options_;
};

}  // namespace

std::unique_ptr<Command> make_report() {
  return std::make_unique<MakeReport>();
}

}  // namespace dragoman::cli
