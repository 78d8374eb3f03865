#include "options/host_options.h"
#include "options/number_option.h"
#include "program/command.h"

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/pipeline.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class RunPipeline final : public Command {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override { return "run a pipeline that a YAML file describes"; }
  std::string_view examples() const override {
    return "dragoman run pipeline.yml\n"
           "dragoman run pipeline.yml --set stages.0.read.path=other.de --set stages.2.write.path=other.en\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("pipeline", po::value(&file_)->required()->value_name("FILE"), "required: the pipeline")(
        "set", po::value(&settings_)->value_name("KEY=VALUE")->composing(),
        "change one key of the file, such as stages.0.read.path=other.de (may be repeated)")(
        "threads", thread_count(threads_), threads_help("threads").c_str())(
        "resume", po::bool_switch(&resume_),
        "continue an interrupted run of the same input and pipeline: keep the complete lines of OUTPUT.partial")(
        "overwrite", po::bool_switch(&overwrite_), "begin anew, though an interrupted run left OUTPUT.partial")(
        "on-error", po::value(&on_error_)->default_value("keep")->value_name("POLICY"),
        "a line that cannot be processed: keep (an empty line, counted) or fail");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"pipeline"}; }

  void run(const Session& session) override {
    if (on_error_ != "keep" && on_error_ != "fail") throw UsageError("--on-error must be keep or fail");
    if (resume_ && overwrite_) throw UsageError("--resume goes on with what --overwrite throws away; give one of them");
    core::Json configuration = core::load_yaml(file_, session.stop);
    for (const std::string& setting : settings_) core::set_option(configuration, setting, "--set ");
    plugins::Host host(host_options_);
    pipeline::Pipeline pipeline = pipeline::make_pipeline(configuration, file_, host, threads_);
    pipeline.add_input(file_);
    for (const std::string& plugin : host_options_.plugins) pipeline.add_input(plugin);
    if (resume_) pipeline.set_partial(core::PartialPolicy::kResume);
    if (overwrite_) pipeline.set_partial(core::PartialPolicy::kReplace);
    const pipeline::LineCounts counts = pipeline.run(
        {.threads = threads_, .fail_on_error = on_error_ == "fail", .log = session.log, .progress = session.progress},
        session.stop);
    if (const std::string text = pipeline::describe(counts); !text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  std::string file_;
  std::vector<std::string> settings_;
  int threads_ = 0;
  std::string on_error_;
  bool resume_ = false;
  bool overwrite_ = false;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_run() {
  return std::make_unique<RunPipeline>();
}

}  // namespace dragoman::cli
