#include "dragoman/core/unknown_key.h"

#include "dragoman/core/name_hints.h"
#include "dragoman/core/quote.h"

#include <utility>

#include <fmt/format.h>

namespace dragoman::core {
namespace {

std::string message_of(const std::string& where, const std::string& key, std::string_view scope,
                       const std::vector<std::string>& known) {
  return fmt::format("{}: unknown key {}{}", where, quote(key), did_you_mean(key, scope, known));
}

/// Returns the path of a section: `train.yml: training: schedule` with the root `train.yml` is training.schedule.
std::string scope_of(std::string_view where, std::string_view root) {
  constexpr std::string_view kBetween = ": ";
  if (!where.starts_with(root)) return {};
  where.remove_prefix(root.size());
  std::string scope;
  while (where.starts_with(kBetween)) {
    where.remove_prefix(kBetween.size());
    const std::string_view part = where.substr(0, where.find(kBetween));
    if (!scope.empty()) scope += '.';
    scope += part;
    where.remove_prefix(part.size());
  }
  return scope;
}

}  // namespace

UnknownKey::UnknownKey(std::string where, const std::string& key, std::vector<std::string> known)
    : OptionError(ErrorCode::kBadInput, message_of(where, key, {}, known), key),
      where_(std::move(where)),
      known_(std::move(known)) {}

UnknownKey::~UnknownKey() = default;

std::string describe_unknown_key(const UnknownKey& error, std::string_view scope,
                                 const std::vector<std::string>& known) {
  return message_of(error.where(), error.key(), scope, known);
}

void rethrow_with_all_keys(const UnknownKey& error, std::string_view root, std::vector<std::string> all) {
  const std::string scope = scope_of(error.where(), root);
  for (const std::string& own : error.known()) all.push_back(scope.empty() ? own : fmt::format("{}.{}", scope, own));
  fail_option(error.option(), ErrorCode::kBadInput, "{}", describe_unknown_key(error, scope, all));
}

}  // namespace dragoman::core
