#include "dragoman/core/yaml.h"

#include "dragoman/core/file.h"
#include "dragoman/core/quote.h"
#include "dragoman/core/utf8.h"

#include <charconv>
#include <cmath>
#include <optional>

#include <yaml-cpp/yaml.h>

namespace dragoman::core {
namespace {

constexpr std::uint64_t kMaximumSize = std::uint64_t{16} << 20;
constexpr int kMaximumDepth = 64;
/// A document of aliases to aliases is small and stands for billions of values.
constexpr std::size_t kMaximumValues = std::size_t{1} << 18;

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
  const bool numeric = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (const auto number = parse_number<double>(text); numeric && number && std::isfinite(*number)) return *number;
  return text;
}

[[noreturn]] void fail_at(const std::string& name, const YAML::Mark& mark, const std::string& message) {
  fail(ErrorCode::kBadInput, "{}: line {}, column {}: {}", name, mark.line + 1, mark.column + 1, message);
}

Json convert(const YAML::Node& node, const std::string& name, int depth, std::size_t& values) {
  if (depth > kMaximumDepth) fail_at(name, node.Mark(), "nested too deeply");
  if (++values > kMaximumValues) fail_at(name, node.Mark(), "too many values");
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return node.Tag() == "!" ? Json(node.Scalar()) : plain_scalar(node.Scalar());
    case YAML::NodeType::Sequence: {
      Json list = Json::array();
      for (const YAML::Node& item : node) list.push_back(convert(item, name, depth + 1, values));
      return list;
    }
    case YAML::NodeType::Map: {
      Json object = Json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) fail_at(name, entry.first.Mark(), "a key must be a plain word");
        const std::string& key = entry.first.Scalar();
        if (object.contains(key)) fail_at(name, entry.first.Mark(), "the key '" + key + "' stands here twice");
        object[key] = convert(entry.second, name, depth + 1, values);
      }
      return object;
    }
    default:
      return nullptr;
  }
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t dot = path.find('.', start);
    parts.emplace_back(path.substr(start, dot - start));
    if (dot == std::string_view::npos) return parts;
    start = dot + 1;
  }
}

Json& descend(Json& tree, const std::string& part, std::string_view assignment) {
  if (tree.is_array()) {
    const auto index = parse_number<std::size_t>(part);
    require(index && *index < tree.size(), ErrorCode::kInvalidArgument,
            "--set {}: '{}' is not an index of a list of {}", assignment, part, tree.size());
    return tree[*index];
  }
  require(tree.is_object() || tree.is_null(), ErrorCode::kInvalidArgument, "--set {}: '{}' lies below a plain value",
          assignment, part);
  return tree[part];
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const Json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (plain_scalar(text).is_string())
      out << text;
    else
      out << YAML::DoubleQuoted << text;
  } else if (value.is_null()) {
    out << YAML::Null;  // the word would be quoted, and a text
  } else {
    out << value.dump();
  }
}

}  // namespace

Json parse_yaml(std::string_view text, const std::string& name) {
  require(text.size() <= kMaximumSize, ErrorCode::kBadInput, "{}: larger than the {} bytes allowed for a configuration",
          name, kMaximumSize);
  const std::size_t invalid = find_invalid_utf8(text);
  require(invalid == std::string_view::npos, ErrorCode::kBadInput, "{}: byte {} is not valid UTF-8; save it as UTF-8",
          name, invalid + 1);
  try {
    std::size_t values = 0;
    return convert(YAML::Load(std::string(text)), name, 0, values);
  } catch (const YAML::Exception& error) {
    fail_at(name, error.mark, error.msg);
  }
}

Json load_yaml(const std::string& path) {
  return parse_yaml(read_file(path, kMaximumSize), path);
}

void set_option(Json& tree, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0, ErrorCode::kInvalidArgument,
          "--set {}: write it as key=value", assignment);
  require(find_invalid_utf8(assignment) == std::string_view::npos, ErrorCode::kInvalidArgument,
          "--set {}: is not valid UTF-8", quote(assignment));
  const std::vector<std::string> path = split_path(assignment.substr(0, equals));
  require(path.size() <= kMaximumDepth, ErrorCode::kInvalidArgument,
          "--set {}: at most {} names with dots between them", quote(assignment), kMaximumDepth);
  Json* place = &tree;
  for (const std::string& part : path) {
    require(!part.empty(), ErrorCode::kInvalidArgument, "--set {}: an empty name between dots", assignment);
    place = &descend(*place, part, assignment);
  }
  *place = parse_yaml(assignment.substr(equals + 1), fmt::format("--set {}", assignment));
}

std::string dump_yaml(const Json& tree) {
  YAML::Emitter out;
  emit(out, tree);
  return std::string(out.c_str()) + "\n";
}

}  // namespace dragoman::core
