#include "command.h"
#include "host_options.h"
#include "number_option.h"

#include <fmt/format.h>

#include <dragoman/core/options.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

constexpr int kMostHypotheses = 10000;

class Translate final : public Command {
 public:
  std::string_view name() const override { return "translate"; }
  std::string_view summary() const override { return "translate text, line by line"; }

  void add_options(po::options_description& options) override {
    add_files(options);
    add_search(options);
    add_sampling(options);
    add_machine(options);
    add_host_options(options, host_options_);
  }

  void run(const Session& session) override {
    if (beam_size_ < n_best_ && decoder_ == "beam")
      throw UsageError(fmt::format("--n-best {} needs a --beam-size of at least that", n_best_));
    if (format_ == "text" && (n_best_ > 1 || alignment_))
      throw UsageError("--n-best and --alignment need --format jsonl: text has one line per input line");
    if (on_error_ != "keep" && on_error_ != "fail") throw UsageError("--on-error must be keep or fail");
    if (resume_ && overwrite_) throw UsageError("--resume goes on with what --overwrite throws away; give one of them");
    plugins::Host host(host_options_);
    pipeline::Pipeline pipeline = pipeline::make_pipeline(configuration(), "translate", host, threads_);
    const pipeline::LineCounts counts = pipeline.run(
        {.threads = threads_, .fail_on_error = on_error_ == "fail", .log = session.log, .progress = session.progress},
        session.stop);
    if (const std::string text = pipeline::describe(counts); !text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  void add_files(po::options_description& options) {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "model folder")(
        "input,i", po::value(&input_)->default_value("-")->value_name("FILE"),
        "text to translate (gz and zst too); - is stdin")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "translations; - is stdout")(
        "format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
        "text, or jsonl: scores, tokens and alternatives of each line")(
        "input-format", po::value(&input_format_)->default_value("text")->value_name("FORMAT"),
        "text, jsonl (key \"source\") or tsv (first column)")(
        "split", po::value(&split_)->value_name("LOCALE"),
        "translate sentence by sentence, split by the rules of a language (de, en, ...)")(
        "resume", po::bool_switch(&resume_),
        "continue an interrupted run of the same input, model and options: keep the complete lines of OUTPUT.partial")(
        "overwrite", po::bool_switch(&overwrite_), "begin anew, though an interrupted run left OUTPUT.partial")(
        "on-error", po::value(&on_error_)->default_value("keep")->value_name("POLICY"),
        "a line that cannot be translated: keep (an empty line, counted) or fail");
  }

  void add_search(po::options_description& options) {
    options.add_options()("decoder", po::value(&decoder_)->default_value("beam")->value_name("NAME"),
                          "beam, greedy, sampling, or a plugin's")(
        "beam-size", whole_number("--beam-size", beam_size_, 1, kMostHypotheses)->default_value("4")->value_name("N"),
        "hypotheses kept")("n-best",
                           whole_number("--n-best", n_best_, 1, kMostHypotheses)->default_value("1")->value_name("N"),
                           "hypotheses returned (jsonl)")(
        "length-penalty", po::value(&length_penalty_)->default_value("fairseq")->value_name("PRESET"),
        "scoring and stopping rules: fairseq, gnmt, marian, ct2, none")(
        "alpha", real_number("--alpha", alpha_, kAnyNumber)->value_name("X"),
        "strength of the length penalty (default: the preset's)")(
        "maximum-length", whole_number("--maximum-length", maximum_length_, 0)->default_value("0")->value_name("N"),
        "longest translation in tokens; 0: twice the source and 10 more")(
        "minimum-length", whole_number("--minimum-length", minimum_length_, 0)->default_value("0")->value_name("N"),
        "shortest translation in tokens")(
        "repetition-penalty",
        real_number("--repetition-penalty", repetition_penalty_, kPositive)->default_value("1")->value_name("X"),
        "above 1: repeat less")(
        "no-repeat-ngram", whole_number("--no-repeat-ngram", no_repeat_ngram_, 0)->default_value("0")->value_name("N"),
        "no N-gram of tokens twice; 0: off")("replace-unknown", po::bool_switch(&replace_unknown_),
                                             "put the source word in the place of an unknown token")(
        "alignment", po::bool_switch(&alignment_), "report attention weights (jsonl)");
  }

  void add_sampling(po::options_description& options) {
    options.add_options()(
        "temperature", real_number("--temperature", temperature_, kPositive)->default_value("1")->value_name("X"),
        "sampling: flatter above 1")("top-k", whole_number("--top-k", top_k_, 0)->default_value("0")->value_name("N"),
                                     "sampling: from the N most probable tokens; 0: all")(
        "top-p", real_number("--top-p", top_p_, kShare)->default_value("1")->value_name("P"),
        "sampling: from the most probable tokens of total probability P")(
        "seed", whole_number("--seed", seed_, std::uint64_t{0})->default_value("1")->value_name("N"), "sampling: seed");
  }

  void add_machine(po::options_description& options) {
    options.add_options()("threads", thread_count(threads_), threads_help("workers").c_str())(
        "batch-tokens",
        whole_number("--batch-tokens", batch_tokens_, std::int64_t{1})->default_value("2048")->value_name("N"),
        "source tokens encoded together (no effect on results)")(
        "rows", whole_number("--rows", rows_, std::int64_t{1})->default_value("64")->value_name("N"),
        "hypotheses in flight per worker (no effect on results)")(
        "device", po::value(&device_)->default_value("cpu")->value_name("NAME"),
        "cpu, reference (slow, double precision), or a plugin's; `doctor` lists them")(
        "compute", po::value(&compute_)->default_value("fp32")->value_name("TYPE"), "number type of the weights: fp32")(
        "allow-non-finite", po::bool_switch(&allow_non_finite_),
        "use a model although it holds weights that are NaN or infinite");
  }

  core::Json configuration() const {
    core::Json translate{{"model", model_},
                         {"decoder", decoder_},
                         {"beam_size", beam_size_},
                         {"n_best", n_best_},
                         {"length_penalty", length_penalty_},
                         {"maximum_length", maximum_length_},
                         {"minimum_length", minimum_length_},
                         {"repetition_penalty", repetition_penalty_},
                         {"no_repeat_ngram", no_repeat_ngram_},
                         {"replace_unknown", replace_unknown_},
                         {"alignment", alignment_},
                         {"temperature", temperature_},
                         {"top_k", top_k_},
                         {"top_p", top_p_},
                         {"seed", seed_},
                         {"threads", threads_},
                         {"batch_tokens", batch_tokens_},
                         {"rows", rows_},
                         {"device", device_},
                         {"compute", compute_},
                         {"allow_non_finite", allow_non_finite_},
                         {"details", format_ == "jsonl"}};
    if (alpha_) translate["alpha"] = *alpha_;
    core::Json stages = core::Json::array();
    stages.push_back({{"read", {{"path", input_}, {"format", input_format_}}}});
    if (!split_.empty()) stages.push_back({{"split", {{"locale", split_}}}});
    stages.push_back({{"translate", std::move(translate)}});
    stages.push_back(
        {{"write", {{"path", output_}, {"format", format_}, {"resume", resume_}, {"overwrite", overwrite_}}}});
    return {{"stages", std::move(stages)}};
  }

  std::string model_;
  std::string input_;
  std::string output_;
  std::string format_;
  std::string input_format_;
  std::string split_;
  bool resume_ = false;
  bool overwrite_ = false;
  std::string on_error_;
  std::string decoder_;
  int beam_size_ = 0;
  int n_best_ = 0;
  std::string length_penalty_;
  std::optional<double> alpha_;
  int maximum_length_ = 0;
  int minimum_length_ = 0;
  double repetition_penalty_ = 1;
  int no_repeat_ngram_ = 0;
  bool replace_unknown_ = false;
  bool alignment_ = false;
  double temperature_ = 1;
  int top_k_ = 0;
  double top_p_ = 1;
  std::uint64_t seed_ = 1;
  int threads_ = 0;
  std::int64_t batch_tokens_ = 0;
  std::int64_t rows_ = 0;
  std::string device_;
  std::string compute_;
  bool allow_non_finite_ = false;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_translate() {
  return std::make_unique<Translate>();
}

}  // namespace dragoman::cli
