#include "dragoman/server/translation_service.h"

#include "admission.h"
#include "language_codes.h"
#include "model_set.h"
#include "pipeline/glossary.h"
#include "request_options.h"
#include "scheduler.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

/// The part of a text that its language is detected by.
constexpr std::size_t kBytesToDetect = 4096;

/// The tags of HTML are placed in the best translation only.
void require_plain_answer(const TranslateRequest& request, const decoding::Search& search) {
  constexpr std::string_view kRemedy = "leave it out, or send the text without tags and format";
  core::require(request.alternatives == 0 && search.n_best.value_or(1) == 1, core::ErrorCode::kUnsupported,
                "n_best: HTML has one translation; {}", kRemedy);
  core::require(!request.alignment, core::ErrorCode::kUnsupported, "alignment: HTML has none; {}", kRemedy);
}

void require_texts(const std::vector<std::string>& texts, const char* key) {
  for (const std::string& text : texts)
    core::require(!core::is_blank(text), core::ErrorCode::kBadInput, "{}: a text is blank; leave it out", key);
}

std::string_view beginning_of(std::string_view text) {
  if (text.size() <= kBytesToDetect) return text;
  std::size_t end = kBytesToDetect;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

static_assert(kMaxTargetsOfTerm == pipeline::Glossary::kMaxTargets);

}  // namespace

DeadlinePassed::DeadlinePassed()
    : core::Error(core::ErrorCode::kInterrupted, "the request was not answered in time; send less text at a time") {}

SharedTerms make_terms(std::vector<GlossaryTerm> terms) {
  core::require(terms.size() <= kMaxTerms, core::ErrorCode::kBadInput, "glossary: {} terms; there may be {}",
                terms.size(), kMaxTerms);
  std::vector<pipeline::GlossaryEntry> entries;
  for (GlossaryTerm& term : terms) {
    core::require(!core::is_blank(term.source) && !term.targets.empty(), core::ErrorCode::kBadInput,
                  "glossary: a term has no source or no target");
    core::require(term.targets.size() <= pipeline::Glossary::kMaxTargets, core::ErrorCode::kBadInput,
                  "glossary: {} has {} targets; there may be {}", core::quote(term.source), term.targets.size(),
                  pipeline::Glossary::kMaxTargets);
    for (const std::string* text : {&term.source, &term.targets.front()})
      core::require(text->size() <= pipeline::Glossary::kMaxBytesOfTerm, core::ErrorCode::kBadInput,
                    "glossary: {} has {} bytes; a term may have {}", core::quote(*text, 40), text->size(),
                    pipeline::Glossary::kMaxBytesOfTerm);
    for (const std::string& target : term.targets)
      core::require(!core::is_blank(target) && target.size() <= pipeline::Glossary::kMaxBytesOfTerm,
                    core::ErrorCode::kBadInput, "glossary: a target of {} is blank, or its {} bytes are more than {}",
                    core::quote(term.source, 40), target.size(), pipeline::Glossary::kMaxBytesOfTerm);
    entries.push_back({std::move(term.source), std::move(term.targets), term.exact_case});
  }
  return std::make_shared<const pipeline::Glossary>(std::move(entries));
}

std::exception_ptr TranslateResult::error() const {
  const auto failed = std::ranges::find_if(texts, [](const TranslatedText& text) { return text.error != nullptr; });
  return failed == texts.end() ? nullptr : failed->error;
}

struct TranslationService::Impl {
  explicit Impl(ServiceOptions given)
      : options(std::move(given)),
        admission(options.characters_in_flight),
        models(std::make_shared<const ModelSet>(options)) {}

  std::shared_ptr<const ModelSet> current() const {
    const std::lock_guard lock(mutex);
    return models;
  }

  static std::vector<LanguageGuess> guesses(const Detector& detector, std::string_view text, std::size_t most) {
    return detector ? detector(beginning_of(text), most) : std::vector<LanguageGuess>();
  }

  static LanguageGuess guess_source(const Detector& detector, const ModelSet& set, std::string_view text,
                                    const std::string& target) {
    constexpr std::size_t kGuesses = 10;
    for (const LanguageGuess& guess : guesses(detector, text, kGuesses)) {
      const auto code = set.find_language(guess.language);
      if (code && set.offers(*code, target)) return {*code, guess.confidence};
    }
    for (const Language& language : set.languages())
      if (language.code != target && set.offers(language.code, target)) return {language.code, 0};
    return {target, 0};
  }

  const ServiceOptions options;
  Admission admission;
  mutable std::mutex mutex;
  std::shared_ptr<const ModelSet> models;
  std::mutex reloading;
  /// Last: its jobs use what is above.
  Scheduler scheduler;
};

TranslationService::TranslationService(ServiceOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
TranslationService::~TranslationService() = default;

void TranslationService::translate(TranslateRequest request, Done done) {
  const std::shared_ptr<const ModelSet> models = impl_->current();
  const auto require_language = [&](std::string& code) {
    const auto found = models->find_language(code);
    core::require(found.has_value(), core::ErrorCode::kUnsupported, "{} is not supported", core::printable(code, 40));
    code = *found;
  };
  if (request.source == "auto") request.source.clear();
  if (!request.source.empty()) require_language(request.source);
  require_language(request.target);
  if (!request.source.empty()) models->route(request.source, request.target);
  core::require(request.alternatives >= 0 && request.alternatives < impl_->options.max_hypotheses,
                core::ErrorCode::kBadInput, "{} alternatives; a request may have at most {}", request.alternatives,
                impl_->options.max_hypotheses - 1);
  require_texts(request.constraints, "constraints");
  require_texts(request.suppress, "suppress");
  JobSetting setting{
      .models = models,
      .search = read_request_search(request.options.get(), impl_->options.max_hypotheses),
      .guess_source = [&detector = impl_->options.detector, models](std::string_view text, const std::string& target) {
        return Impl::guess_source(detector, *models, text, target);
      }};
  if (request.format == TextFormat::kHtml) require_plain_answer(request, setting.search);
  models->require_decoder(setting.search.decoder.value_or(""));
  const std::size_t weight =
      Admission::weight(request, std::max(request.alternatives + 1, setting.search.n_best.value_or(1)));
  const std::string caller = request.caller;
  std::vector<std::size_t> characters;
  for (const std::string& text : request.texts) characters.push_back(Admission::characters(text));
  impl_->admission.enter(weight, Admission::Clock::now(), caller);
  try {
    impl_->scheduler.add(
        std::move(request),
        [&admission = impl_->admission, weight, caller, characters = std::move(characters),
         done = std::move(done)](TranslateResult result) {
          std::size_t translated = 0;
          for (std::size_t i = 0; i < characters.size(); ++i)
            if (!result.texts[i].error) translated += characters[i];
          admission.leave(weight, translated, caller);
          done(std::move(result));
        },
        std::move(setting));
  } catch (...) {
    impl_->admission.leave(weight, 0, caller);
    throw;
  }
}

std::vector<Language> TranslationService::languages() const {
  return impl_->current()->languages();
}

std::optional<std::string> TranslationService::find_language(std::string_view code) const {
  return impl_->current()->find_language(code);
}

bool TranslationService::offers(const std::string& source, const std::string& target) const {
  return impl_->current()->offers(source, target);
}

std::string TranslationService::language_name(const std::string& code) {
  return server::language_name(code);
}

std::vector<ModelInfo> TranslationService::models() const {
  return impl_->current()->models();
}

std::vector<std::string> TranslationService::decoders() const {
  return impl_->current()->decoders();
}

std::int32_t TranslationService::max_hypotheses() const noexcept {
  return impl_->options.max_hypotheses;
}

std::vector<LanguageGuess> TranslationService::detect(std::string_view text, std::size_t most) const {
  const std::shared_ptr<const ModelSet> models = impl_->current();
  std::vector<LanguageGuess> guesses = Impl::guesses(impl_->options.detector, text, most);
  for (LanguageGuess& guess : guesses)
    if (const auto code = models->find_language(guess.language)) guess.language = *code;
  return guesses;
}

void TranslationService::reload() {
  const std::lock_guard one_at_a_time(impl_->reloading);
  auto models = std::make_shared<const ModelSet>(impl_->options);
  std::shared_ptr<const ModelSet> old;
  const std::lock_guard lock(impl_->mutex);
  old = std::exchange(impl_->models, std::move(models));
}

ServiceLoad TranslationService::load() const {
  ServiceLoad load;
  impl_->admission.describe(load);
  load.sentences = impl_->scheduler.sentences_in_flight();
  load.sentences_done = impl_->scheduler.sentences_done();
  return load;
}

}  // namespace dragoman::server
