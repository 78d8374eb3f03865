#pragma once

#include "v1_request.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace dragoman::server {

/// An answer that begins with its first part. An error before that part has its own status. Thread-safe.
class GrowingAnswer {
 public:
  GrowingAnswer(http::Reply reply, std::string content_type)
      : reply_(std::move(reply)), content_type_(std::move(content_type)) {}

  void write(std::string_view part);
  /// Answers with the problem if nothing has been written. Returns false if it is too late for that.
  bool refuse(const Problem& problem);
  void finish();

 private:
  std::mutex mutex_;
  http::Reply reply_;
  std::string content_type_;
  std::optional<http::Stream> stream_;
  bool finished_ = false;
};

/// Translates, and answers by server-sent events: `partial` {index, more, tail}, then `done` with the whole answer, or
/// `error`.
void answer_by_events(TranslationService& service, const V1Request& asked, TranslateRequest translate,
                      http::Reply reply);

/// Translates the texts of a body of JSON lines, and answers each by a line, in order, as soon as it is done.
void answer_by_lines(TranslationService& service, const http::Request& request, const DialectOptions& options,
                     http::Reply reply);

}  // namespace dragoman::server
