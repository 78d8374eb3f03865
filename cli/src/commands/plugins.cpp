#include "options/host_options.h"
#include "program/command.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/pipeline/stage_options.h>
#include <dragoman/plugins/conformance.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

/// As fs::remove_all(), but with one file descriptor instead of one per level of the tree.
void remove_tree(const fs::path& folder) {
  std::vector<fs::path> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i)
    for (const fs::path& entry : core::list_folder(folders[i]))
      if (fs::is_directory(fs::symlink_status(entry)))
        folders.push_back(entry);
      else
        fs::remove(entry);
  for (auto at = folders.rbegin(); at != folders.rend(); ++at) fs::remove(*at);
}

/// A separate folder in the system's temporary folder, removed with its content.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    core::require(!error, core::ErrorCode::kIo,
                  "there is no folder for temporary files ({}); set TMPDIR to a folder that can be written",
                  error.message());
    std::string name = (parent / "dragoman-plugins-XXXXXX").string();
    core::require(::mkdtemp(name.data()) != nullptr, core::ErrorCode::kIo,
                  "cannot make a temporary folder like {}; set TMPDIR to a folder that can be written", name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    try {
      remove_tree(path_);
    } catch (...) {
      // Files that cannot be removed remain in the folder for temporary files; memory may also run out.
    }
  }
  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

void print_entry(std::string_view kind, std::string_view name, std::string_view provider, std::string_view summary) {
  fmt::print("{:<18} {:<16} {:<12} {}\n", kind, name, provider, summary);
}

template <class Entry>
void print_catalogue(const plugins::Catalogue<Entry>& catalogue) {
  for (const auto& registered : catalogue.all())
    print_entry(catalogue.kind(), registered->entry.name, registered->provider, registered->entry.summary);
}

/// Prints the built-in stages, then those of plugins.
void print_stages(const plugins::Registry& registry) {
  for (const pipeline::BuiltInStage& stage : pipeline::built_in_stages())
    print_entry(registry.stages().kind(), stage.name, plugins::kBuiltin, stage.summary);
  print_catalogue(registry.stages());
}

void print_backends(const plugins::Host& host) {
  const auto& of_plugins = host.registry().backends();
  for (const auto& backend : host.runtime().backends()) {
    const auto found = std::ranges::find(of_plugins, backend->name(), &plugins::Registry::Backend::name);
    print_entry("backend", backend->name(), found == of_plugins.end() ? plugins::kBuiltin : found->provider,
                fmt::format("--device {}", backend->name()));
  }
}

void print_registered(const plugins::Host& host) {
  const plugins::Registry& registry = host.registry();
  print_catalogue(registry.models());
  print_catalogue(registry.search_strategies());
  print_catalogue(registry.logits_processors());
  print_catalogue(registry.tokenizers());
  print_stages(registry);
  print_catalogue(registry.model_importers());
  print_catalogue(registry.collectives());
  print_catalogue(registry.device_links());
  print_backends(host);
  for (const plugins::Registry::Kernel& kernel : registry.kernels())
    print_entry("kernel", kernel.op, kernel.provider, fmt::format("on {}", kernel.backend));
}

/// Prints the loaded plugins, then those that can be loaded by name.
void print_plugins(const plugins::PluginLoader& loader) {
  for (const auto& plugin : loader.loaded())
    print_entry("plugin", plugin->name, plugin->toolkit_version,
                fmt::format("{}, {}", plugin->licence, plugin->file.string()));
  std::vector<fs::path> installed;
  if (fs::exists(loader.folder()))
    for (const fs::directory_entry& file : fs::directory_iterator(loader.folder()))
      if (file.path().extension() == ".so") installed.push_back(file.path());
  std::ranges::sort(installed);
  for (const fs::path& file : installed)
    if (loader.find(file.stem().string()) == nullptr)
      print_entry("installed plugin", file.stem().string(), "not loaded", file.string());
}

class Plugins final : public Command {
 public:
  std::string_view name() const override { return "plugins"; }
  std::string_view summary() const override {
    return "list: show everything that is registered; check PLUGIN: run the conformance kit on everything that it "
           "registers";
  }
  std::string_view examples() const override {
    return "dragoman plugins list\n"
           "dragoman plugins check ./myplugin.so\n";
  }
  std::vector<std::string> positional() const override { return {"action", "target"}; }

  void add_options(po::options_description& options) override {
    options.add_options()("action", po::value(&action_)->required()->value_name("ACTION"), "required: list or check")(
        "target", po::value(&target_)->value_name("PLUGIN"),
        "check: a plugin's file, the name of an installed plugin, or `dragoman` for the built-in parts");
    add_host_options(options, host_options_);
  }

  void run(const Session& session) override {
    if (action_ == "list" && target_.empty()) return list();
    if (action_ == "check" && !target_.empty()) return check(session);
    throw UsageError("use `plugins list` or `plugins check FILE.so|NAME`");
  }

 private:
  void list() const {
    const plugins::Host host(host_options_);
    print_registered(host);
    print_plugins(host.loader());
  }

  void check(const Session& session) const {
    plugins::Host host(host_options_);
    const std::string provider = target_ == plugins::kBuiltin ? target_ : host.loader().load(target_).name;
    const ScratchFolder scratch;
    const std::vector<plugins::Verdict> verdicts = plugins::check_provider(
        host, provider, {.scratch_folder = scratch.path(), .progress = session.progress, .stop = session.stop});
    for (const plugins::Verdict& verdict : verdicts)
      fmt::print("{}  {:<14} {:<10} {:<19} {}\n", verdict.passed ? "ok  " : "FAIL", verdict.subject, verdict.device,
                 verdict.check, verdict.detail);
    conclude(verdicts, provider);
  }

  static void conclude(const std::vector<plugins::Verdict>& verdicts, const std::string& provider) {
    const auto failed = std::ranges::count(verdicts, false, &plugins::Verdict::passed);
    core::require(failed == 0, core::ErrorCode::kBadInput,
                  "{}: {} of {} checks failed; docs/guides/plugins.md explains each", provider, failed,
                  verdicts.size());
    if (verdicts.empty())
      fmt::print("{} loads and registers; it brings no model or op to check\n", provider);
    else
      fmt::print("{}: all {} checks passed\n", provider, verdicts.size());
  }

  std::string action_;
  std::string target_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_plugins() {
  return std::make_unique<Plugins>();
}

}  // namespace dragoman::cli
