#include "commands/serve/reload_worker.h"
#include "options/model_options.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "program/command.h"
#include "program/standard_streams.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_spelling.h>
#include <dragoman/core/yaml.h>
#include <dragoman/decoding/option_table.h>
#include <dragoman/detection/language_detector.h>
#include <dragoman/plugins/host.h>
#include <dragoman/server/dialects.h>
#include <dragoman/server/http_server.h>
#include <dragoman/server/keys.h>
#include <dragoman/server/line_writer.h>
#include <dragoman/server/operation.h>
#include <dragoman/server/page.h>
#include <dragoman/server/server_options.h>
#include <dragoman/server/suggestion_file.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// The key of a server's file with the options of searches.
constexpr const char* kSearchKey = "decoding";

/// Options of the search that only requests have: for all of them, the server would compute what nobody receives.
constexpr std::array<std::string_view, 2> kRequestKeys = {"n_best", "alignment"};

/// Files that the server needs besides connections: models, logs, libraries.
constexpr std::uint64_t kOtherFiles = 64;

/// Raises the number of files that the process may open, and returns how many connections there may be.
std::uint64_t allow_connections(std::uint64_t wanted, const core::LogSink& log) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  const rlim_t needed = wanted + kOtherFiles;
  if (files.rlim_cur < needed) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, needed);
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= needed) return wanted;
  const std::uint64_t possible = files.rlim_cur > kOtherFiles ? files.rlim_cur - kOtherFiles : 1;
  core::log(log, core::LogLevel::kInfo,
            fmt::format("at most {} connections, since the system allows {} open files (ulimit -n)", possible,
                        static_cast<std::uint64_t>(files.rlim_cur)));
  return possible;
}

void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    const std::lock_guard lock(mutex);
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  stopped.wait(lock, [&] { return stop.stop_requested(); });
}

class Serve final : public Command {
 public:
  std::string_view name() const override { return "serve"; }
  std::string_view summary() const override { return "serve translations over HTTP, and a page for browsers"; }
  std::string_view examples() const override {
    return "dragoman serve --model de-en=models/de-en --model en-de=models/en-de\n"
           "dragoman serve --config server.yml --port 8080\n"
           "dragoman serve --keys keys.yml --make-key alice --requests-per-minute 120\n";
  }
  bool logs() const override { return true; }

  void add_options(po::options_description& options) override {
    options.add_options()(
        "config", po::value(&config_)->value_name("FILE"),
        "YAML file with options of this command; the command line takes precedence. Its key `decoding` has options of "
        "the search")(
        "make-key", po::value(&new_key_)->value_name("NAME"),
        "add a key to the file of --keys, with --requests-per-minute and --character-limit, print it, and exit");
    server_.add_to(options);
    search_.add_to(options);
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }

  void run(const Session& session) override {
    const server::ServerOptions options = read_options(session);
    if (!new_key_.empty()) {
      make_key(options);
      return;
    }
    if (options.models.empty()) throw UsageError("give a --model, such as --model de-en=models/de-en");
    serve(options, session);
  }

 private:
  server::ServerOptions read_options(const Session& session) {
    core::Json tree = core::Json::object();
    std::string where = "serve";
    if (!config_.empty()) {
      tree = core::load_yaml(config_, session.stop);
      if (tree.is_null()) tree = core::Json::object();
      core::require(tree.is_object(), core::ErrorCode::kBadInput, "{}: must be an object with options of serve",
                    config_);
      tree = core::spelled_with_underscores(tree, config_);
      where = config_;
      model_options_.take_from(tree, config_);
      for (const core::Option& option : decoding::search_table().options())
        core::require(!tree.contains(option.name), core::ErrorCode::kBadInput,
                      "{}: {}: is an option of the search; write it under `{}`", config_, option.name, kSearchKey);
      if (const auto search = tree.find(kSearchKey); search != tree.end()) {
        searches_ = *search;
        tree.erase(search);
      }
    }
    // A list of the command line replaces the file's.
    for (const auto& [key, value] : server_.said().items()) tree[key] = value;
    try {
      return server::read_server_options(tree, where);
    } catch (const core::Error& error) {
      if (config_.empty()) throw UsageError(error, where);
      throw;
    }
  }

  void make_key(const server::ServerOptions& options) {
    if (options.keys.empty()) throw UsageError("--make-key needs --keys FILE");
    const std::string key = server::add_key(options.keys, {.name = new_key_,
                                                           .requests_per_minute = options.requests_per_minute,
                                                           .character_limit = options.character_limit});
    fmt::print("{}\n", key);
  }

  server::ServiceOptions service_options(const server::ServerOptions& options, const Session& session) {
    plugins::Host& host = plugins::default_host();
    for (const std::string& plugin : model_options_.host().plugins) host.loader().load(plugin);
    server::ServiceOptions service;
    service.detector = [](std::string_view text, std::size_t most) {
      std::vector<server::LanguageGuess> guesses;
      for (detection::Guess& guess : detection::built_in_detector().detect(text, most))
        guesses.push_back({.language = std::move(guess.language), .confidence = guess.confidence});
      return guesses;
    };
    for (const std::string& word : options.models) service.models.push_back(server::parse_served_model(word));
    service.pivot = options.pivot;
    service.model = model_options_.read(host, session.log);
    core::Json searches = searches_;
    searches.update(search_.said());
    core::OptionReader reader(searches, config_.empty() ? "serve" : config_ + ": " + kSearchKey);
    decoding::search_table().read(reader, service.translate.search);
    reader.finish();
    for (const std::string_view key : kRequestKeys)
      reader.check(!searches.contains(key), std::string(key), "is an option of requests, and not of the server");
    service.characters_in_flight = options.characters_in_flight;
    service.log = session.log;
    return service;
  }

  /// Opens the file of suggestions, if there is one. It is none of the files that the server reads, now or at a reload.
  std::shared_ptr<server::SuggestionFile> open_suggestions(const server::ServerOptions& options,
                                                           const server::ServiceOptions& service,
                                                           const Session& session) const {
    const std::string& file = options.suggestions;
    if (file.empty()) return nullptr;
    std::vector<std::filesystem::path> inputs{config_, options.keys, options.tls_certificate, options.tls_key};
    for (const server::ServedModel& model : service.models) inputs.push_back(model.folder);
    for (const std::string& plugin : model_options_.host().plugins) inputs.emplace_back(plugin);
    try {
      core::require_not_an_input(file, inputs);
    } catch (const core::Error& error) {
      throw UsageError(fmt::format("--suggestions {}", error.what()));
    }
    return std::make_shared<server::SuggestionFile>(file, session.log);
  }

  static server::DialectOptions dialect_options(const server::ServerOptions& options,
                                                std::shared_ptr<server::SuggestionFile> suggestions) {
    server::DialectOptions dialects;
    dialects.character_limit = options.character_limit;
    dialects.batch_limit = options.batch_limit;
    dialects.alternatives_limit = options.alternatives_limit;
    dialects.has_keys = !options.keys.empty();
    dialects.requires_key = !options.keys.empty() && !options.keys_optional;
    dialects.key_link = options.key_link;
    dialects.translates_files = !options.no_files;
    dialects.public_url = options.public_url;
    if (suggestions)
      dialects.suggest = [suggestions = std::move(suggestions)](const server::DialectOptions::Suggestion& suggestion) {
        return suggestions->append(suggestion);
      };
    return dialects;
  }

  static void add_metrics(server::Metrics& metrics, const server::TranslationService& service,
                          const server::http::HttpServer& listener) {
    using Kind = server::Metrics::Kind;
    const auto add = [&](const char* name, Kind kind, const char* help, auto member) {
      metrics.add(name, kind, help, [&service, member] { return static_cast<double>(service.load().*member); });
    };
    using Load = server::ServiceLoad;
    add("dragoman_requests_in_flight", Kind::kGauge, "Requests to translate that are not answered yet.",
        &Load::requests);
    add("dragoman_characters_in_flight", Kind::kGauge,
        "Characters of these requests, as --characters-in-flight counts them.", &Load::characters);
    add("dragoman_sentences_in_flight", Kind::kGauge, "Sentences that are being translated.", &Load::sentences);
    add("dragoman_requests_total", Kind::kCounter, "Requests that were translated.", &Load::requests_done);
    add("dragoman_characters_total", Kind::kCounter, "Characters that were translated.", &Load::characters_done);
    add("dragoman_sentences_total", Kind::kCounter, "Sentences that were translated.", &Load::sentences_done);
    add("dragoman_busy_total", Kind::kCounter, "Requests that were refused because of --characters-in-flight.",
        &Load::refused);
    metrics.add("dragoman_http_connections", Kind::kGauge, "Open connections.",
                [&listener] { return static_cast<double>(listener.connections()); });
    metrics.add("dragoman_http_requests_in_flight", Kind::kGauge, "Requests that are not answered yet.",
                [&listener] { return static_cast<double>(listener.requests_in_flight()); });
    metrics.add("dragoman_http_buffered_bytes", Kind::kGauge, "Memory of the requests in flight.",
                [&listener] { return static_cast<double>(listener.buffered_bytes()); });
  }

  void serve(server::ServerOptions options, const Session& session) {
    session.on_hangup([] {});  // a reload before there is anything to reload
    options.connections = allow_connections(options.connections, session.log);
    // First, since replies write to it until the service has ended.
    server::LineWriter log([](std::string_view lines) { write_to_standard_error(lines); });
    // The models are loaded last, so that faults of options and small files show at once. The service is here, since
    // the routes use it for as long as there are connections.
    std::optional<server::TranslationService> service;
    const server::ServiceOptions of_service = service_options(options, session);

    server::http::HttpServer* running = nullptr;
    server::Operation* operating = nullptr;
    // All files are read before anything is replaced, so that a fault in one leaves all as they were.
    ReloadWorker reloads([&] {
      const auto use_keys = operating->prepare_keys();
      const auto use_certificate = running->prepare_certificate();
      service->reload();
      use_keys();
      use_certificate();
    });
    const auto reload = [&](const ReloadWorker::Done& done) {
      reloads.request([&session, done](const std::string& problem) {
        if (problem.empty())
          core::log(session.log, core::LogLevel::kInfo, "reloaded models, keys and certificate");
        else
          core::log(session.log, core::LogLevel::kWarning,
                    "the reload failed; models, keys and certificate stay as they were: " + problem);
        if (done) done(problem);
      });
    };
    const auto suggestions = open_suggestions(options, of_service, session);
    server::Operation operation(options,
                                {.log_line = [&](const std::string& line) { log.write(line); }, .reload = reload});
    server::http::ServerSetup setup = operation.setup();
    setup.log = session.log;
    server::http::HttpServer listener(std::move(setup), operation.handler());
    operating = &operation;
    running = &listener;

    service.emplace(of_service);
    // From here on, requests end when the server has drained, and not at the signal.
    core::set_default_stop({});
    server::add_dialects(operation.router(), *service, dialect_options(options, suggestions));
    server::add_page_routes(operation.router());
    operation.finish_routes();
    add_metrics(operation.metrics(), *service, listener);
    listener.start();
    session.saves_work_from_now();  // the drain
    session.on_hangup([&] { reload({}); });
    for (const std::string& url : listener.urls()) {
      fmt::print("{}\n", url);
      core::log(session.log, core::LogLevel::kInfo, "listening at " + url);
    }
    finish_standard_output();

    wait_for(session.stop);
    session.on_hangup({});
    core::log(session.log, core::LogLevel::kInfo, "stopping: finishing requests; another signal ends at once");
    const auto bound =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(options.drain_time));
    const bool in_time = listener.drain(bound);
    reloads.end();
    if (!in_time)
      core::log(session.log, core::LogLevel::kWarning,
                fmt::format("requests were not finished within {} s, and were cancelled", options.drain_time));
  }

  std::string config_;
  std::string new_key_;
  core::Json searches_ = core::Json::object();
  StageOptions server_{server::server_option_table().options()};
  StageOptions search_{decoding::search_table().options(), {kRequestKeys.begin(), kRequestKeys.end()}};
  ModelOptions model_options_{true};
};

}  // namespace

std::unique_ptr<Command> make_serve() {
  return std::make_unique<Serve>();
}

}  // namespace dragoman::cli
