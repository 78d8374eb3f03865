#include "command.h"
#include "host_options.h"
#include "number_option.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/decoding/score.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using core::ErrorCode;

/// A ragged batch that owns its tokens.
struct TokenBatch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};
  void add(const std::vector<std::int32_t>& sequence) {
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  void clear() {
    tokens.clear();
    offsets.assign(1, 0);
  }
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
};

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
        "allow-non-finite", po::bool_switch(&allow_non_finite_),
        "use a model although it holds weights that are NaN or infinite");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }

  void run(const Session& session) override {
    if (source_ == "-" && target_ == "-") throw UsageError("--source and --target cannot both be standard input");
    if (format_ != "text" && format_ != "jsonl") throw UsageError("--format must be text or jsonl");
    plugins::Host host(host_options_);
    const tensor::Device device = host.device(device_);
    const pipeline::LoadedTranslationModel loaded(model_, host, device, allow_non_finite_);
    const pipeline::TranslationModel model = loaded.view();
    const auto executor = core::make_executor(threads_);
    const auto context = host.runtime().make_context(device, *executor);
    core::LineReader sources(source_, session.stop);
    core::LineReader targets(target_, session.stop);
    core::OutputFile out(output_, {.stop = session.stop});
    for (bool more = true; more;) {
      if (session.stop.stop_requested())
        core::fail(ErrorCode::kInterrupted, "interrupted at line {}; finished lines are in {}", sources.line_number(),
                   out.partial_name());
      more = read_batch(model, sources, targets);
      write_batch(model,
                  decoding::score(*model.model, *context, source_batch_.view(), target_batch_.view(),
                                  decoding::LengthPenalty::preset(length_penalty_)),
                  out);
      core::report(session.progress,
                   {.stage = "score", .done = sources.line_number(), .total = 0, .unit = "lines", .figures = {}});
    }
    out.commit();
  }

 private:
  static constexpr std::size_t kBatchTokens = 8192;

  /// Reads the next lines; false at the end of both files.
  bool read_batch(const pipeline::TranslationModel& model, core::LineReader& sources, core::LineReader& targets) {
    source_batch_.clear();
    target_batch_.clear();
    std::string source;
    std::string target;
    while (source_batch_.tokens.size() < kBatchTokens) {
      const bool have_source = sources.next(source);
      const bool have_target = targets.next(target);
      core::require(have_source == have_target, ErrorCode::kBadInput,
                    "{} ends after {} lines but {} goes on; they must be parallel",
                    have_source ? targets.name() : sources.name(), sources.line_number() - (have_source ? 1 : 0),
                    have_source ? sources.name() : targets.name());
      if (!have_source) return false;
      add_pair(model, source, target, sources);
    }
    return true;
  }

  void add_pair(const pipeline::TranslationModel& model, std::string& source, std::string& target,
                const core::LineReader& lines) {
    pipeline::clean_line(source);
    pipeline::clean_line(target);
    std::vector<std::int32_t> source_tokens = model.source_tokenizer->encode(source);
    const std::vector<std::int32_t> target_tokens = model.target_tokenizer->encode(target);
    const nn::SequenceSpec& spec = model.model->spec();
    core::require(source_tokens.size() < static_cast<std::size_t>(spec.maximum_source_length) &&
                      target_tokens.size() < static_cast<std::size_t>(spec.maximum_target_length),
                  ErrorCode::kBadInput,
                  "{}: line {}: {} source and {} target tokens are more than the model takes ({} and {})", lines.name(),
                  lines.line_number(), source_tokens.size(), target_tokens.size(), spec.maximum_source_length - 1,
                  spec.maximum_target_length - 1);
    source_tokens.push_back(spec.end);
    source_batch_.add(source_tokens);
    target_batch_.add(target_tokens);
  }

  void write_batch(const pipeline::TranslationModel& model, const std::vector<decoding::TargetScore>& scores,
                   core::OutputFile& out) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (format_ == "text") {
        out.write(fmt::format("{:.6f}\n", scores[i].score));
        continue;
      }
      core::Json pieces = core::Json::array();
      for (const std::int32_t token : target_batch_.view().sequence(static_cast<std::int64_t>(i)))
        pieces.push_back(model.target_tokenizer->piece(token));
      const core::Json line{{"score", scores[i].score},
                            {"log_probability", scores[i].log_probability},
                            {"tokens", std::move(pieces)},
                            {"token_log_probabilities", scores[i].token_log_probabilities}};
      out.write(core::one_line(line) + "\n");
    }
  }

  std::string model_;
  std::string source_;
  std::string target_;
  std::string output_;
  std::string format_;
  std::string length_penalty_;
  int threads_ = 0;
  std::string device_;
  bool allow_non_finite_ = false;
  plugins::HostOptions host_options_;
  TokenBatch source_batch_;
  TokenBatch target_batch_;
};

}  // namespace

std::unique_ptr<Command> make_score() {
  return std::make_unique<Score>();
}

}  // namespace dragoman::cli
