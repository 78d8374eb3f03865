#include "dragoman/core/json.h"

#include "dragoman/core/append_member.h"
#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/quote.h"
#include "dragoman/core/stop_scope.h"
#include "dragoman/core/tracked_iterator.h"
#include "tree_builder.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace dragoman::core {
namespace {

std::string place_of(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
  const auto start = text.substr(0, byte).rfind('\n');
  const auto column = start == std::string_view::npos ? byte + 1 : byte - start;
  return fmt::format("line {}, column {}", line, column);
}

constexpr int kDeepest = 100;
/// Reasons of the library quote the text that was read last, which may have any length.
constexpr std::size_t kLongestReason = 180;
constexpr std::size_t kLongestText = 120;

/// Returns the offset at which the text exceeds the permitted depth, or npos. Printing, copying and comparing a tree
/// recurse once per level, and a hostile file must not exhaust the stack.
std::size_t too_deep(std::string_view text) {
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
    if (depth > kDeepest) return i;
  }
  return std::string_view::npos;
}

/// Returns the beginning of the string whose closing quote is before `end`. A quote within a string follows an odd
/// number of backslashes.
std::size_t begin_of_string(std::string_view text, std::size_t end) {
  for (std::size_t quote = end - 1; (quote = text.rfind('"', quote - 1)) != std::string_view::npos;) {
    const std::size_t before = text.substr(0, quote).find_last_not_of('\\');
    if ((quote - (before + 1)) % 2 == 0) return quote;
  }
  return 0;
}

/// Builds the tree from the parser's events; see TreeBuilder.
class JsonReader final : public nlohmann::json_sax<Json> {
 public:
  JsonReader(std::string_view text, EqualKeys equal_keys)
      : text_(text), furthest_(text.data()), equal_keys_(equal_keys) {}

  ParsedJson parse() {
    Json::sax_parse(TrackedIterator(text_.data(), furthest_), TrackedIterator(text_.data() + text_.size(), furthest_),
                    this);
    return problem_.empty() ? ParsedJson{builder_.take()} : ParsedJson{{}, problem_, position_};
  }

  bool null() override { return value(nullptr); }
  bool boolean(bool value_read) override { return value(value_read); }
  bool number_integer(std::int64_t number) override { return value(number); }
  bool number_unsigned(std::uint64_t number) override { return value(number); }
  bool number_float(double number, const std::string&) override { return value(number); }
  bool string(std::string& text) override { return value(std::move(text)); }
  bool binary(binary_t&) override { return false; }  // does not occur in JSON
  bool key(std::string& name) override {
    check_(100);
    builder_.key(std::move(name));
    if (equal_keys_ == EqualKeys::kRefused)
      key_ends_.back().push_back(static_cast<std::size_t>(furthest_ - text_.data()));
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.begin_array();
    return true;
  }
  bool start_object(std::size_t) override {
    builder_.begin_object();
    key_ends_.emplace_back();
    return true;
  }
  bool end_array() override {
    builder_.end();
    return true;
  }
  bool end_object() override {
    if (!take_repeated_keys()) return false;
    key_ends_.pop_back();
    builder_.end();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    problem_ = syntax_problem(error);
    position_ = position == 0 ? 0 : position - 1;
    return false;
  }

 private:
  bool value(Json leaf) {
    check_(100);
    builder_.value(std::move(leaf));
    return true;
  }

  bool take_repeated_keys() {
    auto& entries = builder_.entries();
    const std::vector<std::size_t> order = sorted_by_key(entries);
    std::vector<bool> repeated(entries.size(), false);
    std::size_t first_repeated = entries.size();
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (entries[order[i]].first != entries[order[first]].first) {
        first = i;
        continue;
      }
      entries[order[first]].second = std::move(entries[order[i]].second);
      repeated[order[i]] = true;
      first_repeated = std::min(first_repeated, order[i]);
    }
    if (first_repeated == entries.size()) return true;
    if (equal_keys_ == EqualKeys::kRefused) return refuse_repeated_key(entries[first_repeated].first, first_repeated);
    std::size_t i = 0;
    std::erase_if(entries, [&](const TreeBuilder::Entry&) { return repeated[i++]; });
    return true;
  }

  bool refuse_repeated_key(const std::string& name, std::size_t index) {
    problem_ = fmt::format("the key {} is in this object twice", quote(name));
    position_ = begin_of_string(text_, key_ends_.back()[index]);
    return false;
  }

  std::string_view text_;
  const char* furthest_;
  EqualKeys equal_keys_;
  std::vector<std::vector<std::size_t>> key_ends_;  ///< of the open objects, if duplicate keys are refused
  TreeBuilder builder_;
  std::string problem_;
  std::size_t position_ = 0;
  StopCheck check_{"reading JSON"};
};

std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 80;
  return value.is_null() ? std::string("absent") : printable(one_line(value), kLongest);
}

/// An index of an object, whose own search looks at all members.
std::map<std::string_view, const Json*> members_by_key(const Json& object) {
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, value] : object.items()) members.emplace(key, &value);
  return members;
}

}  // namespace

std::string syntax_problem(const nlohmann::json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
  std::string_view what = error.what();
  const auto drop = [&](std::string_view begin, std::string_view end) {
    const std::size_t found = what.find(end);
    if (what.starts_with(begin) && found != what.npos) what.remove_prefix(found + end.size());
  };
  drop("[json.exception.", "] ");
  drop("parse error", ": ");
  const std::size_t begin = what.find('\'');
  const std::size_t end = what.rfind('\'');
  if (begin == what.npos || end - begin <= kLongestText)
    return fmt::format("not valid JSON: {}", printable(what, kLongestReason + kLongestText));
  return fmt::format("not valid JSON: {}'{}{}", printable(what.substr(0, begin), kLongestReason),
                     printable(what.substr(begin + 1, end - begin - 1), kLongestText),
                     printable(what.substr(end), kLongestReason));
}

ParsedJson try_parse_json(std::string_view text, EqualKeys equal_keys) {
  if (const std::size_t place = too_deep(text); place != std::string_view::npos)
    return {{}, fmt::format("nested deeper than {} levels", kDeepest), place};
  return JsonReader(text, equal_keys).parse();
}

Json parse_json(std::string_view text, const std::string& name, EqualKeys equal_keys) {
  ParsedJson parsed = try_parse_json(text, equal_keys);
  if (!parsed.problem.empty())
    fail(ErrorCode::kBadInput, "{}: {} at {}", name, parsed.problem, place_of(text, parsed.position));
  return std::move(parsed.tree);
}

Json load_json(const std::string& path, EqualKeys equal_keys) {
  return parse_json(read_regular_file(path, std::uint64_t{256} << 20), path, equal_keys);
}

std::string one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_member(Json& object, std::string key, Json value) {
  // The emplace_back() of an ordered object looks at all keys first, so the list that it is based on is used.
  using Members = std::vector<std::pair<const std::string, Json>>;
  static_cast<Members&>(object.get_ref<Json::object_t&>()).emplace_back(std::move(key), std::move(value));
}

std::string differences(const Json& before, const Json& now) {
  constexpr std::size_t kLongestKey = 80;
  constexpr std::size_t kMaxShown = 5;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](const std::string& key, const Json& old_value, const Json& new_value) {
    if (++count > kMaxShown) return;
    text += fmt::format("{}{} was {} and is now {}", text.empty() ? "" : "; ", printable(key, kLongestKey),
                        shown(old_value), shown(new_value));
  };
  const auto before_by_key = members_by_key(before);
  const auto now_by_key = members_by_key(now);
  for (const auto& [key, value] : now.items()) {
    const auto found = before_by_key.find(key);
    const Json old_value = found == before_by_key.end() ? Json() : *found->second;
    if (old_value != value) add(key, old_value, value);
  }
  for (const auto& [key, value] : before.items())
    if (!now_by_key.contains(key)) add(key, value, Json());
  return count <= kMaxShown ? text : fmt::format("{}; and {} more", text, count - kMaxShown);
}

}  // namespace dragoman::core
