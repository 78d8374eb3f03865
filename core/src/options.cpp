#include "dragoman/core/options.h"

#include "dragoman/core/file.h"
#include "dragoman/core/quote.h"
#include "tree_builder.h"

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

/// Makes the tree from the parser's events; see TreeBuilder. Of equal keys the last one's value stands at the place of
/// the first, as in JavaScript.
class JsonReader final : public nlohmann::json_sax<Json> {
 public:
  JsonReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}
  Json take() { return builder_.take(); }

  bool null() override { return value(nullptr); }
  bool boolean(bool value_read) override { return value(value_read); }
  bool number_integer(std::int64_t number) override { return value(number); }
  bool number_unsigned(std::uint64_t number) override { return value(number); }
  bool number_float(double number, const std::string&) override { return value(number); }
  bool string(std::string& text) override { return value(std::move(text)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool key(std::string& name) override {
    builder_.key(std::move(name));
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.begin_array();
    return true;
  }
  bool start_object(std::size_t) override {
    builder_.begin_object();
    return true;
  }
  bool end_array() override {
    builder_.end();
    return true;
  }
  bool end_object() override {
    merge_repeated_keys();
    builder_.end();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    fail(ErrorCode::kBadInput, "{}: not valid JSON at {}: {}", name_, place_of(text_, position == 0 ? 0 : position - 1),
         error.what());
  }

 private:
  bool value(Json leaf) {
    builder_.value(std::move(leaf));
    return true;
  }

  void merge_repeated_keys() {
    auto& entries = builder_.entries();
    const std::vector<std::size_t> order = sorted_by_key(entries);
    std::vector<bool> repeated(entries.size(), false);
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (entries[order[i]].first != entries[order[first]].first) {
        first = i;
        continue;
      }
      entries[order[first]].second = std::move(entries[order[i]].second);
      repeated[order[i]] = true;
    }
    std::size_t i = 0;
    std::erase_if(entries, [&](const TreeBuilder::Entry&) { return repeated[i++]; });
  }

  std::string_view text_;
  const std::string& name_;
  TreeBuilder builder_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  require_shallow(text, name);
  JsonReader reader(text, name);
  Json::sax_parse(text, &reader);
  return reader.take();
}

Json load_json(const std::string& path) {
  return parse_json(read_regular_file(path, std::uint64_t{256} << 20), path);
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
    fail(ErrorCode::kBadInput, "{}: unknown key {}{}", where_, quote(key),
         nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest));
  }
}

void OptionReader::wrong_type(std::string_view key, const Json& value, std::string_view wanted) const {
  constexpr std::size_t kShown = 60;
  const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  fail(ErrorCode::kBadInput, "{}: {} must be {}, not {}", where_, key, wanted, printable(shown, kShown));
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};  // the distance takes the product of the lengths
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
