#include "dragoman/pipeline/translator.h"

#include "dragoman/pipeline/line_policy.h"
#include "record_translator.h"

#include <mutex>

namespace dragoman::pipeline {
namespace {

/// Results of records that are submitted together, in their order.
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

ShortlistSettings shortlist_settings(const TranslateOptions& options) {
  ShortlistSettings settings = options.shortlist;
  if (options.ignore_model_defaults && settings.path.empty()) settings.path = ShortlistSettings::kNone;
  return settings;
}

}  // namespace

struct Translator::Impl {
  Impl(const Model& shared_model, const TranslateOptions& options)
      : model(shared_model),
        shortlist(model.shortlist(shortlist_settings(options))),
        records(view()),
        usual(record_options(view(), options)),
        client(model.engine()) {
    usual.plan->check(model.engine().spec());
    records.view_for(usual);  // throws if lines of pieces cannot be read or written
  }

  ModelView view() const {
    ModelView view = model.view();
    view.shortlist = shortlist.get();
    return view;
  }

  /// Fills in the options that are unset.
  RecordOptions completed(RecordOptions options) const {
    if (options.plan == nullptr) {
      options.plan = usual.plan;
      options.mbr = usual.mbr;
    }
    if (!options.details) options.details = usual.details;
    if (!options.input_pieces) options.input_pieces = usual.input_pieces;
    if (!options.output_pieces) options.output_pieces = usual.output_pieces;
    if (!options.markup) options.markup = usual.markup;
    if (!options.attention) options.attention = usual.attention;
    if (!options.ignore_line_options) options.ignore_line_options = usual.ignore_line_options;
    if (!options.languages) options.languages = usual.languages;
    if (!options.target_prefix) options.target_prefix = usual.target_prefix;
    if (!options.constraints) options.constraints = usual.constraints;
    if (options.glossary == nullptr) options.glossary = usual.glossary;
    if (options.unknown_dictionary == nullptr) options.unknown_dictionary = usual.unknown_dictionary;
    return options;
  }

  Model model;
  std::shared_ptr<const decoding::Shortlist> shortlist;
  RecordTranslator records;
  RecordOptions usual;
  /// The client that submit() uses.
  engine::Client client;
};

Translator::Translator(const Model& model, const TranslateOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

void Translator::submit(Record record, RecordOptions options, Done done) {
  impl_->records.submit(impl_->client, std::move(record), impl_->completed(std::move(options)), std::move(done));
}

Translator::Session::Session(Translator& translator)
    : translator_(translator), client_(std::make_unique<engine::Client>(translator.impl_->model.engine())) {}
Translator::Session::~Session() = default;

void Translator::Session::submit(Record record, RecordOptions options, Done done) {
  const Impl& impl = *translator_.impl_;
  impl.records.submit(*client_, std::move(record), impl.completed(std::move(options)), std::move(done));
}

namespace {

/// Submits the record, and fulfils a promise with `result_of(result)`.
template <class Result, class ResultOf>
std::future<Result> submit_for_future(Translator& translator, Record record, RecordOptions options,
                                      ResultOf result_of) {
  const auto promise = std::make_shared<std::promise<Result>>();
  translator.submit(std::move(record), std::move(options), [=](TranslatedRecord done) {
    if (done.error)
      promise->set_exception(done.error);
    else
      promise->set_value(result_of(std::move(done.record)));
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
    engine::Client client(impl_->model.engine());
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
