#include "options/host_options.h"
#include "options/lines/resume_options.h"
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
        "threads", thread_count(threads_), threads_help("threads").c_str());
    resuming_.add_to(options);
    on_error_.add_to(options, "a line that cannot be processed");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"pipeline"}; }

  void run(const Session& session) override {
    on_error_.check();
    ResumeOptions::require_one(resuming_.resumes(), resuming_.overwrites());
    core::Json configuration = core::load_yaml(file_, session.stop);
    for (const std::string& setting : settings_) core::set_option(configuration, setting, "--set ");
    plugins::Host host(host_options_);
    pipeline::Pipeline pipeline = pipeline::make_pipeline(configuration, file_, host, threads_);
    pipeline.add_input(file_);
    for (const std::string& plugin : host_options_.plugins) pipeline.add_input(plugin);
    if (resuming_.resumes() || resuming_.overwrites()) pipeline.set_partial(resuming_.policy());
    const pipeline::LineCounts counts = pipeline.run(
        {.threads = threads_, .fail_on_error = on_error_.fails(), .log = session.log, .progress = session.progress},
        session.stop);
    if (const std::string text = pipeline::describe(counts); !text.empty()) session.log(core::LogLevel::kInfo, text);
    host.runtime().log_notices(session.log);
  }

 private:
  std::string file_;
  std::vector<std::string> settings_;
  int threads_ = 0;
  ResumeOptions resuming_;
  OnErrorOption on_error_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_run() {
  return std::make_unique<RunPipeline>();
}

}  // namespace dragoman::cli
