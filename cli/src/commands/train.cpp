#include "options/host_options.h"
#include "options/init_options.h"
#include "options/kernel_times_option.h"
#include "options/launch_options.h"
#include "options/option_group.h"
#include "program/command.h"
#include "version.h"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/yaml.h>
#include <dragoman/training/option_table.h>
#include <dragoman/training/trainer.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Train final : public Command {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "train a model with the configuration in a YAML file"; }
  std::string_view examples() const override {
    return "dragoman train --init train.yml --source train.de --target train.en\n"
           "dragoman train train.yml\n"
           "dragoman train train.yml --set training.batch_tokens=8192 --set output=run2\n"
           "dragoman train train.yml --resume\n"
           "dragoman train train.yml --set training.optimizer=adafactor\n"
           "mpirun -np 4 dragoman train train.yml --set training.accumulate=4\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("config,c", po::value(&config_)->required()->value_name("FILE"),
                          "required: training configuration in YAML; docs/reference/commands.md explains every key")(
        "set", po::value(&assignments_)->value_name("KEY=VALUE")->composing(),
        "override a key of the file, such as training.schedule.warmup=2000 (may be repeated)")(
        "resume", po::bool_switch(&resume_),
        "continue from the last checkpoint of the output folder, as if there had been no interruption")(
        "fork", po::bool_switch(&fork_),
        "continue from the last checkpoint although keys that affect results have changed");
    kernel_times_.add_to(options);
    options.add_options()("dump-config", po::bool_switch(&dump_config_),
                          "print the configuration with every key and its value, and exit")(
        "threads", po::value(&threads_)->value_name("N"), "override the key threads; results do not depend on it")(
        "device", po::value(&device_)->value_name("NAME"),
        "override the key device: cpu, reference (slow, double precision), a device of a plugin, or auto; `doctor` "
        "lists them");
    add_collective_option(options, collective_);
    options.add_options()(
        "allow-commands", po::bool_switch(&allow_commands_),
        "allow the configuration to run programs (validation.metrics with a command); only for files that you trust");
    add_host_options(options, host_options_);
    po::options_description first = option_group("A first configuration");
    init_.add_to(first);
    options.add(first);
  }
  std::vector<std::string> positional() const override { return {"config"}; }
  std::vector<std::string> keys() const override { return training::known_keys(); }

  bool logs() const override { return true; }
  void run(const Session& session) override {
    init_.check();
    if (init_.wanted()) {
      if (resume_ || fork_ || dump_config_ || !assignments_.empty())
        throw UsageError("--init trains nothing; leave out --set, --resume, --fork and --dump-config");
      init_.write(config_, session);
      return;
    }
    plugins::Host host(host_options_);
    const collective::Launch launch = dump_config_ ? collective::Launch{} : launch_of(collective_, session.log);
    const auto ranks = host.join(launch);
    try {
      train(session, host, launch, *ranks);
    } catch (const core::Error& error) {
      ranks->abort(error.code(), error.what());
      if (ranks->alone()) throw;
      throw core::Error(error.code(), ranks->name_of(ranks->rank()) + ": " + error.what(), error.location());
    } catch (const std::exception& error) {
      ranks->abort(core::ErrorCode::kInternal, error.what());
      throw;
    }
  }

 private:
  void train(const Session& session, plugins::Host& host, const collective::Launch& launch,
             collective::Collective& ranks) const {
    training::TrainingConfig config = training::read_training_config(configuration(session.stop), config_);
    config.device = device_of_rank(config.device, ranks, host);
    if (config.threads == 0) config.threads = share_of_threads(ranks);
    const training::TrainConfig& recipe = config.training;
    const tensor::Device device =  // loads the plugin that provides it
        host.device(config.device,
                    {.batch_invariant = recipe.batch_invariant,
                     .memory = recipe.device_memory,
                     .kernel_times = kernel_times_.wanted()},
                    ranks.leads() ? session.log : core::LogSink());
    if (config.device == runtime::kAutoDevice && ranks.leads())
      session.log(core::LogLevel::kInfo, fmt::format("device {}", tensor::name_of(device)));
    training::TrainerEnvironment environment = training::make_environment(host);
    if (dump_config_) {
      fmt::print("{}\n", core::dump_yaml(training::resolved_configuration(config, environment)));
      return;
    }
    require_allowed_commands(config);
    const auto links = host.link(launch, ranks, device, ranks.leads() ? session.log : core::LogSink(), session.stop);
    environment.allow_commands = allow_commands_;
    environment.ranks = &ranks;
    environment.links = links.get();
    if (ranks.leads()) {
      environment.log = session.log;
      environment.progress = session.progress;
    }
    environment.build["dragoman"] = kVersion;
    training::Trainer trainer(config, std::move(environment), start_mode(), session.stop);
    session.saves_work_from_now();
    const training::TrainingSummary summary = trainer.run(session.stop);
    if (ranks.leads()) session.log(core::LogLevel::kInfo, describe(summary));
    if (kernel_times_.wanted()) KernelTimesOption::log_times(session.log, host, device);
  }

  void require_allowed_commands(const training::TrainingConfig& config) const {
    if (allow_commands_) return;
    for (const std::string& command : training::commands_of(config))
      core::fail(
          core::ErrorCode::kBadInput,
          "{}: validation.metrics: a metric runs a program ({}); pass --allow-commands if you trust the file, or "
          "leave the metric out",
          config_, core::printable(command, 200));
  }

  /// If a machine has several devices of a kind, each of its processes takes one.
  static std::string device_of_rank(const std::string& name, const collective::Collective& ranks, plugins::Host& host) {
    if (ranks.alone() || name.find(':') != std::string::npos) return name;
    const tensor::Device device = host.device(name);
    const int count = host.runtime().backend(device).device_count();
    if (count < 2) return name;
    return tensor::name_of(tensor::Device::of(device.backend(), ranks.local_rank() % count));
  }

  /// Processes that may use the same cores of a machine divide them. A process with its own cores, as with mpirun,
  /// takes all of them.
  static int share_of_threads(collective::Collective& ranks) {
    if (ranks.alone()) return 0;
    const std::vector<std::string> all = ranks.gather_texts(ranks.host_of(ranks.rank()) + "\n" + allowed_cores());
    const auto sharing = std::ranges::count(all, all[static_cast<std::size_t>(ranks.rank())]);
    return std::max(1, core::default_threads() / static_cast<int>(sharing));
  }

  static std::string allowed_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    std::string text;
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return text;
    for (int core = 0; core < CPU_SETSIZE; ++core) text += CPU_ISSET(core, &cores) ? '1' : '0';
    return text;
  }

  core::Json configuration(const std::stop_token& stop) const {
    core::Json tree = core::load_yaml(config_, stop);
    for (const std::string& assignment : assignments_) core::set_option(tree, assignment, "--set ");
    if (!threads_.empty()) core::set_option(tree, "threads=" + threads_);
    if (!device_.empty()) core::set_option(tree, "device=" + device_);
    return tree;
  }

  training::StartMode start_mode() const {
    if (fork_) return training::StartMode::kFork;
    return resume_ ? training::StartMode::kResume : training::StartMode::kFresh;
  }

  static std::string describe(const training::TrainingSummary& summary) {
    std::string text = fmt::format("trained {} updates, {} whole epochs{}", summary.updates, summary.epochs,
                                   summary.stopped_early ? ", stopped early" : "");
    if (summary.best)
      text +=
          fmt::format("; best at update {} with {} {:.4f}", summary.best->update, summary.metric, summary.best->value);
    if (summary.average) text += fmt::format("; the mean of checkpoints has {:.4f}", *summary.average);
    return text + "; model: " + summary.model.string();
  }

  std::string config_;
  std::vector<std::string> assignments_;
  bool resume_ = false;
  bool fork_ = false;
  bool dump_config_ = false;
  bool allow_commands_ = false;
  KernelTimesOption kernel_times_;
  InitOptions init_;
  std::string threads_;
  std::string device_;
  std::string collective_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace dragoman::cli
