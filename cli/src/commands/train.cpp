#include "options/host_options.h"
#include "program/command.h"
#include "version.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/training/trainer.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Train final : public Command {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "train a model as a YAML file says"; }
  std::string_view examples() const override {
    return "dragoman train train.yml\n"
           "dragoman train train.yml --set training.batch_tokens=8192 --set output=run2\n"
           "dragoman train train.yml --resume\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("config,c", po::value(&config_)->required()->value_name("FILE"),
                          "training configuration in YAML; examples/multi30k/train.yml explains every key")(
        "set", po::value(&assignments_)->value_name("KEY=VALUE")->composing(),
        "override a key of the file, as training.schedule.warmup=2000 (may be repeated)")(
        "resume", po::bool_switch(&resume_),
        "go on from the last checkpoint of the output folder, as if never interrupted")(
        "fork", po::bool_switch(&fork_),
        "go on from the last checkpoint although keys that affect results have changed")(
        "dump-config", po::bool_switch(&dump_config_), "print the configuration with every key resolved, and exit")(
        "threads", po::value(&threads_)->value_name("N"), "overrides the key threads; results do not depend on it")(
        "device", po::value(&device_)->value_name("NAME"),
        "overrides the key device: cpu, reference (slow, double precision), a plugin's, or auto; `doctor` lists them");
    add_host_options(options, host_options_);
  }
  std::vector<std::string> positional() const override { return {"config"}; }

  void run(const Session& session) override {
    const training::TrainingConfig config = training::read_training_config(configuration(session.stop), config_);
    plugins::Host host(host_options_);
    const tensor::Device device = host.device(config.device);  // loads the plugin that brings it
    if (config.device == runtime::kAutoDevice)
      session.log(core::LogLevel::kInfo, fmt::format("device {}", tensor::name_of(device)));
    training::TrainerEnvironment environment = training::make_environment(host);
    if (dump_config_) {
      fmt::print("{}\n", core::dump_yaml(training::resolved_configuration(config, environment)));
      return;
    }
    environment.log = session.log;
    environment.progress = session.progress;
    environment.build["dragoman"] = kVersion;
    training::Trainer trainer(config, std::move(environment), start_mode(), session.stop);
    session.log(core::LogLevel::kInfo, describe(trainer.run(session.stop)));
  }

 private:
  core::Json configuration(const std::stop_token& stop) const {
    core::Json tree = core::load_yaml(config_, stop);
    for (const std::string& assignment : assignments_) core::set_option(tree, assignment);
    if (!threads_.empty()) core::set_option(tree, "threads=" + threads_);
    if (!device_.empty()) core::set_option(tree, "device=" + device_);
    return tree;
  }

  training::StartMode start_mode() const {
    if (fork_) return training::StartMode::kFork;
    return resume_ ? training::StartMode::kResume : training::StartMode::kFresh;
  }

  static std::string describe(const training::TrainingSummary& summary) {
    std::string text = fmt::format("trained {} updates, {} epochs{}", summary.updates, summary.epochs,
                                   summary.stopped_early ? ", stopped early" : "");
    if (summary.best) text += fmt::format("; best at update {} with {:.4f}", summary.best->update, summary.best->value);
    return text + "; model: " + summary.model.string();
  }

  std::string config_;
  std::vector<std::string> assignments_;
  bool resume_ = false;
  bool fork_ = false;
  bool dump_config_ = false;
  std::string threads_;
  std::string device_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace dragoman::cli
