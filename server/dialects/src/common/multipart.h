#pragma once

#include "parameters.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::server {

/// The content of a form of type multipart/form-data (RFC 7578).
struct MultipartForm {
  std::vector<std::pair<std::string, std::string>> fields{};
  std::vector<UploadedFile> files{};
};

/// Parses the body. `content_type` has the boundary. Parts without a name are left out, and a part with a file name is
/// a file. Throws BadBody.
MultipartForm parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace dragoman::server
