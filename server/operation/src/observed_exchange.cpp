#include "observed_exchange.h"

#include <algorithm>
#include <utility>

namespace dragoman::server {

ObservedExchange::ObservedExchange(http::Reply reply, std::size_t kept_text, Decorate decorate, Report report)
    : reply_(std::move(reply)), kept_text_(kept_text), decorate_(std::move(decorate)), report_(std::move(report)) {}

void ObservedExchange::keep(std::string_view part) {
  seen_.bytes += part.size();
  if (seen_.text.size() < kept_text_) seen_.text += part.substr(0, kept_text_ - seen_.text.size());
}

void ObservedExchange::send(http::Response response) {
  decorate_(response);
  seen_.status = response.status;
  keep(response.body);
  // Before the answer, so that a client that has it finds it counted.
  report_(seen_);
  reply_.send(std::move(response));
}

void ObservedExchange::begin(http::Response head) {
  decorate_(head);
  seen_.status = head.status;
  keep(head.body);
  stream_ = reply_.begin(std::move(head));
}

bool ObservedExchange::write(std::string_view part) {
  keep(part);
  return stream_->write(part);
}

void ObservedExchange::finish() {
  report_(seen_);
  stream_->finish();
}

}  // namespace dragoman::server
