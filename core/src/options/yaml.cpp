#include "dragoman/core/yaml.h"

#include "dragoman/core/error.h"
#include "dragoman/core/file.h"
#include "dragoman/core/json.h"
#include "dragoman/core/quote.h"
#include "dragoman/core/utf8.h"
#include "tree_builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace dragoman::core {
namespace {

constexpr std::uint64_t kMaximumSize = std::uint64_t{16} << 20;
constexpr std::size_t kMaximumDepth = 64;
/// A small document can hold aliases to aliases, which stand for billions of values, or for billions of copies of a
/// long text. These limits count the resulting tree and the copies that anchors keep.
constexpr std::size_t kMaximumValues = std::size_t{1} << 18;
constexpr std::size_t kMaximumText = 2 * kMaximumSize;

template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto integer = parse_number<std::int64_t>(text)) {
    if (*integer >= 0) return static_cast<std::uint64_t>(*integer);
    return *integer;
  }
  if (const auto large = parse_number<std::uint64_t>(text)) return *large;
  const bool numeric = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (const auto number = parse_number<double>(text); numeric && number && std::isfinite(*number)) return *number;
  return text;
}

/// Returns the parsed text as UTF-8. The parser turns the escape sequences \_ and \N into the Latin-1 bytes A0 and 85.
/// The document is valid UTF-8, so an invalid byte is always one of these two.
std::string with_whole_characters(const std::string& parsed) {
  std::string text;
  std::string_view rest = parsed;
  for (std::size_t at = find_invalid_utf8(rest); at != std::string_view::npos; at = find_invalid_utf8(rest)) {
    text.append(rest.substr(0, at));
    append_utf8(text, static_cast<unsigned char>(rest[at]));
    rest.remove_prefix(at + 1);
  }
  return text.append(rest);
}

[[noreturn]] void fail_at(const std::string& name, const YAML::Mark& mark, const std::string& message) {
  fail(ErrorCode::kBadInput, "{}: line {}, column {}: {}", name, mark.line + 1, mark.column + 1, message);
}

/// The size of a tree.
struct Cost {
  std::size_t values = 0;
  std::size_t text = 0;
  Cost operator-(const Cost& other) const { return {values - other.values, text - other.text}; }
};

/// Builds the tree from the parser's events. The parser's nodes take quadratic time for maps.
class TreeReader final : public YAML::EventHandler {
 public:
  explicit TreeReader(const std::string& name) : name_(name) {}
  Json take() { return builder_.take(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (any_document_) fail_at(name_, mark, "a second document begins; put it into a file of its own");
    any_document_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) fail_at(name_, mark, "a key is null; write it in quotes, as \"null\" or \"~\"");
    leaf(mark, anchor, nullptr);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& parsed) override {
    const std::string text = with_whole_characters(parsed);
    if (!builder_.expects_key()) return leaf(mark, anchor, tag == "!" ? Json(text) : plain_scalar(text));
    spend(mark, {0, text.size()});
    key_places_.back().push_back(mark);
    builder_.key(text);
    if (anchor != YAML::NullAnchor) keep(mark, anchor, tag == "!" ? Json(text) : plain_scalar(text), {1, text.size()});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    require_value(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail_at(name_, mark, "this alias stands within what it is an alias of");
    spend(mark, found->second.cost);
    builder_.value(found->second.tree);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, anchor);
    builder_.begin_array();
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, anchor);
    builder_.begin_object();
    key_places_.emplace_back();
  }
  void OnMapEnd() override {
    refuse_repeated_keys();
    key_places_.pop_back();
    end();
  }

 private:
  struct Anchored {
    Json tree;
    Cost cost;
  };
  struct Begun {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    Cost before;
  };

  void require_value(const YAML::Mark& mark) const {
    if (builder_.expects_key()) fail_at(name_, mark, "a key must be a plain word");
    if (builder_.depth() > kMaximumDepth) fail_at(name_, mark, "nested too deeply");
  }

  void spend(const YAML::Mark& mark, const Cost& cost) {
    spent_.values += cost.values;
    spent_.text += cost.text;
    if (spent_.values > kMaximumValues) fail_at(name_, mark, "too many values");
    if (spent_.text > kMaximumText) fail_at(name_, mark, "its aliases make it too long");
  }

  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    require_value(mark);
    const Cost cost{1, value.is_string() ? value.get_ref<const std::string&>().size() : 0};
    spend(mark, cost);
    if (anchor != YAML::NullAnchor) keep(mark, anchor, value, cost);
    builder_.value(std::move(value));
  }

  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    require_value(mark);
    begun_.push_back({mark, anchor, spent_});
    spend(mark, {1, 0});
  }

  void end() {
    const Begun begun = begun_.back();
    begun_.pop_back();
    const Json& finished = builder_.end();
    if (begun.anchor != YAML::NullAnchor) keep(begun.mark, begun.anchor, finished, spent_ - begun.before);
  }

  void keep(const YAML::Mark& mark, YAML::anchor_t anchor, const Json& tree, const Cost& cost) {
    spend(mark, cost);
    anchors_.emplace(anchor, Anchored{tree, cost});
  }

  void refuse_repeated_keys() {
    const auto& entries = builder_.entries();
    const std::vector<std::size_t> order = sorted_by_key(entries);
    std::size_t first = entries.size();
    for (std::size_t i = 1; i < order.size(); ++i)
      if (entries[order[i]].first == entries[order[i - 1]].first) first = std::min(first, order[i]);
    if (first < entries.size())
      fail_at(name_, key_places_.back()[first],
              fmt::format("the key {} stands here twice", quote(entries[first].first)));
  }

  bool any_document_ = false;
  const std::string& name_;
  TreeBuilder builder_;
  std::vector<std::vector<YAML::Mark>> key_places_;  // of the open maps
  std::vector<Begun> begun_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Cost spent_;
};

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t dot = path.find('.', start);
    parts.emplace_back(path.substr(start, dot - start));
    if (dot == std::string_view::npos) return parts;
    start = dot + 1;
  }
}

Json& descend(Json& tree, const std::string& part, std::string_view option, std::string_view assignment) {
  if (tree.is_array()) {
    const auto index = parse_number<std::size_t>(part);
    require(index && *index < tree.size(), ErrorCode::kInvalidArgument, "{}{}: '{}' is not an index of a list of {}",
            option, assignment, part, tree.size());
    return tree[*index];
  }
  require(tree.is_object() || tree.is_null(), ErrorCode::kInvalidArgument, "{}{}: '{}' lies below a plain value",
          option, assignment, part);
  return tree[part];
}

/// The emitter writes some control characters unescaped, including a lone carriage return, which its own parser reads
/// as whitespace.
bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (has_control_characters(text)) out << YAML::DoubleQuoted;
  out << text;
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key;
      emit_text(out, key);
      out << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const Json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!plain_scalar(text).is_string()) out << YAML::DoubleQuoted;
    emit_text(out, text);
  } else if (value.is_null()) {
    out << YAML::Null;  // as a scalar, the word would be quoted and become a string
  } else {
    out << value.dump();
  }
}

}  // namespace

Json parse_yaml(std::string_view text, const std::string& name) {
  require(text.size() <= kMaximumSize, ErrorCode::kBadInput, "{}: larger than the {} bytes allowed for a configuration",
          name, kMaximumSize);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t invalid = find_invalid_utf8(text);
  require(invalid == std::string_view::npos, ErrorCode::kBadInput, "{}: byte {} is not valid UTF-8; save it as UTF-8",
          name, invalid + 1);
  // The parser would assume UTF-16 or UTF-32.
  const std::size_t nul = text.find('\0');
  require(nul == std::string_view::npos, ErrorCode::kBadInput,
          "{}: byte {} is 0, which no YAML holds; save the file as UTF-8", name, nul + 1);
  try {
    std::istringstream stream{std::string(text)};
    TreeReader reader(name);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(reader);
    Json tree = reader.take();
    parser.HandleNextDocument(reader);  // there must not be another document
    return tree;
  } catch (const YAML::Exception& error) {
    fail_at(name, error.mark, error.msg);
  }
}

Json load_yaml(const std::string& path, const std::stop_token& stop) {
  return parse_yaml(read_file(path, kMaximumSize, stop), path);
}

void set_option(Json& tree, std::string_view assignment, std::string_view option) {
  constexpr std::size_t kLongestShown = 120;
  const std::size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0, ErrorCode::kInvalidArgument, "{}{}: write it as key=value",
          option, printable(assignment, kLongestShown));
  require(find_invalid_utf8(assignment) == std::string_view::npos, ErrorCode::kInvalidArgument,
          "{}{}: is not valid UTF-8", option, quote(assignment));
  const std::vector<std::string> path = split_path(assignment.substr(0, equals));
  require(path.size() <= kMaximumDepth, ErrorCode::kInvalidArgument, "{}{}: at most {} names with dots between them",
          option, quote(assignment), kMaximumDepth);
  const std::string shown = printable(assignment, kLongestShown);
  Json* place = &tree;
  for (const std::string& part : path) {
    require(!part.empty(), ErrorCode::kInvalidArgument, "{}{}: an empty name between dots", option, shown);
    place = &descend(*place, part, option, shown);
  }
  const std::string_view value = assignment.substr(equals + 1);
  // In YAML a lone dash is a list with a null. Here it is standard input or output.
  *place = value == "-" ? Json("-") : parse_yaml(value, std::string(option) + shown);
}

Json parse_assignment(std::string_view assignment) {
  Json tree = Json::object();
  set_option(tree, assignment, "");
  return tree;
}

std::string dump_yaml(const Json& tree) {
  YAML::Emitter out;
  emit(out, tree);
  return std::string(out.c_str()) + "\n";
}

}  // namespace dragoman::core
