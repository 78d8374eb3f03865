#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/option_error.h>

namespace dragoman::cli {
namespace {

std::string without(std::string_view message, std::string_view reader) {
  const std::string prefix = fmt::format("{}: ", reader);
  return std::string(message.starts_with(prefix) ? message.substr(prefix.size()) : message);
}

}  // namespace

UsageError::UsageError(const core::Error& error, std::string_view reader)
    : std::runtime_error(without(error.what(), reader)), option_(core::option_of(error)) {}

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_learn_bpe());
  commands.push_back(make_learn_unigram());
  commands.push_back(make_count_words());
  commands.push_back(make_detect());
  commands.push_back(make_learn_detector());
  commands.push_back(make_prepare());
  commands.push_back(make_encode());
  commands.push_back(make_decode());
  commands.push_back(make_convert());
  commands.push_back(make_verify());
  commands.push_back(make_vocab());
  commands.push_back(make_train());
  commands.push_back(make_report());
  commands.push_back(make_translate());
  commands.push_back(make_score());
  commands.push_back(make_rerank());
  commands.push_back(make_embed());
  commands.push_back(make_align());
  commands.push_back(make_shortlist());
  commands.push_back(make_evaluate());
  commands.push_back(make_run());
  commands.push_back(make_serve());
  commands.push_back(make_average());
  commands.push_back(make_quantize());
  commands.push_back(make_tune());
  commands.push_back(make_inspect());
  commands.push_back(make_plugins());
  commands.push_back(make_doctor());
  commands.push_back(make_reference());
  return commands;
}

}  // namespace dragoman::cli
