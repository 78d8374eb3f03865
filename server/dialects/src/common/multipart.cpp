#include "multipart.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

constexpr std::size_t kMaxParts = 1000;
constexpr std::size_t kMaxBytesOfHead = 16 << 10;

/// Returns the value of a parameter in a header field: `name="a \"b\""` or `name=a`.
std::optional<std::string> parameter_of(std::string_view field, std::string_view name) {
  std::size_t at = field.find(';');
  while (at != std::string_view::npos && at < field.size()) {
    ++at;
    at += core::leading_white_space(field.substr(at));
    const std::size_t equals = field.find_first_of("=;", at);
    if (equals == std::string_view::npos) return std::nullopt;
    if (field[equals] == ';') {
      at = equals;
      continue;
    }
    const std::string_view key = core::trim_white_space(field.substr(at, equals - at));
    std::string value;
    at = equals + 1;
    if (at < field.size() && field[at] == '"') {
      for (++at; at < field.size() && field[at] != '"'; ++at) {
        // Only quotes are escaped: browsers send backslashes of paths as they are.
        if (field[at] == '\\' && at + 1 < field.size() && (field[at + 1] == '"' || field[at + 1] == '\\')) ++at;
        value += field[at];
      }
      at = field.find(';', std::min(at, field.size()));
    } else {
      const std::size_t end = std::min(field.find(';', at), field.size());
      value = core::trim_white_space(field.substr(at, end - at));
      at = end == field.size() ? std::string_view::npos : end;
    }
    if (core::equal_ignoring_ascii_case(key, name)) return value;
  }
  return std::nullopt;
}

/// Returns the value of a field in the head of a part.
std::string_view field_of(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && core::equal_ignoring_ascii_case(line.substr(0, colon), name))
      return core::trim_white_space(line.substr(colon + 1));
  }
  return {};
}

void add_part(std::string_view head, std::string_view content, MultipartForm& form) {
  const std::string_view disposition = field_of(head, "Content-Disposition");
  std::optional<std::string> name = parameter_of(disposition, "name");
  if (!name) return;
  core::replace_invalid_utf8(*name);
  std::optional<std::string> file = parameter_of(disposition, "filename");
  if (!file) {
    form.fields.emplace_back(std::move(*name), std::string(content));
    return;
  }
  core::replace_invalid_utf8(*file);
  form.files.push_back({.field = std::move(*name), .name = std::move(*file), .content = std::string(content)});
}

/// The line between two parts, or after the last one.
struct Delimiter {
  std::size_t begin;  ///< of the line end before it, which belongs to it
  std::size_t end;    ///< after its line end
  bool is_last;
};

/// Finds the next line that is the delimiter, perhaps with whitespace after it.
std::optional<Delimiter> find_delimiter(std::string_view body, std::string_view delimiter, std::size_t from) {
  for (std::size_t at = from;; ++at) {
    at = body.find(delimiter, at);
    if (at == std::string_view::npos) return std::nullopt;
    const bool begins_line = at == 0 || (at >= 2 && body.substr(at - 2, 2) == "\r\n");
    if (!begins_line) continue;
    std::size_t end = at + delimiter.size();
    const std::size_t begin = at == 0 ? 0 : at - 2;
    if (body.substr(end).starts_with("--")) return Delimiter{begin, end + 2, true};
    end = body.find_first_not_of(" \t", end);
    if (end != std::string_view::npos && body.substr(end).starts_with("\r\n")) return Delimiter{begin, end + 2, false};
  }
}

}  // namespace

MultipartForm parse_multipart(std::string_view content_type, std::string_view body) {
  const std::optional<std::string> boundary = parameter_of(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 200)
    throw BadBody("the type multipart/form-data needs a boundary of 1 to 200 characters");
  const std::string delimiter = "--" + *boundary;
  std::optional<Delimiter> start = find_delimiter(body, delimiter, 0);
  if (!start) throw BadBody("the body does not contain the boundary of its parts");
  MultipartForm form;
  for (std::size_t parts = 0; !start->is_last; ++parts) {
    if (parts == kMaxParts) throw BadBody(fmt::format("the form has more than {} parts", kMaxParts));
    // The line end of one delimiter may be that before the next.
    const std::optional<Delimiter> end = find_delimiter(body, delimiter, start->end);
    if (!end) throw BadBody("the form ends before its last boundary");
    const std::string_view part = body.substr(start->end, std::max(end->begin, start->end) - start->end);
    // A part without fields begins with the empty line.
    const bool bare = part.starts_with("\r\n");
    const std::size_t blank = bare ? 0 : part.find("\r\n\r\n");
    if (blank == std::string_view::npos) throw BadBody("a part of the form has no empty line after its fields");
    if (blank > kMaxBytesOfHead) throw BadBody("the fields of a part are too long");
    add_part(part.substr(0, blank), part.substr(blank + (bare ? 2 : 4)), form);
    start = end;
  }
  return form;
}

}  // namespace dragoman::server
