#include "dragoman/plugins/conformance.h"

#include "checks.h"
#include "extension_checks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace dragoman::plugins {
namespace {

/// The devices that a check runs on.
enum class Where { kReference, kEverywhere, kBesidesReference };

struct Check {
  CheckDescription description;
  Where where;
  Finding (*run)(const Bench&);
};

constexpr std::array kChecks = {
    Check{{"finite-differences", "the backward pass is the derivative of the forward pass"},
          Where::kReference,
          check_finite_differences},
    Check{{"every-parameter", "the backward pass reaches every parameter"}, Where::kReference, check_every_parameter},
    Check{{"cached-steps", "decoding token by token gives the states of the whole pass"},
          Where::kEverywhere,
          check_cached_steps},
    Check{{"forced-prefix", "so does a step of several tokens at once"}, Where::kEverywhere, check_forced_prefix},
    Check{{"batch-invariance", "a sentence's states have the same bits alone and among others"},
          Where::kEverywhere,
          check_batch_invariance},
    Check{{"refill", "and while other sentences come and go"}, Where::kEverywhere, check_refill},
    Check{{"beam-order", "a hypothesis continues its parent, whatever row it is in"},
          Where::kEverywhere,
          check_beam_order},
    Check{{"causality", "a later target token changes no earlier state"}, Where::kEverywhere, check_causality},
    Check{{"dependence", "every source token and every target token so far matters"},
          Where::kReference,
          check_dependence},
    Check{{"training-mode", "training without dropout computes what translation computes"},
          Where::kEverywhere,
          check_training_mode},
    Check{{"determinism", "every run and every number of threads gives the same bits"},
          Where::kEverywhere,
          check_determinism},
    Check{{"round-trip", "saved and loaded, the model gives the same bits"}, Where::kEverywhere, check_round_trip},
    Check{
        {"alignment", "alignments are distributions and the same in both modes"}, Where::kEverywhere, check_alignment},
    Check{{"device", "states, loss and gradients are those of the reference backend"},
          Where::kBesidesReference,
          check_device},
};

/// Returns the first device of each kind, starting with the reference.
std::vector<tensor::Device> devices_of(const runtime::Runtime& runtime) {
  std::vector<tensor::Device> devices{tensor::Device::kReference};
  for (const tensor::Device device : runtime.devices())
    if (device != tensor::Device::kReference && device.number() == 0) devices.push_back(device);
  return devices;
}

bool applies(Where where, tensor::Device device) {
  const bool reference = device == tensor::Device::kReference;
  return where == Where::kEverywhere || (where == Where::kReference) == reference;
}

Finding run_guarded(const Check& check, const Bench& bench) {
  try {
    return check.run(bench);
  } catch (const std::exception& error) {
    return {false, fmt::format("the model threw: {}", error.what())};
  }
}

template <class Entry>
std::vector<const Entry*> entries_of(const Catalogue<Entry>& catalogue, const std::string& provider) {
  std::vector<const Entry*> entries;
  for (const auto& known : catalogue.all())
    if (known->provider == provider) entries.push_back(&known->entry);
  return entries;
}

void append(std::vector<Verdict>& verdicts, const std::vector<Verdict>& more) {
  verdicts.insert(verdicts.end(), more.begin(), more.end());
}

/// Compares the kernels of the provider's ops with the required ones.
std::vector<Verdict> check_kernels(const Host& host, const std::string& provider) {
  std::vector<std::string> ops;
  const std::vector<Registry::Kernel>& kernels = host.registry().kernels();
  for (const Registry::Kernel& kernel : kernels)
    if (kernel.provider == provider && std::ranges::find(ops, kernel.op) == ops.end()) ops.push_back(kernel.op);
  std::vector<Verdict> verdicts;
  for (const std::string& op : ops) {
    for (const tensor::Device device : devices_of(host.runtime())) {
      const bool present = std::ranges::any_of(kernels, [&](const Registry::Kernel& kernel) {
        return kernel.op == op && kernel.backend == device.backend();
      });
      verdicts.push_back({op, tensor::name_of(device), "kernel", present,
                          present ? "registered" : "missing: models that use the op do not run here"});
    }
  }
  return verdicts;
}

void require_not_stopped(const ConformanceOptions& options) {
  core::require(!options.stop.stop_requested(), core::ErrorCode::kInterrupted, "interrupted; not all was checked");
}

}  // namespace

Finding judge(const Distance& found, double allowed, std::string_view what, std::string_view fault) {
  const bool passed = found.value <= allowed;
  const std::string numbers =
      allowed == 0
          ? fmt::format("{}: {}", what,
                        passed ? "equal bits" : fmt::format("differ by {:.3g} in row {}", found.value, found.row))
          : fmt::format("{}: {:.3g} apart where {:.0e} is allowed", what, found.value, allowed);
  return {passed, passed ? numbers : fmt::format("{}; {}", numbers, fault)};
}

std::vector<CheckDescription> conformance_checks() {
  std::vector<CheckDescription> descriptions;
  for (const Check& check : kChecks) descriptions.push_back(check.description);
  return descriptions;
}

std::vector<Verdict> check_model(const Host& host, const ModelEntry& model, const ConformanceOptions& options) {
  std::vector<Verdict> verdicts;
  const std::vector<tensor::Device> devices = devices_of(host.runtime());
  for (const tensor::Device device : devices) {
    const Bench bench{model, host.runtime(), device, options.scratch_folder};
    for (const Check& check : kChecks) {
      if (!applies(check.where, device)) continue;
      require_not_stopped(options);
      core::report(options.progress, {.stage = fmt::format("check {} on {}", model.name, tensor::name_of(device)),
                                      .done = verdicts.size(),
                                      .total = devices.size() * kChecks.size(),
                                      .unit = "checks",
                                      .figures = {}});
      const Finding finding = run_guarded(check, bench);
      verdicts.push_back(
          {model.name, tensor::name_of(device), std::string(check.description.name), finding.passed, finding.detail});
    }
  }
  return verdicts;
}

std::vector<Verdict> check_provider(Host& host, const std::string& provider, const ConformanceOptions& options) {
  std::vector<Verdict> verdicts = check_kernels(host, provider);
  for (const ModelEntry* model : entries_of(host.registry().models(), provider))
    append(verdicts, check_model(host, *model, options));
  const auto check_each = [&](const auto& entries, const auto& check) {
    for (const auto* entry : entries) {
      require_not_stopped(options);
      append(verdicts, check(*entry));
    }
  };
  const Registry& registry = host.registry();
  check_each(entries_of(registry.search_strategies(), provider),
             [&](const SearchStrategyEntry& entry) { return check_search_strategy(host, entry); });
  check_each(entries_of(registry.logits_processors(), provider),
             [&](const LogitsProcessorEntry& entry) { return check_logits_processor(host, entry); });
  check_each(entries_of(registry.tokenizers(), provider), check_tokenizer);
  check_each(entries_of(registry.stages(), provider),
             [](const StageEntry& entry) { return std::vector<Verdict>{check_stage(entry)}; });
  check_each(entries_of(registry.model_importers(), provider), [&](const ModelImporterEntry& entry) {
    return check_model_importer(host, entry, options.scratch_folder);
  });
  return verdicts;
}

}  // namespace dragoman::plugins
