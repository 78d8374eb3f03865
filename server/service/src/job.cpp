#include "job.h"

#include "language_codes.h"
#include "pipeline/glossary.h"
#include "request_options.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

std::exception_ptr stopped_error(bool late) noexcept {
  try {
    if (late) throw DeadlinePassed();
    throw core::Error(core::ErrorCode::kInterrupted, "the request was stopped before its end");
  } catch (...) {
    return std::current_exception();  // or that memory ran out
  }
}

bool is_interruption(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const core::Error& own) {
    return own.code() == core::ErrorCode::kInterrupted;
  } catch (...) {
    return false;
  }
}

std::exception_ptr constraints_error() {
  return std::make_exception_ptr(
      core::Error(core::ErrorCode::kBadInput,
                  "constraints: the text has more than one sentence, and each of them would have to meet them; send "
                  "each sentence as a text, or use `glossary`"));
}

/// Returns a text without its tags, so that their names do not count as words of a language.
std::string without_tags(std::string_view html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>') {
      inside = false;
      text += ' ';
    }
  }
  return text;
}

}  // namespace

Job::Job(TranslateRequest request, TranslationService::Done done, JobSetting setting, Splitters& splitters,
         std::function<void()> changed)
    : request_(std::move(request)),
      done_(std::move(done)),
      setting_(std::move(setting)),
      splitters_(splitters),
      changed_(std::move(changed)) {
  items_.resize(request_.texts.size());
  result_.texts.resize(request_.texts.size());
}

Job::~Job() = default;

void Job::watch() {
  if (on_stop_) return;
  on_stop_.emplace(request_.stop, [this] {
    {
      const std::lock_guard lock(mutex_);
      // A job that was stopped before, as at the end of the service, keeps that reason.
      late_ = !stopped_ && std::chrono::steady_clock::now() >= request_.deadline;
    }
    stop();
  });
}

void Job::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  ended_.request_stop();
  changed_();
}

void Job::fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
  }
  stop();
}

bool Job::open_item(std::size_t index) {
  Item& item = items_[index];
  const std::string& text = request_.texts[index];
  try {
    item.source = request_.source;
    if (item.source.empty()) {
      const LanguageGuess guess = setting_.guess_source(is_html() ? without_tags(text) : text, request_.target);
      item.source = guess.language;
      result_.texts[index].detected = guess;
    }
    item.legs = setting_.models->route(item.source, request_.target);
    core::require(item.legs.size() < 2 || request_.glossary == nullptr, core::ErrorCode::kUnsupported,
                  "glossary: {} is translated into {} through {}, so terms of both languages cannot be paired; leave "
                  "the glossary out",
                  item.source, request_.target, item.legs.empty() ? "" : item.legs.front().target);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    fail_item(index, std::current_exception());
    return false;
  }
  if (item.legs.empty()) {
    const std::lock_guard lock(mutex_);
    item.after = text;
    close_item(index);
    return false;
  }
  // HTML is one record, whose sentences the translator keeps together with their tags.
  item.cutter.emplace(std::move(request_.texts[index]), !is_html(), !has_no_spaces(request_.target),
                      splitters_.get(item.source));
  return true;
}

std::optional<Job::Place> Job::cut_sentence() {
  while (next_item_ < items_.size()) {
    const std::size_t index = next_item_;
    Item& item = items_[index];
    if (!item.cutter && !open_item(index)) {
      ++next_item_;
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (item.cut) {  // it has failed
        ++next_item_;
        continue;
      }
    }
    std::optional<Segment> segment = item.cutter->next();
    const std::lock_guard lock(mutex_);
    if (!segment) {
      item.after = item.cutter->after();
      close_item(index);
      ++next_item_;
      continue;
    }
    if (!request_.constraints.empty() && !item.sentences.empty()) {
      fail_item(index, constraints_error());
      continue;
    }
    item.sentences.push_back({.before = std::move(segment->before), .text = std::move(segment->text)});
    if (request_.details) item.sentences.back().source = item.sentences.back().text;
    ++item.open;
    return Place{index, item.sentences.size() - 1};
  }
  return std::nullopt;
}

std::optional<Job::Place> Job::next_sentence() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || in_flight_ >= kWindow) return std::nullopt;
    if (!again_.empty()) {
      const Place place = again_.front();
      again_.pop_front();
      ++in_flight_;
      return place;
    }
  }
  const std::optional<Place> place = cut_sentence();
  if (place) {
    const std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  return place;
}

bool Job::send() {
  const std::optional<Place> place = next_sentence();
  if (!place) return false;
  try {
    submit(*place);
  } catch (...) {
    pipeline::TranslatedRecord failed;
    failed.error = std::current_exception();
    take_result(*place, std::move(failed));
  }
  return true;
}

pipeline::RecordOptions Job::record_options(const Place& place, const Leg& leg, bool is_last) {
  pipeline::RecordOptions options;
  options.languages = leg.languages;
  options.stop = ended_.get_token();
  if (is_html()) options.markup = pipeline::Markup::kHtml;
  if (!is_last) return options;
  options.search = completed_search(setting_.search, request_, leg.strategy, leg.beam_size);
  options.glossary = request_.glossary;
  if (options.search.n_best.value_or(1) > 1 || request_.details)
    options.on_translations = [this, place](std::vector<pipeline::Translation> translations) {
      const std::lock_guard lock(mutex_);
      items_[place.item].sentences[place.sentence].translations = std::move(translations);
    };
  if (request_.on_partial)
    options.on_partial = [this, place](const pipeline::PartialRecord& partial) { tell_partial(place, partial); };
  return options;
}

void Job::submit(const Place& place) {
  pipeline::Record record;
  record.line = ++sent_;
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Sentence& sentence = items_[place.item].sentences[place.sentence];
    record.text = std::move(sentence.text);
    number = sentence.leg;
  }
  const std::vector<Leg>& legs = items_[place.item].legs;
  const Leg& leg = legs[number];
  const bool is_last = number + 1 == legs.size();
  if (is_html()) {
    record.sentences = html_sentences(record.text, *splitters_.get(leg.source));
    if (!request_.constraints.empty() && record.sentences.size() > 1) std::rethrow_exception(constraints_error());
  } else {
    core::keep_on_one_line(record.text);
  }
  if (is_last) record.fields = sentence_fields(request_, place.sentence == 0);
  auto& session = sessions_[leg.translator];
  if (session == nullptr) session = std::make_unique<pipeline::Translator::Session>(*leg.translator);
  session->submit(std::move(record), record_options(place, leg, is_last),
                  [this, place](pipeline::TranslatedRecord result) { take_result(place, std::move(result)); });
}

void Job::take_result(const Place& place, pipeline::TranslatedRecord result) noexcept {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    try {
      keep_result(place, std::move(result));
    } catch (...) {
      error = std::current_exception();
    }
    --in_flight_;
  }
  error ? fail(std::move(error)) : changed_();
}

void Job::keep_result(const Place& place, pipeline::TranslatedRecord result) {
  Item& item = items_[place.item];
  Sentence& sentence = item.sentences[place.sentence];
  std::exception_ptr error = std::move(result.error);
  if (!error && result.record.failed())
    error = std::make_exception_ptr(core::Error(core::ErrorCode::kBadInput, result.record.message));
  ++sentence.leg;
  sentence.text = std::move(result.record.text);
  if (!error && sentence.leg < item.legs.size() && !item.failed) return again_.push_back(place);
  --item.open;
  sentence.done = true;
  if (error)
    fail_item(place.item, std::move(error));
  else if (!item.failed)
    tell_sentences(place.item);
  pass_on(place.item);
}

void Job::tell_partial(const Place& place, const pipeline::PartialRecord& partial) {
  const std::lock_guard lock(mutex_);
  Item& item = items_[place.item];
  if (place.sentence != item.told || item.failed) return;
  const std::string known = item.sentences[place.sentence].before + std::string(partial.text);
  const std::string tail = partial.tail ? partial.tail() : std::string();
  if (known.size() <= item.told_bytes && tail.empty()) return;
  if (partial.text.empty() && tail.empty()) return;
  const std::string_view more = std::string_view(known).substr(std::min(item.told_bytes, known.size()));
  item.told_bytes = std::max(item.told_bytes, known.size());
  request_.on_partial({.text = place.item, .more = more, .tail = tail});
}

void Job::tell_sentences(std::size_t index) {
  if (!request_.on_partial) return;
  Item& item = items_[index];
  std::string more;
  for (; item.told < item.sentences.size() && item.sentences[item.told].done; ++item.told) {
    const Sentence& sentence = item.sentences[item.told];
    const std::string known = sentence.before + sentence.text;
    more += known.substr(std::min(std::exchange(item.told_bytes, 0), known.size()));
  }
  if (!more.empty()) request_.on_partial({.text = index, .more = more});
}

void Job::fail_item(std::size_t index, std::exception_ptr error) {
  items_[index].failed = true;
  // Workers only know that they were stopped, and not why.
  if (late_ && is_interruption(error)) error = stopped_error(true);
  if (!result_.texts[index].error) result_.texts[index].error = std::move(error);
  close_item(index);
}

void Job::close_item(std::size_t index) {
  items_[index].cut = true;
  pass_on(index);
}

void Job::pass_on(std::size_t index) {
  Item& item = items_[index];
  if (!item.cut || item.open > 0 || item.complete) return;
  if (request_.on_partial && !item.failed && !item.after.empty())
    request_.on_partial({.text = index, .more = item.after});
  complete_.push_back(index);
  item.complete = true;
}

std::vector<std::string> Job::source_tokens(const Leg& leg, const Sentence& sentence) {
  std::vector<std::string> tokens;
  if (sentence.translations.empty() || sentence.translations.front().alignment.empty()) return tokens;
  for (const tokenizer::Piece& piece : leg.source_tokenizer->encode_pieces(sentence.source))
    tokens.push_back(sentence.source.substr(piece.begin, piece.end - piece.begin));
  if (tokens.size() + 1 != sentence.translations.front().alignment.front().size()) tokens.clear();
  return tokens;
}

void Job::assemble(Item& item, TranslatedText& text) const {
  std::size_t n_best = 1;
  for (const Sentence& sentence : item.sentences) n_best = std::max(n_best, sentence.translations.size());
  std::vector<std::string> whole(n_best);
  for (Sentence& sentence : item.sentences) {
    const auto& translations = sentence.translations;
    for (std::size_t i = 0; i < n_best; ++i)
      whole[i] += sentence.before + (i > 0 && i < translations.size() ? translations[i].text : sentence.text);
    if (!request_.details) continue;
    std::vector<std::string> tokens;
    if (request_.alignment && item.legs.size() == 1) tokens = source_tokens(item.legs.front(), sentence);
    text.sentences.push_back({std::move(sentence.source), std::move(tokens), std::move(sentence.translations)});
  }
  for (std::string& one : whole) one += item.after;
  text.text = std::move(whole.front());
  for (std::size_t i = 1; i < n_best && text.alternatives.size() < static_cast<std::size_t>(request_.alternatives); ++i)
    if (whole[i] != text.text && std::ranges::find(text.alternatives, whole[i]) == text.alternatives.end())
      text.alternatives.push_back(std::move(whole[i]));
}

void Job::deliver() {
  for (;;) {
    std::size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      if (complete_.empty()) return;
      index = complete_.front();
      complete_.pop_front();
      // A complete text has no sentence in flight, so that no worker touches it any more.
      TranslatedText& text = result_.texts[index];
      try {
        if (!text.error) assemble(items_[index], text);
      } catch (...) {
        text.error = std::current_exception();
      }
      items_[index].sentences.clear();
    }
    if (!request_.on_text) continue;
    try {
      request_.on_text(index, result_.texts[index]);
    } catch (...) {
      // The other texts are still passed on.
    }
  }
}

bool Job::finished() {
  const std::lock_guard lock(mutex_);
  if (in_flight_ > 0 || !complete_.empty()) return false;
  return stopped_ || (next_item_ == items_.size() && again_.empty());
}

void Job::settle() {
  on_stop_.reset();
  sessions_.clear();
}

void Job::complete() noexcept {
  const std::exception_ptr error = failure_ ? failure_ : stopped_error(late_);
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (!items_[i].complete && !result_.texts[i].error) result_.texts[i].error = error;
  try {
    done_(std::move(result_));
  } catch (...) {
    // Nobody is left to tell.
  }
}

std::size_t Job::sentences_in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

}  // namespace dragoman::server
