#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/server/http.h>

namespace dragoman::server {

/// A request that cannot be answered: its status, and a message for the client.
class BadRequest : public std::runtime_error {
 public:
  explicit BadRequest(const std::string& message, int status = 400) : std::runtime_error(message), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

/// The body is not what its type announces. The message has the reason.
class BadBody final : public BadRequest {
  using BadRequest::BadRequest;
};

/// A file that a form carries.
struct UploadedFile {
  std::string field{};
  std::string name{};
  std::string content{};
};

/// The parameters of a request, wherever the client puts them: in the query string, in a form, in the fields of a
/// multipart form, or in a JSON object. Clients also send JSON with the type of a form, and forms without a type.
/// Therefore the body decides unless the type is JSON or multipart. A value in the body replaces one of the query
/// string.
class Parameters {
 public:
  static constexpr std::size_t kMaxFields = 10'000;
  /// The largest number of values in a JSON body, which bounds its memory.
  static constexpr std::size_t kMaxJsonValues = 200'000;

  /// Throws BadBody for a body that cannot be read. Ill-formed UTF-8 is an error in JSON, and becomes U+FFFD elsewhere.
  /// The last of equal keys of a JSON object counts, because clients of other servers rely on it. Our own dialect
  /// refuses them.
  explicit Parameters(const http::Request& request, core::EqualKeys equal_keys = core::EqualKeys::kLastCounts);

  /// Whether the body is JSON.
  bool from_json() const noexcept { return from_json_; }
  /// Returns the value of a parameter: a text or, if it is repeated, a list of texts; any value of JSON. null if it is
  /// absent.
  const core::Json& get(const std::string& name) const;
  bool has(const std::string& name) const { return !get(name).is_null(); }
  /// Returns a parameter that must be a text. Empty if it is absent. BadRequest if it is no text.
  std::string text(const std::string& name) const;
  const core::Json& all() const noexcept { return values_; }
  const std::vector<UploadedFile>& files() const noexcept { return files_; }

 private:
  void read_body(const http::Request& request);
  void read_json(std::string_view body);
  void add_fields(std::vector<std::pair<std::string, std::string>> fields);

  core::Json values_ = core::Json::object();
  std::vector<UploadedFile> files_;
  core::EqualKeys equal_keys_;
  bool from_json_ = false;
};

/// Parses JSON of a request. Throws BadBody.
core::Json parse_request_json(std::string_view text, core::EqualKeys equal_keys);

/// Returns whether a value is this text. The JSON library's own comparison with a literal allocates and may not throw,
/// so it ends the program when memory runs out.
bool is_text(const core::Json& value, std::string_view text) noexcept;

/// Puts the members of one object of a request into another; equal names are replaced and come last. Throws BadBody
/// for more than 200 members, since the time is quadratic in their number.
void replace_members(core::Json& object, core::Json members);

/// Parses `a=1&b=2`. Throws BadBody for too many fields.
std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text);

}  // namespace dragoman::server
