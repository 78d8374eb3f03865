#include "options/host_options.h"
#include "options/input_guard.h"
#include "options/number_option.h"
#include "program/command.h"

#include <functional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using core::ErrorCode;

class Score final : public Command {
 public:
  std::string_view name() const override { return "score"; }
  std::string_view summary() const override {
    return "score given translations: how probable a model finds each target line";
  }
  std::string_view examples() const override {
    return "dragoman score --model models/de-en test.de test.en --output scores.txt\n"
           "dragoman score --model models/de-en test.de test.en --length-penalty fairseq --format jsonl\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "model folder")(
        "source", po::value(&source_)->required()->value_name("FILE"), "source lines")(
        "target", po::value(&target_)->required()->value_name("FILE"), "target lines, as many")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "scores; - is stdout")(
        "format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
        "text: the log probability of each line; jsonl: with each token's")(
        "length-penalty", po::value(&length_penalty_)->default_value("none")->value_name("PRESET"),
        "how the score follows from the log probability: none, fairseq, gnmt, marian, ct2")(
        "threads", thread_count(threads_), threads_help("threads").c_str())(
        "device", po::value(&device_)->default_value("cpu")->value_name("NAME"),
        "cpu, reference (slow, double precision), or a plugin's; `doctor` lists them")(
        "compute", po::value(&compute_)->default_value(std::string(tensor::kStoredCompute))->value_name("TYPE"),
        fmt::format("{}; {}: what the model's folder says", tensor::kComputeHelp, tensor::kStoredCompute).c_str())(  //
        "allow-non-finite", po::bool_switch(&allow_non_finite_),
        "use a model although it holds weights that are NaN or infinite");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }

  void run(const Session& session) override {
    if (source_ == "-" && target_ == "-") throw UsageError("--source and --target cannot both be standard input");
    if (format_ != "text" && format_ != "jsonl") throw UsageError("--format must be text or jsonl");
    require_not_an_input(output_, {model_, source_, target_});
    plugins::Host host(host_options_);
    pipeline::Scorer scorer(model_, host,
                            {.length_penalty = decoding::LengthPenalty::preset(length_penalty_),
                             .threads = threads_,
                             .device = host.device(device_),
                             .compute = compute(),
                             .allow_non_finite = allow_non_finite_});
    core::LineReader sources(source_, session.stop);
    core::LineReader targets(target_, session.stop);
    core::OutputFile out(output_, {.stop = session.stop});
    std::size_t written = 0;
    for (bool more = true; more;) {
      std::vector<pipeline::LineScore> scores;
      try {
        std::vector<pipeline::LinePair> pairs;
        more = read_pairs(sources, targets, pairs);
        scores = scorer.score(std::move(pairs), session.stop);
      } catch (const core::Error& error) {
        if (error.code() != ErrorCode::kInterrupted) throw;
      }
      if (session.stop.stop_requested())
        core::fail(ErrorCode::kInterrupted, "interrupted after {} lines, which are in {}", written, out.partial_name());
      for (const pipeline::LineScore& line : scores) write(line, out);
      out.flush();
      written += scores.size();
      core::report(session.progress,
                   {.stage = "score", .done = sources.line_number(), .total = 0, .unit = "lines", .figures = {}});
    }
    out.commit();
    if (const std::string text = pipeline::describe(counts_); !text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  /// Of text that is scored together: enough to keep all threads busy.
  static constexpr std::size_t kBatchBytes = std::size_t{1} << 18;

  /// Reads the next lines; false at the end of both files.
  bool read_pairs(core::LineReader& sources, core::LineReader& targets, std::vector<pipeline::LinePair>& pairs) {
    for (std::size_t bytes = 0; bytes < kBatchBytes;) {
      pipeline::LinePair pair;
      const bool have_source = sources.next(pair.source);
      const bool have_target = targets.next(pair.target);
      core::require(have_source == have_target, ErrorCode::kBadInput,
                    "{} ends after {} lines but {} goes on; they must be parallel",
                    have_source ? targets.name() : sources.name(), sources.line_number() - (have_source ? 1 : 0),
                    have_source ? sources.name() : targets.name());
      if (!have_source) return false;
      for (const std::string& line : {std::cref(pair.source), std::cref(pair.target)})
        if (core::find_invalid_utf8(line) != std::string::npos) ++counts_.with_invalid_utf8;
      bytes += pair.source.size() + pair.target.size() + 1;
      pair.where = fmt::format("{}: line {}", sources.name(), sources.line_number());
      pairs.push_back(std::move(pair));
    }
    return true;
  }

  void write(const pipeline::LineScore& score, core::OutputFile& out) const {
    if (format_ == "text") {
      out.write(fmt::format("{:.6f}\n", score.score));
      return;
    }
    const core::Json line{{"score", score.score},
                          {"log_probability", score.log_probability},
                          {"tokens", score.pieces},
                          {"token_log_probabilities", score.token_log_probabilities}};
    out.write(core::one_line(line) + "\n");
  }

  std::optional<tensor::ComputeChoice> compute() const {
    const auto found = tensor::find_compute_choice(compute_);
    if (!found && compute_ != tensor::kStoredCompute)
      throw UsageError(fmt::format("--compute must be {}, {}", tensor::kStoredCompute, tensor::list_compute_choices()));
    return found;
  }

  std::string model_;
  std::string source_;
  std::string target_;
  std::string output_;
  std::string format_;
  std::string length_penalty_;
  int threads_ = 0;
  std::string device_;
  std::string compute_;
  bool allow_non_finite_ = false;
  plugins::HostOptions host_options_;
  pipeline::LineCounts counts_;
};

}  // namespace

std::unique_ptr<Command> make_score() {
  return std::make_unique<Score>();
}

}  // namespace dragoman::cli
