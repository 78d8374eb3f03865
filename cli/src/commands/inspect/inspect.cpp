#include "compute.h"
#include "inspector.h"
#include "options/host_options.h"
#include "options/lines/line_pairs.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "program/command.h"
#include "tokenizer.h"
#include "verification.h"

#include <array>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/compute_comparison.h>
#include <dragoman/pipeline/model_verification.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/training/run_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr std::array kInspectors{
    Inspector{"model folder", &formats::is_model_folder, &describe_model_folder, true},
    Inspector{"model of another toolkit", &is_foreign_model, &describe_foreign_model},
    Inspector{"checkpoint", &is_checkpoint, &describe_checkpoint, true},
    Inspector{"training run", &is_training_run, &describe_training_run},
    Inspector{"plugin", &is_plugin, &describe_plugin},
    Inspector{"shared library", &is_shared_library, &describe_shared_library},
    Inspector{"safetensors file", &is_safetensors, &describe_weights},
    Inspector{"tokenizer", &is_tokenizer, &describe_tokenizer_file},
};

const Inspector& find_inspector(const fs::path& path) {
  core::require(fs::exists(path), core::ErrorCode::kIo, "{}: there is no such file or folder", path.string());
  std::string kinds;
  for (const Inspector& inspector : kInspectors) {
    if (inspector.recognises(path)) return inspector;
    kinds += (kinds.empty() ? "" : ", ") + std::string(inspector.kind);
  }
  core::fail(core::ErrorCode::kBadInput, "{}: is none of what can be inspected: {}", path.string(), kinds);
}

/// Returns whether a path is a part of a run, a model or a checkpoint that identifies the whole. A JSON object with
/// names and values resembles the vocabulary of GPT-2.
bool is_record(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = path.filename().string();
  return (name == training::RunFiles::kRecord && is_training_run(folder)) ||
         (name == training::RunFiles::kState && is_checkpoint(folder)) ||
         (name == "config.json" && formats::is_model_folder(folder));
}

class Inspect final : public Command {
 public:
  std::string_view name() const override { return "inspect"; }
  std::string_view summary() const override {
    return "describe a model, weight file, tokenizer, checkpoint, training run or plugin";
  }
  std::string_view examples() const override {
    return "dragoman inspect models/de-en --verify\n"
           "dragoman inspect run\n"
           "dragoman inspect tokenizer.json --corpus new.txt --json\n"
           "dragoman inspect models/de-en --compare-compute --input test.de --target test.en\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()                                                                            //
        ("path", po::value(&path_)->required()->value_name("PATH"), "required: the file or folder")  //
        ("tensors", po::bool_switch(&options_.tensors), "list every tensor")                         //
        ("verify", po::bool_switch(&options_.verify),
         "check the SHA256SUMS of a model folder or checkpoint, which reads every byte; also run an imported model, or "
         "one of another toolkit, and compare its results with the reference")  //
        ("compute", po::value(&compute_)->default_value(std::string(tensor::kStoredCompute))->value_name("TYPE"),
         fmt::format("with --verify, for a model: {}", tensor::kModelComputeHelp).c_str())  //
        ("corpus", po::value(&corpus_)->multitoken()->value_name("FILE..."),
         "for a tokenizer: text whose tokenisation is described")  //
        ("compare-compute", po::bool_switch(&compare_compute_),
         "for a model folder: compare the output of each layer in bf16 and int8 with fp32, by teacher forcing")  //
        ("input,i", po::value(&input_)->value_name("FILE"),
         "with --compare-compute: source lines; - is standard input (default: 64 pairs of random tokens)")  //
        ("target", po::value(&target_)->value_name("FILE"),
         "with --compare-compute: target lines, one per source line (default: the model's greedy translations)")  //
        ("against", po::value(&against_)->default_value("fp32")->value_name("TYPE"),
         "with --compare-compute: reference type fp32, or fp64 (double precision on the reference backend, slow)")  //
        ("json", po::bool_switch(&json_), "print one JSON object")                                                  //
        ("threads", thread_count(threads_),
         "with --corpus, --verify and --compare-compute: threads; 0: all cores that the process may use; the output "
         "does not depend on it");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"path"}; }

  void run(const Session& session) override {
    const core::StopScope scope(session.stop);
    const Inspector& inspector = find_inspector(path_);
    check_options(inspector);
    options_.log = session.log;
    Report report;
    report.add_value("path", path_);
    report.add_value("kind", inspector.kind);
    report.append(inspector.describe(path_, options_));
    if (!corpus_.empty()) report.add_part("corpus", measure(session));
    if (compare_compute_) report.add_part("compute_comparison", compare(session));
    std::vector<std::string> faults;
    if (is_verified_by_running(inspector)) report.add_part("reference", verify(session, faults));
    if (json_)
      fmt::print("{}\n", report.object().dump(2, ' ', false, core::Json::error_handler_t::replace));
    else
      report.print(fmt::format("{}: {}", path_, inspector.kind));
    core::require(faults.empty(), core::ErrorCode::kBadInput, "{}: is not what it was: {}", path_,
                  fmt::join(faults, "; "));
  }

 private:
  void check_options(const Inspector& inspector) const {
    const bool tokenizer = inspector.describe == &describe_tokenizer_file;
    core::require(!tokenizer || !is_record(path_), core::ErrorCode::kBadInput,
                  "{}: is a part of a model, checkpoint or training run; inspect the folder that it stands in", path_);
    if (options_.verify && !inspector.has_checksums && inspector.describe != &describe_foreign_model)
      throw UsageError(
          fmt::format("--verify: only models and checkpoints can be verified, and {} is a {}", path_, inspector.kind));
    if (compute() && !is_verified_by_running(inspector))
      throw UsageError(
          "--compute: only with --verify, and for models that are verified by running them: imported "
          "ones and those of other toolkits");
    if (!corpus_.empty() && !tokenizer)
      throw UsageError(fmt::format("--corpus: only for tokenizers, and {} is a {}", path_, inspector.kind));
    if (compare_compute_ && inspector.describe != &describe_model_folder)
      throw UsageError(fmt::format("--compare-compute: only for model folders, and {} is a {}", path_, inspector.kind));
    if (!compare_compute_ && !(input_.empty() && target_.empty()))
      throw UsageError("--input and --target are for --compare-compute");
    if (input_.empty() && !target_.empty()) throw UsageError("--target needs --input, the source lines");
    if (input_ == "-" && target_ == "-") throw UsageError("--input and --target cannot both be standard input");
    if (against_ != "fp32" && against_ != "fp64") throw UsageError("--against must be fp32 or fp64");
  }

  /// Models that were trained here have checksums only.
  bool is_verified_by_running(const Inspector& inspector) const {
    return options_.verify && (inspector.describe == &describe_foreign_model ||
                               (inspector.describe == &describe_model_folder && pipeline::has_model_reference(path_)));
  }

  /// Returns nullopt for the type that the model's folder specifies.
  std::optional<tensor::ComputeChoice> compute() const {
    const auto found = tensor::find_compute_choice(compute_);
    if (!found && compute_ != tensor::kStoredCompute)
      throw UsageError(fmt::format("--compute must be {}, {}", tensor::kStoredCompute, tensor::list_compute_choices()));
    return found;
  }

  Report verify(const Session& session, std::vector<std::string>& faults) const {
    plugins::Host host(host_options_);
    pipeline::ModelVerification verified =
        pipeline::verify_model(path_, host, {.compute = compute(), .threads = threads_, .stop = session.stop});
    faults = verified.faults;
    return describe_verification(verified);
  }

  Report compare(const Session& session) const {
    plugins::Host host(host_options_);
    pipeline::ComputeComparer comparer(path_, host, {.against_double = against_ == "fp64", .threads = threads_});
    if (input_.empty()) {
      constexpr std::size_t kRandomPairs = 64;
      comparer.read_random(kRandomPairs, session.stop);
      return describe_compute_comparison(comparer.result());
    }
    std::optional<pipeline::Translator> translator;
    if (target_.empty())
      translator.emplace(
          pipeline::Model(path_, host, {.threads = threads_, .compute = tensor::ComputeChoice::kF32}, session.stop),
          pipeline::TranslateOptions{.search = {.decoder = "greedy"}, .ignore_model_defaults = true});
    LinePairReader reader(input_, target_, session.stop);
    for (bool more = true; more;) {
      std::vector<pipeline::LinePair> pairs;
      more = reader.read(pairs, LinePairReader::kFewBytes);
      if (translator) add_translations(*translator, pairs, session.stop);
      comparer.read(std::move(pairs), session.stop);
      core::report(session.progress,
                   {.stage = "compare", .done = reader.lines_read(), .total = 0, .unit = "lines", .figures = {}});
    }
    pipeline::ComputeComparison comparison = comparer.result();
    core::require(comparison.sentences > 0, core::ErrorCode::kBadInput, "{}: has no lines; give text to compare on",
                  input_);
    return describe_compute_comparison(comparison);
  }

  static void add_translations(pipeline::Translator& translator, std::vector<pipeline::LinePair>& pairs,
                               const std::stop_token& stop) {
    std::vector<std::string> sources;
    for (const pipeline::LinePair& pair : pairs) sources.push_back(pair.source);
    std::vector<std::string> targets = translator.translate(sources, {.stop = stop});
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].target = std::move(targets[i]);
  }

  Report measure(const Session& session) const {
    // The file was described before, which printed warnings about it.
    const auto tokenizer = tokenizer::open_tokenizer_file(path_, {.log = [](core::LogLevel, std::string_view) {}});
    return describe_corpus(*tokenizer, tokenizer::measure_corpus(*tokenizer, expand_files(corpus_), threads_,
                                                                 session.progress, session.stop));
  }

  std::string path_;
  InspectOptions options_;
  std::vector<std::string> corpus_;
  bool json_ = false;
  bool compare_compute_ = false;
  std::string input_;
  std::string target_;
  std::string against_;
  std::string compute_;
  plugins::HostOptions host_options_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}

}  // namespace dragoman::cli
