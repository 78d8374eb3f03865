#include "dragoman/plugins/plugin_loader.h"

#include "dragoman/plugins/plugin_note.h"
#include "fingerprint_difference.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <dlfcn.h>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/plugins/fingerprint.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
/// No valid text in a descriptor is longer, so an invalid pointer is detected.
constexpr std::size_t kLongestText = 4096;

bool is_file_name(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".so");
}

bool is_bare_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::string last_loader_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

[[noreturn]] void refuse_sdk(const std::string& difference, const std::string& file) {
  core::fail(ErrorCode::kBadInput,
             "{}: the plugin was built for another SDK ({}); rebuild it against this installation", file, difference);
}

/// Runs before the library is opened, because opening runs its constructors.
void check_note(const std::filesystem::path& file) {
  const std::optional<PluginNote> note = read_plugin_note(file);
  core::require(note.has_value(), ErrorCode::kBadInput,
                "{}: is a shared library but no Dragoman plugin, or one of an older SDK: it has no note that says what "
                "it is; use DRAGOMAN_PLUGIN in it, and build it against this installation",
                file.string());
  if (const std::string difference = note->sdk_difference(); !difference.empty()) refuse_sdk(difference, file.string());
}

void check_text(const char* text, std::string_view field, const std::string& file) {
  core::require(text != nullptr && strnlen(text, kLongestText) < kLongestText, ErrorCode::kBadInput,
                "{}: the {} in the plugin's descriptor is missing or too long; rebuild the plugin", file, field);
}

const PluginDescriptor* query(const std::filesystem::path& file) {
  // RTLD_LOCAL: the symbols of one plugin are not visible to the next. RTLD_NOW: missing symbols are reported now.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    core::fail(ErrorCode::kBadInput, "{}: cannot be loaded as a shared library: {}", file.string(),
               last_loader_error());
  void* symbol = dlsym(library, kPluginQueryName);
  core::require(symbol != nullptr, ErrorCode::kBadInput,
                "{}: has a plugin's note but is no plugin: it does not export {}(); use DRAGOMAN_PLUGIN in it",
                file.string(), kPluginQueryName);
  return reinterpret_cast<PluginQuery>(symbol)();
}

Contributions run_registration(const PluginDescriptor& descriptor, const std::string& file) {
  Registrar registrar;
  try {
    descriptor.register_plugin(registrar);
  } catch (const std::exception& error) {
    core::fail(ErrorCode::kBadInput, "{}: the plugin '{}' failed to register and was left out: {}", file,
               descriptor.name, error.what());
  } catch (...) {
    core::fail(ErrorCode::kBadInput,
               "{}: the plugin '{}' failed to register and was left out: it threw something unknown", file,
               descriptor.name);
  }
  return registrar.take();
}

}  // namespace

void check_descriptor(const PluginDescriptor* descriptor, const std::string& file) {
  core::require(descriptor != nullptr, ErrorCode::kBadInput,
                "{}: the plugin's query returned no descriptor; rebuild the plugin", file);
  core::require(descriptor->struct_size >= sizeof(PluginDescriptor), ErrorCode::kBadInput,
                "{}: the plugin's descriptor has {} bytes where {} are needed: it was built for an older Dragoman; "
                "rebuild it",
                file, descriptor->struct_size, sizeof(PluginDescriptor));
  core::require(descriptor->magic == kPluginMagic, ErrorCode::kBadInput,
                "{}: the descriptor begins with {:#x}, not {:#x}: this is no Dragoman plugin", file, descriptor->magic,
                kPluginMagic);
  check_text(descriptor->fingerprint, "fingerprint", file);
  const std::string difference = fingerprint_difference(descriptor->fingerprint, kFingerprint);
  if (!difference.empty()) refuse_sdk(difference, file);
  check_text(descriptor->toolkit_version, "toolkit version", file);
  check_text(descriptor->name, "name", file);
  check_text(descriptor->licence, "licence", file);
  core::require(is_bare_name(descriptor->name), ErrorCode::kBadInput,
                "{}: '{}' cannot be the name of a plugin: use letters, digits, '-' and '_'", file, descriptor->name);
  core::require(descriptor->register_plugin != nullptr, ErrorCode::kBadInput,
                "{}: the plugin '{}' has no register function; rebuild the plugin", file, descriptor->name);
}

PluginLoader::PluginLoader(Registry& registry, std::filesystem::path folder)
    : registry_(&registry), folder_(std::move(folder)) {}

const LoadedPlugin* PluginLoader::find(std::string_view name) const {
  const auto& loaded = loaded_.get();
  const auto found = std::ranges::find_if(loaded, [&](const auto& plugin) { return plugin->name == name; });
  return found == loaded.end() ? nullptr : found->get();
}

bool PluginLoader::is_installed(const std::string& name) const {
  std::error_code ignored;
  return is_bare_name(name) && !folder_.empty() && std::filesystem::exists(folder_ / (name + ".so"), ignored);
}

std::filesystem::path PluginLoader::installed_file(const std::string& name) const {
  core::require(is_bare_name(name), core::ErrorCode::kInvalidArgument,
                "{} is neither a file nor the name of a plugin (letters, digits, '-' and '_')", core::Quoted{name});
  core::require(!folder_.empty(), core::ErrorCode::kInvalidArgument,
                "the plugin {} is wanted by name, but no folder of installed plugins is known; give its file",
                core::Quoted{name});
  std::filesystem::path file = folder_ / (name + ".so");
  core::require_option(std::filesystem::exists(file), "plugin", core::ErrorCode::kIo,
                       "the plugin {} is not installed: there is no {}; give its file with `plugin`",
                       core::Quoted{name}, core::printable(file.string(), 300));
  return file;
}

const LoadedPlugin& PluginLoader::load(const std::string& file_or_name) {
  const std::lock_guard lock(loading_);
  return load_locked(file_or_name);
}

const LoadedPlugin& PluginLoader::load_locked(const std::string& file_or_name) {
  if (!is_file_name(file_or_name)) return load_file(installed_file(file_or_name), file_or_name);
  const std::filesystem::path file = std::filesystem::absolute(file_or_name);
  core::require(std::filesystem::exists(file), core::ErrorCode::kIo, "{}: there is no such plugin file", file_or_name);
  return load_file(file, {});
}

const LoadedPlugin& PluginLoader::require_plugin(const std::string& name) {
  core::require(is_bare_name(name), core::ErrorCode::kInvalidArgument,
                "{} is not the name of a plugin (letters, digits, '-' and '_')", core::Quoted{name});
  if (const LoadedPlugin* loaded = find(name)) return *loaded;
  const std::lock_guard lock(loading_);
  const LoadedPlugin* loaded = find(name);  // another thread may have loaded it in the meantime
  return loaded != nullptr ? *loaded : load_locked(name);
}

const LoadedPlugin& PluginLoader::load_file(const std::filesystem::path& file, const std::string& expected_name) {
  check_note(file);
  const PluginDescriptor* descriptor = query(file);
  check_descriptor(descriptor, file.string());
  core::require(expected_name.empty() || expected_name == descriptor->name, ErrorCode::kBadInput,
                "{}: holds the plugin '{}', not '{}' as its file name says", file.string(), descriptor->name,
                expected_name);
  const LoadedPlugin* twin = find(descriptor->name);
  core::require(twin == nullptr && std::string_view(descriptor->name) != kBuiltin, ErrorCode::kBadInput,
                "{}: a plugin called '{}' is there already, from {}", file.string(), descriptor->name,
                twin == nullptr ? "Dragoman itself" : twin->file.string());
  auto plugin = std::make_shared<const LoadedPlugin>(
      LoadedPlugin{descriptor->name, descriptor->licence, descriptor->toolkit_version, file});
  Contributions contributions = run_registration(*descriptor, file.string());
  try {
    registry_->add(plugin->name, std::move(contributions));
  } catch (const core::Error& error) {
    core::fail(ErrorCode::kBadInput, "{}: the plugin '{}' was left out: {}", file.string(), plugin->name, error.what());
  }
  loaded_.update([&](auto& loaded) { loaded.push_back(plugin); });
  return *plugin;
}

}  // namespace dragoman::plugins
