#include "dragoman/core/options.h"

#include "dragoman/core/file.h"

#include <algorithm>
#include <numeric>

namespace dragoman::core {
namespace {

const Json kNull;
const Json kEmptyObject = Json::object();

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string place_of(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
  const auto start = text.substr(0, byte).rfind('\n');
  const auto column = start == std::string_view::npos ? byte + 1 : byte - start;
  return fmt::format("line {}, column {}", line, column);
}

/// Printing, copying and comparing a tree recurse once per level: a hostile file must not exhaust the stack.
void require_shallow(std::string_view text, const std::string& name) {
  constexpr int kDeepest = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
    if (depth > kDeepest)
      fail(ErrorCode::kBadInput, "{}: nested deeper than {} levels at {}", name, kDeepest, place_of(text, i));
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  require_shallow(text, name);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    fail(ErrorCode::kBadInput, "{}: not valid JSON at {}: {}", name,
         place_of(text, error.byte == 0 ? 0 : error.byte - 1), error.what());
  } catch (const nlohmann::json::exception& error) {  // such as a number that no double can hold
    fail(ErrorCode::kBadInput, "{}: not valid JSON: {}", name, error.what());
  }
}

Json load_json(const std::string& path) {
  return parse_json(read_file(path, std::uint64_t{256} << 20), path);
}

OptionReader::OptionReader(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (object.is_null()) object_ = &kEmptyObject;
  require(object_->is_object(), ErrorCode::kBadInput, "{}: expected keys and values, not {}", where_,
          object.type_name());
}

const Json* OptionReader::find(std::string_view key) {
  read_.emplace(key);
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const Json& OptionReader::subtree(std::string_view key) {
  const Json* value = find(key);
  return value == nullptr ? kNull : *value;
}

OptionReader OptionReader::child(std::string_view key) {
  return OptionReader(subtree(key), fmt::format("{}: {}", where_, key));
}

void OptionReader::check(bool condition, std::string_view key, std::string_view message) const {
  require(condition, ErrorCode::kBadInput, "{}: {}: {}", where_, key, message);
}

void OptionReader::finish() const {
  for (const auto& [key, value] : object_->items()) {
    if (read_.contains(key)) continue;
    const std::string nearest = nearest_name(key, {read_.begin(), read_.end()});
    fail(ErrorCode::kBadInput, "{}: unknown key '{}'{}", where_, key,
         nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest));
  }
}

void OptionReader::wrong_type(std::string_view key, const Json& value, std::string_view wanted) const {
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  fail(ErrorCode::kBadInput, "{}: {} must be {}, not {}", where_, key, wanted, shown);
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace dragoman::core
