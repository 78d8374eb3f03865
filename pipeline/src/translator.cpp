#include "dragoman/pipeline/translator.h"

#include "dragoman/pipeline/lexicon_builder.h"
#include "dragoman/pipeline/line_policy.h"
#include "record_translator.h"

#include <mutex>

#include <dragoman/core/error.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

/// Results of records that are submitted together, each at its place.
struct Results {
  explicit Results(std::size_t size) : records(size) {}

  void put(std::size_t i, TranslatedRecord result) {
    records[i] = std::move(result.record);
    if (!result.error) return;
    const std::lock_guard lock(mutex);
    if (!error) error = result.error;
  }

  std::vector<Record> records;
  std::mutex mutex;
  std::exception_ptr error;
};

tensor::ComputeType find_compute_type(const std::filesystem::path& folder, const plugins::Host& host,
                                      const Packing& packing, tensor::ComputeChoice stored) {
  if (packing.compute) return host.runtime().inference_type(packing.device, *packing.compute);
  try {
    return host.runtime().inference_type(packing.device, stored);
  } catch (const core::Error& error) {
    core::fail(error.code(), "{}: compute: {}; choose another type with --compute",
               (folder / formats::ModelFiles::kConfig).string(), error.what());
  }
}

/// Pieces of equal numbers must be equal texts.
void require_same_tokenizers(const std::filesystem::path& folder, const std::filesystem::path& first) {
  using formats::ModelFiles;
  const auto demand = [&](bool same, std::string_view what) {
    core::require(same, core::ErrorCode::kBadInput,
                  "{}: {} is another than in {}; models that translate together have the same tokenizers",
                  folder.string(), what, first.string());
  };
  demand(formats::load_model_config(folder).tokenizers == formats::load_model_config(first).tokenizers,
         "config.json: tokenizer");
  demand(formats::load_model_config(folder).languages == formats::load_model_config(first).languages,
         "config.json: languages");
  for (const char* name : ModelFiles::kTokenizers) {
    const bool there = std::filesystem::exists(folder / name);
    demand(there == std::filesystem::exists(first / name) &&
               (!there || formats::sha256_of_file(folder / name) == formats::sha256_of_file(first / name)),
           name);
  }
}

}  // namespace

Packing packing_of(const TranslateOptions& options) {
  return {.device = options.device,
          .compute = options.compute,
          .allow_non_finite = options.allow_non_finite,
          .threads = options.threads,
          .ensemble = options.ensemble,
          .shortlist = options.shortlist};
}

LoadedTranslationModel::LoadedTranslationModel(const std::filesystem::path& folder, plugins::Host& host,
                                               const Packing& packing)
    : loaded_(plugins::load_model(folder, host, {.device = packing.device})),
      weights_(packing.ensemble.weights),
      mean_(packing.ensemble.mean),
      compute_type_(find_compute_type(folder, host, packing, loaded_.config.compute)) {
  const auto executor = core::make_executor(packing.threads);
  const auto context = host.runtime().make_context(packing.device, *executor);
  const std::string weights = (folder / formats::ModelFiles::kWeights).string();
  loaded_.model->parameters().prepare(*context, compute_type_,
                                      {.refuse_non_finite_of = packing.allow_non_finite ? std::string() : weights,
                                       .non_finite_hint = "--allow-non-finite uses it all the same"});
  const bool alone_in_search = packing.ensemble.models.empty();
  core::require(packing.shortlist.none() || packing.shortlist.models_own || alone_in_search,
                core::ErrorCode::kUnsupported,
                "an ensemble needs the whole distribution of each model, so a shortlist would save nothing; leave one "
                "of them out");
  if (!packing.shortlist.none() && alone_in_search)
    shortlist_ = decoding::Shortlist::read(
        packing.shortlist.path,
        shortlist_vocabularies(loaded_.model->spec(), *loaded_.source_tokenizer, *loaded_.target_tokenizer),
        packing.shortlist.limits);
  Packing alone = packing;
  alone.ensemble = {};
  alone.shortlist = {};
  for (const std::string& other : packing.ensemble.models) {
    require_same_tokenizers(other, folder);
    others_.push_back(std::make_unique<const LoadedTranslationModel>(other, host, alone));
  }
  try {
    view().spec();
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", folder.string(), error.what());
  }
}

TranslationModel LoadedTranslationModel::view() const {
  TranslationModel view{loaded_.model.get(), loaded_.source_tokenizer.get(), loaded_.target_tokenizer.get(),
                        shortlist_ ? &*shortlist_ : nullptr};
  if (!loaded_.config.languages.empty()) view.languages = &loaded_.config.languages;
  if (others_.empty() && weights_.empty()) return view;
  view.ensemble = {.models = {view.model}, .weights = weights_, .mean = mean_};
  for (const auto& other : others_) view.ensemble.models.push_back(other->loaded_.model.get());
  return view;
}

struct Translator::Impl {
  Impl(const std::filesystem::path& folder, plugins::Host& host, const TranslateOptions& options)
      : model(folder, host, packing_of(options)),
        records(model.view()),
        usual(record_options(model.view(), options)),
        engine(host.runtime(), model.view().models(),
               {.threads = options.threads,
                .latency = options.latency,
                .device = options.device,
                .limits = options.limits}),
        client(engine) {
    usual.search->check(engine.spec());
  }

  /// With what they leave out.
  RecordOptions completed(RecordOptions options) const {
    if (options.search == nullptr) {
      options.search = usual.search;
      options.mbr = usual.mbr;
    }
    if (!options.details) options.details = usual.details;
    if (!options.attention) options.attention = usual.attention;
    if (!options.ignore_line_options) options.ignore_line_options = usual.ignore_line_options;
    if (!options.languages) options.languages = usual.languages;
    if (!options.target_prefix) options.target_prefix = usual.target_prefix;
    if (!options.constraints) options.constraints = usual.constraints;
    if (options.glossary == nullptr) options.glossary = usual.glossary;
    if (options.unknown_dictionary == nullptr) options.unknown_dictionary = usual.unknown_dictionary;
    return options;
  }

  LoadedTranslationModel model;
  RecordTranslator records;
  RecordOptions usual;
  engine::TranslationEngine engine;
  /// Of submit().
  engine::Client client;
};

Translator::Translator(const std::filesystem::path& model_folder, plugins::Host& host, const TranslateOptions& options)
    : impl_(std::make_unique<Impl>(model_folder, host, options)) {}
Translator::Translator(const std::filesystem::path& model_folder, plugins::Host& host)
    : Translator(model_folder, host, usual_translate_options(model_folder, host)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

void Translator::submit(Record record, RecordOptions options, Done done) {
  impl_->records.submit(
      impl_->client, std::move(record), impl_->completed(std::move(options)),
      [done = std::move(done)](TranslatedRecord result) { done(std::move(result.record), std::move(result.error)); });
}

namespace {

/// Submits the record, and fulfils a promise with what `result_of` makes of the result.
template <class Result, class ResultOf>
std::future<Result> submit_for_future(Translator& translator, Record record, RecordOptions options,
                                      ResultOf result_of) {
  const auto promise = std::make_shared<std::promise<Result>>();
  translator.submit(std::move(record), std::move(options), [=](Record done, const std::exception_ptr& error) {
    if (error)
      promise->set_exception(error);
    else
      promise->set_value(result_of(std::move(done)));
  });
  return promise->get_future();
}

}  // namespace

std::future<Record> Translator::submit(Record record, RecordOptions options) {
  return submit_for_future<Record>(*this, std::move(record), std::move(options), [](Record done) { return done; });
}

std::future<std::string> Translator::submit(std::string_view text, RecordOptions options) {
  Record record;
  record.line = 1;
  record.text = text;
  clean_line(record.text);
  return submit_for_future<std::string>(*this, std::move(record), std::move(options),
                                        [](Record done) { return std::move(done.text); });
}

std::vector<Record> Translator::translate(std::vector<Record> records, const RecordOptions& options) {
  const RecordOptions own = impl_->completed(options);
  Results results(records.size());
  {
    engine::Client client(impl_->engine);
    for (std::size_t i = 0; i < records.size(); ++i)
      impl_->records.submit(client, std::move(records[i]), own,
                            [&results, i](TranslatedRecord result) { results.put(i, std::move(result)); });
    client.wait();
  }
  if (results.error) std::rethrow_exception(results.error);
  return std::move(results.records);
}

std::vector<Record> Translator::translate(std::vector<Record> records) {
  return translate(std::move(records), RecordOptions());
}

std::vector<std::string> Translator::translate(std::span<const std::string> lines, const RecordOptions& options) {
  std::vector<Record> records(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    records[i].line = i + 1;
    records[i].text = lines[i];
    clean_line(records[i].text);
  }
  std::vector<std::string> results;
  for (Record& record : translate(std::move(records), options)) results.push_back(std::move(record.text));
  return results;
}

std::vector<std::string> Translator::translate(std::span<const std::string> lines) {
  return translate(lines, RecordOptions());
}

std::string Translator::translate(std::string_view text, const RecordOptions& options) {
  const std::string line(text);
  return std::move(translate(std::span(&line, 1), options).front());
}

std::string Translator::translate(std::string_view text) {
  return translate(text, RecordOptions());
}

}  // namespace dragoman::pipeline
