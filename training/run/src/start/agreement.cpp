#include "start/agreement.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/json.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {
namespace {

using core::Json;

std::string fingerprint_of(const RunParts& run) {
  const tensor::Tensor flat = run.model->parameters().flat_values();
  const auto view = tensor::HostView::of(run.context->memory(), flat);
  const auto* bytes = static_cast<const char*>(view.tensor().data);
  return hexadecimal(core::fingerprint({bytes, tensor::bytes_of(flat)}));
}

/// Returns the configuration without settings that may differ between machines: paths of files (their content is
/// compared), threads, devices.
Json comparable_configuration(const Json& record) {
  Json configuration = record["configuration"];
  for (const char* key : {"output", "threads", "device"}) configuration.erase(key);
  for (const char* key : {"train", "validation", "tokenizer", "embeddings", "cache"}) configuration["data"].erase(key);
  configuration["model"].erase("from");
  return configuration;
}

Json description(const RunParts& run, const TrainingState& state, StartMode mode) {
  constexpr std::array kModes = {"fresh", "resume", "fork"};
  Json data = run.record["data"];
  data.erase("validation");  // only rank 0 reads it
  Json build = run.environment.build;
  // Excludes the number of the device.
  const std::string device = tensor::name_of(run.device);
  build["device"] = {{"kind", std::string(run.device.backend())}, {"computes with", build.value(device, Json())}};
  build.erase(device);
  Json all = comparable_configuration(run.record);
  all["content of the data"] = std::move(data);
  all["build"] = std::move(build);
  all["start"] = kModes.at(static_cast<std::size_t>(mode));
  all["checkpoint at"] = {{"update", state.update}, {"epoch", state.epoch}, {"batch", state.batch}};
  all["sum of the parameters"] = fingerprint_of(run);
  return all;
}

/// Converts "/training/seed" to training.seed, the form that users know.
std::string key_of(const std::string& pointer) {
  std::string key = pointer.substr(1);
  std::ranges::replace(key, '/', '.');
  return key;
}

/// Returns "training.seed is 7 and not 1", with as many differences as fit into a message.
std::string describe_differences(const Json& first, const Json& other) {
  constexpr int kMax = 5;
  const Json expected = first.flatten(), found = other.flatten();
  std::string text;
  int count = 0;
  const auto add = [&](const std::string& key) {
    const Json here = found.value(key, Json("absent")), there = expected.value(key, Json("absent"));
    if (here == there || ++count > kMax) return;
    text += fmt::format("{}{} is {} and not {}", text.empty() ? "" : "; ", key_of(key), core::one_line(here),
                        core::one_line(there));
  };
  for (const auto& [key, value] : expected.items()) add(key);
  for (const auto& [key, value] : found.items())
    if (!expected.contains(key)) add(key);
  if (count > kMax) text += fmt::format("; and {} more", count - kMax);
  return text;
}

}  // namespace

void require_agreement(const RunParts& run, const TrainingState& state, StartMode mode) {
  const collective::Collective& ranks = *run.ranks;
  if (ranks.alone()) return;
  const std::vector<std::string> all = run.ranks->gather_texts(description(run, state, mode).dump());
  const Json first = core::parse_json(all.front(), ranks.name_of(0));
  for (int r = 1; r < ranks.size(); ++r) {
    const std::string& text = all[static_cast<std::size_t>(r)];
    if (text == all.front()) continue;
    const Json other = core::parse_json(text, ranks.name_of(r));
    core::fail(core::ErrorCode::kBadInput,
               "{} is about to train otherwise than {}: {}; start all processes with the same program, configuration "
               "and data",
               ranks.name_of(r), ranks.name_of(0), describe_differences(first, other));
  }
}

NextStep share_decision(collective::Collective& ranks, RunProgress& progress, const std::function<NextStep()>& decide) {
  if (ranks.alone()) return decide();
  if (ranks.leads()) {
    const NextStep next = decide();
    progress.state.early_stopping = progress.early_stopping.save();
    ranks.broadcast_text(Json{{"next", static_cast<int>(next)}, {"state", to_json(progress.state)}}.dump());
    return next;
  }
  const std::string where = ranks.name_of(0);
  const Json decision = core::parse_json(ranks.broadcast_text({}), where);
  progress.state = read_training_state(decision.at("state"), where);
  progress.early_stopping.restore(progress.state.early_stopping, where);
  return static_cast<NextStep>(decision.at("next").get<int>());
}

}  // namespace dragoman::training
