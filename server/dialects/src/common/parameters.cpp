#include "parameters.h"

#include "multipart.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

/// Decodes a name or a value of a form. A '%' that begins no escape stays.
std::string decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && core::hex_digit(text[i + 1]) >= 0 && core::hex_digit(text[i + 2]) >= 0;
    if (escape) {
      result += static_cast<char>(core::hex_digit(text[i + 1]) * 16 + core::hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  core::replace_invalid_utf8(result);
  return result;
}

/// Returns the number of values in JSON text, if it is well-formed; an upper bound in any case.
std::size_t count_values(std::string_view text) {
  std::size_t count = 1;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\')
      ++i;
    else if (c == '"')
      inside = !inside;
    else if (!inside && (c == ',' || c == '[' || c == '{'))
      ++count;
  }
  return count;
}

/// Limits the names of a request: an object of the JSON library finds its keys one by one, so adding many is quadratic.
void check_names(std::string_view place, std::size_t count) {
  constexpr std::size_t kMaxNames = 200;
  if (count > kMaxNames) throw BadBody(fmt::format("the {} has more than {} names", place, kMaxNames));
}

std::string media_type(std::string_view content_type) {
  return core::ascii_lower(core::trim_white_space(content_type.substr(0, content_type.find(';'))));
}

bool is_json(std::string_view text) {
  try {
    parse_request_json(text, core::EqualKeys::kLastCounts);
    return true;
  } catch (const BadBody&) {
    return false;
  }
}

}  // namespace

core::Json parse_request_json(std::string_view text, core::EqualKeys equal_keys) {
  if (count_values(text) > Parameters::kMaxJsonValues)
    throw BadBody(fmt::format("the body has more than {} values; send it in parts", Parameters::kMaxJsonValues));
  core::ParsedJson parsed = core::try_parse_json(text, equal_keys);
  if (!parsed.problem.empty()) throw BadBody(fmt::format("{} at byte {}", parsed.problem, parsed.position));
  return std::move(parsed.tree);
}

bool is_text(const core::Json& value, std::string_view text) noexcept {
  const auto* own = value.get_ptr<const std::string*>();
  return own != nullptr && *own == text;
}

void replace_members(core::Json& object, core::Json members) {
  check_names("body", members.size());
  for (auto& [key, value] : members.items()) {
    object.erase(key);
    object[key] = std::move(value);
  }
}

std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (field.empty()) continue;
    if (fields.size() == Parameters::kMaxFields)
      throw BadBody(fmt::format("the form has more than {} fields; send it in parts", Parameters::kMaxFields));
    const std::size_t equals = field.find('=');
    fields.emplace_back(decoded(field.substr(0, equals)),
                        equals == std::string_view::npos ? std::string() : decoded(field.substr(equals + 1)));
  }
  return fields;
}

Parameters::Parameters(const http::Request& request, core::EqualKeys equal_keys) : equal_keys_(equal_keys) {
  add_fields(request.query);
  read_body(request);
}

void Parameters::read_body(const http::Request& request) {
  const std::string_view body = request.body;
  const std::string_view content_type = request.headers.get("Content-Type");
  const std::string type = media_type(content_type);
  if (type == "multipart/form-data") {
    MultipartForm form = parse_multipart(content_type, body);
    add_fields(std::move(form.fields));
    files_ = std::move(form.files);
    return;
  }
  const std::size_t start = core::leading_white_space(body);
  if (start == body.size()) return;
  if (type == "application/json" || type.ends_with("+json")) return read_json(body);
  if (body[start] == '{') {
    try {
      return read_json(body);
    } catch (const BadBody&) {
      if (body.find('=') == std::string_view::npos || is_json(body)) throw;
    }
  }
  add_fields(parse_form(body));
}

void Parameters::read_json(std::string_view body) {
  core::Json tree = parse_request_json(body, equal_keys_);
  if (!tree.is_object()) throw BadBody("the body must be a JSON object");
  from_json_ = true;
  replace_members(values_, std::move(tree));
}

void Parameters::add_fields(std::vector<std::pair<std::string, std::string>> fields) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> by_name;
  for (auto& field : fields) {
    core::replace_invalid_utf8(field.first);
    core::replace_invalid_utf8(field.second);
    auto& values = by_name[field.first];
    if (values.empty()) names.push_back(field.first);
    values.push_back(std::move(field.second));
  }
  check_names("form", names.size());
  for (const std::string& name : names) {
    std::vector<std::string>& values = by_name[name];
    values_.erase(name);
    values_[name] = values.size() == 1 ? core::Json(std::move(values.front())) : core::Json(std::move(values));
  }
}

const core::Json& Parameters::get(const std::string& name) const {
  static const core::Json absent;
  const auto found = values_.find(name);
  return found == values_.end() ? absent : *found;
}

std::string Parameters::text(const std::string& name) const {
  const core::Json& value = get(name);
  if (value.is_null()) return {};
  if (!value.is_string()) throw BadRequest(fmt::format("{}: must be a text", name));
  return value.get<std::string>();
}

}  // namespace dragoman::server
