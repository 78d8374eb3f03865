#include "v1_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

using core::Json;

std::string event(std::string_view name, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json_text(data));
}

/// The texts of a body of JSON lines.
struct Lines {
  Json parameters = Json::object();
  std::vector<std::string> texts{};
  std::vector<Json> ids{};  ///< null for a line without one
};

void add_line(const Json& line, std::size_t number, Lines& lines) {
  if (line.is_string()) {
    lines.texts.push_back(line.get<std::string>());
    lines.ids.emplace_back();
    return;
  }
  if (!line.is_object()) throw BadRequest(fmt::format("line {}: must be a text or an object", number));
  if (!line.contains("text")) {
    if (!lines.texts.empty())
      throw BadRequest(fmt::format("line {}: text is missing; parameters of all lines are in the first one", number));
    lines.parameters = line;
    return;
  }
  for (const auto& [key, value] : line.items())
    if (key != "text" && key != "id")
      throw BadRequest(fmt::format("line {}: unknown key {}; a line has text and id", number, json_text(key)));
  if (!line["text"].is_string()) throw BadRequest(fmt::format("line {}: text: must be a text", number));
  lines.texts.push_back(line["text"].get<std::string>());
  lines.ids.push_back(line.value("id", Json()));
}

Lines read_lines(std::string_view body) {
  constexpr std::size_t kMaxLines = 20'000;
  Lines lines;
  for (std::size_t number = 1; !body.empty(); ++number) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    const std::string_view line = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (core::is_blank(line)) continue;
    if (lines.texts.size() == kMaxLines)
      throw BadRequest(fmt::format("the body has more than {} lines; send it in parts", kMaxLines), 413);
    try {
      add_line(parse_request_json(line, core::EqualKeys::kRefused), number, lines);
    } catch (const BadBody& bad) {
      throw BadBody(fmt::format("line {}: {}", number, bad.what()));
    }
  }
  if (lines.texts.empty()) throw BadRequest("the body has no lines with a text");
  return lines;
}

/// Writes lines in their order. Used by the thread of the service.
class OrderedLines {
 public:
  OrderedLines(http::Reply reply, V1Request asked, std::vector<Json> ids)
      : answer_(std::move(reply), "application/x-ndjson"), asked_(std::move(asked)), ids_(std::move(ids)) {}

  void put(std::size_t index, const TranslatedText& text) {
    Json line{{"index", index}};
    if (!ids_[index].is_null()) line["id"] = ids_[index];
    if (text.error)
      line["error"] = describe(text.error).message;
    else
      line.update(v1_translation(text, asked_));
    std::string written = json_text(line) + "\n";
    waiting_[index] = std::move(written);
    for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(++next_)) {
      answer_.write(next->second);
      waiting_.erase(next);
    }
  }
  /// Ends the answer: lines that were not put have the error.
  void finish(const TranslateResult& result) {
    for (std::size_t i = next_; i < ids_.size(); ++i)
      if (!waiting_.contains(i)) put(i, result.texts[i]);
    answer_.finish();
  }

 private:
  GrowingAnswer answer_;
  const V1Request asked_;
  const std::vector<Json> ids_;
  std::map<std::size_t, std::string> waiting_;
  std::size_t next_ = 0;
};

}  // namespace

void GrowingAnswer::write(std::string_view part) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  if (!stream_) {
    http::Response head = plain_answer(200, content_type_, "");
    head.headers.set("Cache-Control", "no-store");
    head.headers.set("X-Accel-Buffering", "no");  // proxies pass parts on at once
    stream_ = reply_.begin(std::move(head));
  }
  stream_->write(part);
}

bool GrowingAnswer::refuse(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  if (stream_) return false;
  reply_.send(error_object(problem));
  finished_ = true;
  return true;
}

void GrowingAnswer::finish() {
  const std::lock_guard lock(mutex_);
  if (stream_) stream_->finish();
  finished_ = true;
}

void answer_by_events(TranslationService& service, const V1Request& asked, TranslateRequest translate,
                      http::Reply reply) {
  const auto answer = std::make_shared<GrowingAnswer>(std::move(reply), "text/event-stream");
  translate.on_partial = [answer](const PartialText& partial) {
    Json data{{"index", partial.text}, {"more", partial.more}};
    if (!partial.tail.empty()) data["tail"] = partial.tail;
    answer->write(event("partial", data));
  };
  const auto fail = [answer](const std::exception_ptr& error) {
    const Problem problem = describe(error);
    if (!answer->refuse(problem))
      answer->write(event("error", {{"error", problem.message}, {"status", problem.status}}));
  };
  service.translate(std::move(translate), [answer, asked, fail](const TranslateResult& result) {
    try {
      if (const std::exception_ptr error = result.error()) std::rethrow_exception(error);
      Json translations = Json::array();
      for (const TranslatedText& text : result.texts) translations.push_back(v1_translation(text, asked));
      answer->write(event("done", {{"translations", std::move(translations)}}));
    } catch (const std::exception&) {
      fail(std::current_exception());
    }
    answer->finish();
  });
}

void answer_by_lines(TranslationService& service, const http::Request& request, const DialectOptions& options,
                     http::Reply reply) {
  Lines lines = read_lines(request.body);
  Json parameters = v1_object_of_query(request);
  replace_members(parameters, std::move(lines.parameters));
  const V1Request asked = read_v1_request(parameters);
  if (asked.stream) throw BadRequest("stream: lines are answered as they are done; leave it out");
  check_limits(lines.texts, request, options);
  TranslateRequest translate = translate_request(asked, std::move(lines.texts), request);
  const auto answer = std::make_shared<OrderedLines>(std::move(reply), asked, std::move(lines.ids));
  translate.on_text = [answer](std::size_t index, const TranslatedText& text) { answer->put(index, text); };
  service.translate(std::move(translate), [answer](const TranslateResult& result) { answer->finish(result); });
}

}  // namespace dragoman::server
