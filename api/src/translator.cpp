#include "dragoman/dragoman.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/logits_processors.h>
#include <dragoman/pipeline/model_view.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/host.h>

namespace dragoman {
namespace {

/// Returns the options of a search. Error{kBadInput} names an option that is invalid for this model.
pipeline::TranslateOptions translate_options(const Model& model, const Search& search,
                                             const decoding::SearchPlan::MakeProcessors& processors) {
  pipeline::TranslateOptions options{.search = search, .make_further_processors = processors};
  try {
    options.checked_search(model.view().search_defaults);
  } catch (const Error& error) {
    core::fail_within("search", error, ErrorCode::kBadInput);
  }
  return options;
}

decoding::SearchPlan::MakeProcessors find_processors(const Model& model,
                                                     const std::map<std::string, std::string>& named) {
  core::Json all = core::Json::object();
  for (const auto& [name, options] : named)
    all[name] = options.empty() ? core::Json::object() : core::parse_json(options, "logits_processors: " + name);
  return pipeline::make_processors(all, model.host().registry(), "translator");
}

}  // namespace

struct Translator::Impl {
  Impl(const Model& shared_model, const Search& own_search, const std::map<std::string, std::string>& named)
      : model(shared_model),
        search(own_search),
        processors(find_processors(model, named)),
        translator(model, translate_options(model, search, processors)) {}

  /// A search that is ready to run. Calls with equal searches share one decoding::SearchPlan, so that workers prepare
  /// it once.
  struct Prepared {
    Search search;
    decoding::SharedSearch shared;
    std::optional<pipeline::MbrRanking> mbr;
  };
  Prepared prepare(const Search& wanted) {
    const Search whole = decoding::merged(wanted, search);
    const std::lock_guard lock(mutex);
    for (const Prepared& known : prepared)
      if (known.search == whole) return known;
    const pipeline::TranslateOptions options = translate_options(model, whole, processors);
    const pipeline::ModelView view = model.view();
    Prepared made{whole, options.plan(view), options.mbr_ranking(view.search_defaults)};
    made.shared->check(view.spec());
    constexpr std::size_t kKept = 64;
    if (prepared.size() >= kKept) prepared.clear();
    return prepared.emplace_back(std::move(made));
  }

  Model model;
  Search search;
  decoding::SearchPlan::MakeProcessors processors;
  pipeline::Translator translator;
  std::mutex mutex;
  std::vector<Prepared> prepared;
};

Translator::Translator(const Model& model, const Search& search,
                       const std::map<std::string, std::string>& logits_processors)
    : impl_(std::make_shared<Impl>(model, search, logits_processors)) {}

namespace {

pipeline::Markup markup_of(const Request& request) {
  core::require_option(request.markup == "none" || request.markup == "html", "markup", ErrorCode::kInvalidArgument,
                       "markup: is {}, but must be none or html", core::quote(request.markup));
  return request.markup == "html" ? pipeline::Markup::kHtml : pipeline::Markup::kNone;
}

pipeline::RecordOptions record_options(const Request& request) {
  pipeline::RecordOptions options{.input_pieces = request.input_pieces,
                                  .output_pieces = request.output_pieces,
                                  .markup = markup_of(request),
                                  .ignore_line_options = true,
                                  .stop = request.stop};
  if (!request.source_language.empty() || !request.target_language.empty())
    options.languages = {request.source_language, request.target_language};
  if (!request.target_prefix.empty()) options.target_prefix = request.target_prefix;
  if (!request.constraints.empty()) options.constraints = request.constraints;
  if (request.on_partial)
    options.on_partial = [tell = request.on_partial](const pipeline::PartialRecord& partial) { tell(partial.text); };
  return options;
}

pipeline::RecordOptions batch_options(const Request& request, std::size_t texts) {
  core::require(!request.on_partial || texts == 1, ErrorCode::kInvalidArgument,
                "on_partial cannot tell which of {} texts it is called for; call submit() for each text", texts);
  return record_options(request);
}

pipeline::Record record_of(std::string_view text, std::uint64_t line) {
  pipeline::Record record;
  record.line = line;
  record.text = text;
  pipeline::clean_line(record.text);
  return record;
}

using Results = std::vector<Translation>;

/// Submits texts 0, 1, ... and returns their results in order when all are done; throws the first error. After a stop
/// request it submits no more, since each of many texts would only fail.
template <class Result, class Submit>
std::vector<Result> translate_all(std::size_t texts, const std::stop_token& stop, const Submit& submit) {
  std::vector<std::future<Result>> futures;
  for (std::size_t i = 0; i < texts && !stop.stop_requested(); ++i) {
    const auto promise = std::make_shared<std::promise<Result>>();
    futures.push_back(promise->get_future());
    submit(i, promise);
  }
  std::vector<Result> results;
  std::exception_ptr first;
  for (std::size_t i = 0; i < futures.size(); ++i) {
    try {
      results.push_back(futures[i].get());
    } catch (const Error& error) {
      if (first) continue;
      first = futures.size() == 1
                  ? std::current_exception()
                  : std::make_exception_ptr(
                        Error(error.code(), fmt::format("text {}: {}", i + 1, error.what()), error.location()));
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  core::require(futures.size() == texts, ErrorCode::kInterrupted, "the translation was interrupted");
  return results;
}

/// nullptr: the record has a translation.
std::exception_ptr error_of(const pipeline::TranslatedRecord& result) {
  if (!result.error && result.record.failed())
    return std::make_exception_ptr(Error(ErrorCode::kBadInput, result.record.message));
  return result.error;
}

void submit_for_text(pipeline::Translator& translator, pipeline::Record record, pipeline::RecordOptions options,
                     const std::shared_ptr<std::promise<std::string>>& promise) {
  translator.submit(std::move(record), std::move(options), [promise](pipeline::TranslatedRecord result) {
    if (const std::exception_ptr error = error_of(result))
      promise->set_exception(error);
    else
      promise->set_value(std::move(result.record.text));
  });
}

void submit_for_translations(pipeline::Translator& translator, pipeline::Record record, pipeline::RecordOptions options,
                             Translator::Done done) {
  const auto translations = std::make_shared<Results>();
  options.on_translations = [translations](Results found) { *translations = std::move(found); };
  translator.submit(std::move(record), std::move(options),
                    [translations, done = std::move(done)](const pipeline::TranslatedRecord& result) {
                      const std::exception_ptr error = error_of(result);
                      done(error ? Results() : std::move(*translations), error);
                    });
}

}  // namespace

std::string Translator::translate(std::string_view text, const Request& request) const {
  return std::move(translate_batch({std::string(text)}, request).front());
}

std::vector<Translation> Translator::translate(std::string_view text, const Search& search,
                                               const Request& request) const {
  return std::move(translate_batch({std::string(text)}, search, request).front());
}

std::vector<std::string> Translator::translate_batch(const std::vector<std::string>& texts,
                                                     const Request& request) const {
  const pipeline::RecordOptions options = batch_options(request, texts.size());
  return translate_all<std::string>(texts.size(), request.stop, [&](std::size_t i, const auto& promise) {
    submit_for_text(impl_->translator, record_of(texts[i], i + 1), options, promise);
  });
}

std::vector<std::vector<Translation>> Translator::translate_batch(const std::vector<std::string>& texts,
                                                                  const Search& search, const Request& request) const {
  const auto prepared = impl_->prepare(search);
  pipeline::RecordOptions options = batch_options(request, texts.size());
  options.plan = prepared.shared;
  options.mbr = prepared.mbr;
  return translate_all<Results>(texts.size(), request.stop, [&](std::size_t i, const auto& promise) {
    submit_for_translations(impl_->translator, record_of(texts[i], i + 1), options,
                            [promise](Results found, const std::exception_ptr& error) {
                              if (error)
                                promise->set_exception(error);
                              else
                                promise->set_value(std::move(found));
                            });
  });
}

void Translator::submit(std::string_view text, const Search& search, const Request& request, Done done) const {
  const auto prepared = impl_->prepare(search);
  pipeline::RecordOptions options = record_options(request);
  options.plan = prepared.shared;
  options.mbr = prepared.mbr;
  submit_for_translations(impl_->translator, record_of(text, 1), std::move(options), std::move(done));
}

std::future<std::vector<Translation>> Translator::submit(std::string_view text, const Search& search,
                                                         const Request& request) const {
  const auto promise = std::make_shared<std::promise<Results>>();
  submit(text, search, request, [promise](Results found, const std::exception_ptr& error) {
    if (error)
      promise->set_exception(error);
    else
      promise->set_value(std::move(found));
  });
  return promise->get_future();
}

}  // namespace dragoman
