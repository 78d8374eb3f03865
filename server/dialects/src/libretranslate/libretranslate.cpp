#include "common/answers.h"
#include "file_store.h"
#include "libretranslate_spec.h"
#include "libretranslate_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::server {
namespace {

using core::Json;

/// The translated files that wait for their download.
constexpr std::size_t kBytesOfFiles = std::size_t{64} << 20;
constexpr std::chrono::minutes kAgeOfFiles{30};
/// The pause of the typing user after which a page translates.
constexpr std::chrono::milliseconds kFrontendTimeout{500};
/// Characters of a suggestion and its text together.
constexpr std::size_t kMaxSuggestion = 10'000;

/// LibreTranslate's answer if it finds no language.
const LanguageGuess kNoGuess{"en", 0};

http::Response word_libretranslate(const Problem& problem) {
  Problem worded = problem;
  if (problem.status == 429) worded.message = "Slowdown: " + problem.message;
  return error_object(worded);
}

http::Response refuse_libretranslate(const DialectOptions& options, const http::Refusal& refusal) {
  switch (refusal.cause) {
    case http::Refusal::Cause::kMissingKey:
      return error_object({400, options.key_link.empty() ? "Please contact the server operator to get an API key"
                                                         : "Visit " + options.key_link + " to get an API key"});
    case http::Refusal::Cause::kInvalidKey:
      return error_object({403, "Invalid API key"});
    default:
      return word_libretranslate({refusal.status, refusal.reason, refusal.retry_after});
  }
}

Parameters parameters_of(const http::Request& request) {
  try {
    return Parameters(request);
  } catch (const BadBody& bad) {
    const bool json = request.headers.get("Content-Type").find("json") != std::string_view::npos;
    throw BadRequest(json ? "Invalid JSON format" : fmt::format("Invalid request: {}", bad.what()));
  }
}

std::string find_libretranslate_key(const http::Request& request) {
  try {
    return Parameters(request).text("api_key");
  } catch (const BadRequest&) {
    return {};
  }
}

BadRequest missing(const std::string& name) {
  return BadRequest(fmt::format("Invalid request: missing {} parameter", name));
}

/// Returns a parameter that must be there. If a form repeats it, the first value counts.
std::string required_text(const Parameters& parameters, const std::string& name) {
  const Json& value = parameters.get(name);
  const Json& one = value.is_array() && !value.empty() ? value.front() : value;
  const bool absent = one.is_null() || (one.is_string() && one.get_ref<const std::string&>().empty());
  if (absent) throw missing(name);
  if (!one.is_string()) throw BadRequest(fmt::format("Invalid request: {} parameter is not a text", name));
  return one.get<std::string>();
}

std::vector<std::string> read_q(const Parameters& parameters, bool& is_list) {
  const Json& q = parameters.get("q");
  if (q.is_null() || (q.is_array() && q.empty()) || is_text(q, "")) throw missing("q");
  std::vector<std::string> texts;
  try {
    texts = read_texts(q, "q", &is_list);
  } catch (const BadRequest&) {
    throw BadRequest("Invalid request: q parameter is not a text or a list of texts");
  }
  return texts;
}

std::int32_t read_alternatives(const Parameters& parameters, std::int32_t limit) {
  const Json& value = parameters.get("alternatives");
  std::int64_t number = 0;
  if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    number = static_cast<std::int64_t>(std::clamp(value.get<double>(), -1.0, 1e9));
  } else if (!value.is_null() && !is_text(value, "")) {
    const std::string text = value.is_string() ? value.get<std::string>() : std::string();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size())
      throw BadRequest("Invalid request: alternatives parameter is not a number");
  }
  number = std::max<std::int64_t>(number, 0);
  if (number > limit) throw BadRequest(fmt::format("Invalid request: alternatives parameter must be <= {}", limit));
  return static_cast<std::int32_t>(number);
}

Json guess_json(const LanguageGuess& guess) {
  return {{"confidence", std::round(guess.confidence * 1000) / 10},
          {"language", to_libretranslate_code(guess.language)}};
}

/// Returns the offered code for the one that a client names.
std::string find_language(const TranslationService& service, const std::string& code) {
  const auto found = service.find_language(from_libretranslate_code(code));
  if (!found) throw BadRequest(fmt::format("{} is not supported", core::printable(core::ascii_lower(code), 40)));
  return *found;
}

/// Its answers outlive the router if translations are under way.
class LibreTranslate : public std::enable_shared_from_this<LibreTranslate> {
 public:
  LibreTranslate(TranslationService& service, const DialectOptions& options)
      : service_(service), options_(options), files_(kBytesOfFiles, kAgeOfFiles) {}

  void translate(http::Request& request, http::Reply& reply);
  void translate_file(http::Request& request, http::Reply& reply);
  void download_file(const http::Request& request, http::Reply& reply);
  void detect(const http::Request& request, http::Reply& reply) const;
  void languages(http::Reply& reply) const;
  void settings(http::Reply& reply) const;
  void suggest(const http::Request& request, http::Reply& reply) const;
  void spec(http::Reply& reply) const { reply.send(json_answer(libretranslate_spec(service_, options_))); }

  const DialectOptions& options() const noexcept { return options_; }

 private:
  void set_languages(TranslateRequest& translate, const std::string& source, const std::string& target) const;
  std::string address(const http::Request& request) const;
  static Json answer(TranslateResult& result, const std::vector<std::string>& echoed, bool is_list, bool detects,
                     bool has_alternatives);

  TranslationService& service_;
  const DialectOptions options_;
  FileStore files_;
};

void LibreTranslate::set_languages(TranslateRequest& translate, const std::string& source,
                                   const std::string& target) const {
  translate.source = core::ascii_lower(source) == "auto" ? "auto" : find_language(service_, source);
  translate.target = find_language(service_, target);
}

void LibreTranslate::translate(http::Request& request, http::Reply& reply) {
  const Parameters parameters = parameters_of(request);
  TranslateRequest translate;
  bool is_list = false;
  translate.texts = read_q(parameters, is_list);
  const std::string source = required_text(parameters, "source");
  const std::string target = required_text(parameters, "target");
  translate.alternatives = read_alternatives(parameters, options_.alternatives_limit);
  if (!parameters.from_json())
    for (std::string& text : translate.texts) text = with_plain_line_ends(text);
  check_limits(translate.texts, request, options_);
  set_languages(translate, source, target);
  const std::string format = parameters.text("format");
  if (!format.empty() && format != "text" && format != "html")
    throw BadRequest(fmt::format("{} format is not supported", core::printable(format, 40)));
  if (format == "html") translate.format = TextFormat::kHtml;
  translate.glossary = read_terms(parameters.get("glossary"));
  follow(request, translate);
  // Texts without words keep their place, with an empty text for the service.
  std::vector<std::string> echoed(translate.texts.size());
  for (std::size_t i = 0; i < echoed.size(); ++i)
    if (is_untranslatable(translate.texts[i])) echoed[i] = std::exchange(translate.texts[i], {});
  const bool detects = translate.source == "auto";
  const bool has_alternatives = translate.alternatives > 0;
  // LibreTranslate answers an empty list for HTML.
  if (translate.format == TextFormat::kHtml) translate.alternatives = 0;
  translate_and_answer(service_, std::move(translate), reply, word_libretranslate,
                       [echoed = std::move(echoed), is_list, detects, has_alternatives](TranslateResult& result) {
                         return answer(result, echoed, is_list, detects, has_alternatives);
                       });
}

Json LibreTranslate::answer(TranslateResult& result, const std::vector<std::string>& echoed, bool is_list, bool detects,
                            bool has_alternatives) {
  Json translations = Json::array();
  Json guesses = Json::array();
  Json alternatives = Json::array();
  for (std::size_t i = 0; i < result.texts.size(); ++i) {
    TranslatedText& text = result.texts[i];
    translations.push_back(echoed[i].empty() ? text.text : echoed[i]);
    guesses.push_back(guess_json(echoed[i].empty() ? text.detected.value_or(kNoGuess) : kNoGuess));
    alternatives.push_back(text.alternatives);
  }
  const auto shaped = [is_list](Json& list) { return is_list ? std::move(list) : std::move(list.front()); };
  Json body;
  if (has_alternatives) body["alternatives"] = shaped(alternatives);
  if (detects) body["detectedLanguage"] = shaped(guesses);
  body["translatedText"] = shaped(translations);
  return body;
}

std::string LibreTranslate::address(const http::Request& request) const {
  if (!options_.public_url.empty()) return options_.public_url;
  const std::string_view host = request.headers.get("Host");
  const bool plain =
      !host.empty() && host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") ==
                           std::string_view::npos;
  return plain ? fmt::format("{}://{}", request.secure ? "https" : "http", host) : std::string();
}

void LibreTranslate::translate_file(http::Request& request, http::Reply& reply) {
  if (!options_.translates_files) throw BadRequest("Files translation are disabled on this server.", 403);
  Parameters parameters = parameters_of(request);
  const auto& files = parameters.files();
  const auto file = std::ranges::find(files, "file", &UploadedFile::field);
  if (file == files.end()) throw missing("file");
  const std::string source = required_text(parameters, "source");
  const std::string target = required_text(parameters, "target");
  if (file->name.empty()) throw BadRequest("Invalid request: empty file");
  const std::string name = core::ascii_lower(file->name);
  const bool html = name.ends_with(".html") || name.ends_with(".htm");
  if (!name.ends_with(".txt") && !html) throw BadRequest("Invalid request: file format not supported");
  TranslateRequest translate;
  std::string_view content = file->content;
  if (content.starts_with(core::kByteOrderMark)) content.remove_prefix(core::kByteOrderMark.size());
  core::replace_invalid_utf8(translate.texts.emplace_back(content));
  check_limits(translate.texts, request, options_);
  set_languages(translate, source, target);
  if (html) translate.format = TextFormat::kHtml;
  follow(request, translate);
  const std::string beginning = address(request) + "/download_file/";
  translate_and_answer(
      service_, std::move(translate), reply, word_libretranslate,
      [self = shared_from_this(), beginning, stored = file->name](TranslateResult& result) {
        return Json{{"translatedFileUrl", beginning + self->files_.put(stored, std::move(result.texts.front().text))}};
      });
}

void LibreTranslate::download_file(const http::Request& request, http::Reply& reply) {
  if (!options_.translates_files) throw BadRequest("Files translation are disabled on this server.");
  if (!FileStore::is_name(request.parameter)) throw BadRequest("Invalid filename");
  std::optional<std::string> content = files_.get(request.parameter);
  if (!content) throw BadRequest("Invalid filename: the file has expired, or was never there; translate it again", 404);
  const std::string name = FileStore::download_name(request.parameter);
  http::Response response = plain_answer(200, "application/octet-stream", std::move(*content));
  response.headers.set("Content-Disposition", fmt::format("attachment; filename={}", name));
  response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  reply.send(std::move(response));
}

void LibreTranslate::detect(const http::Request& request, http::Reply& reply) const {
  constexpr std::size_t kGuesses = 3;
  const Parameters parameters = parameters_of(request);
  bool is_list = false;
  std::string text;
  for (const std::string& part : read_q(parameters, is_list)) text += part + "\n";
  text.pop_back();
  check_limits({text}, request, options_);
  Json guesses = Json::array();
  if (!is_untranslatable(text))
    for (const LanguageGuess& guess : service_.detect(text, kGuesses)) guesses.push_back(guess_json(guess));
  if (guesses.empty()) guesses.push_back(guess_json(kNoGuess));
  reply.send(json_answer(guesses));
}

void LibreTranslate::languages(http::Reply& reply) const {
  Json list = Json::array();
  for (const Language& language : service_.languages()) {
    // A language is a target of itself: such texts come back as they are.
    Json targets = Json::array({to_libretranslate_code(language.code)});
    for (const std::string& target : language.targets) targets.push_back(to_libretranslate_code(target));
    list.push_back({{"code", to_libretranslate_code(language.code)}, {"name", language.name}, {"targets", targets}});
  }
  reply.send(json_answer(list));
}

void LibreTranslate::settings(http::Reply& reply) const {
  const std::vector<Language> languages = service_.languages();
  const auto first = std::ranges::find_if(languages, [](const Language& one) { return !one.targets.empty(); });
  const auto named = [](const std::string& code) {
    return Json{{"code", to_libretranslate_code(code)}, {"name", TranslationService::language_name(code)}};
  };
  const Json formats = options_.translates_files ? Json{".txt", ".html", ".htm"} : Json::array();
  const auto limit = static_cast<std::int64_t>(options_.character_limit);
  reply.send(json_answer({{"apiKeys", options_.has_keys},
                          {"charLimit", limit > 0 ? limit : -1},
                          {"filesTranslation", options_.translates_files},
                          {"frontendTimeout", kFrontendTimeout.count()},
                          {"keyRequired", options_.requires_key},
                          {"language",
                           {{"source", {{"code", "auto"}, {"name", "Auto Detect"}}},
                            {"target", first != languages.end() ? named(first->targets.front()) : named("en")}}},
                          {"suggestions", options_.suggest != nullptr},
                          {"supportedFilesFormat", formats}}));
}

void LibreTranslate::suggest(const http::Request& request, http::Reply& reply) const {
  if (!options_.suggest) throw BadRequest("Suggestions are disabled on this server.", 403);
  const Parameters parameters = parameters_of(request);
  DialectOptions::Suggestion suggestion;
  suggestion.text = required_text(parameters, "q");
  suggestion.translation = required_text(parameters, "s");
  suggestion.source = required_text(parameters, "source");
  suggestion.target = required_text(parameters, "target");
  check_limits({suggestion.text, suggestion.translation}, request, options_);
  const std::size_t size = count_characters(suggestion.text) + count_characters(suggestion.translation);
  if (size > kMaxSuggestion)
    throw BadRequest(fmt::format("Invalid request: request ({}) exceeds text limit ({})", size, kMaxSuggestion));
  suggestion.source = find_language(service_, suggestion.source);
  suggestion.target = find_language(service_, suggestion.target);
  if (!options_.suggest(suggestion))
    throw BadRequest("The suggestion cannot be stored now; please tell the server operator", 503);
  reply.send(json_answer({{"success", true}}));
}

}  // namespace

void add_libretranslate_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  const auto dialect = std::make_shared<LibreTranslate>(service, options);
  const auto add = [&](std::vector<std::string> methods, const std::string& pattern, http::Access access,
                       std::function<void(LibreTranslate&, http::Request&, http::Reply&)> answer) {
    for (std::string& method : methods) {
      http::Route made = route(
          std::move(method), pattern,
          guarded(word_libretranslate,
                  [dialect, answer](http::Request& request, http::Reply& reply) { answer(*dialect, request, reply); }),
          access);
      made.find_key = find_libretranslate_key;
      made.refuse = [dialect](const http::Request&, const http::Refusal& refusal) {
        return refuse_libretranslate(dialect->options(), refusal);
      };
      router.add(std::move(made));
    }
  };
  using http::Access;
  using http::Reply;
  using http::Request;
  using Libre = LibreTranslate;
  add({"POST"}, "/translate", Access::kKey, [](Libre& libre, Request& in, Reply& out) { libre.translate(in, out); });
  add({"POST"}, "/translate_file", Access::kKey,
      [](Libre& libre, Request& in, Reply& out) { libre.translate_file(in, out); });
  add({"GET"}, "/download_file/{name}", Access::kOpen,
      [](Libre& libre, Request& in, Reply& out) { libre.download_file(in, out); });
  add({"POST"}, "/detect", Access::kKey, [](Libre& libre, Request& in, Reply& out) { libre.detect(in, out); });
  add({"POST"}, "/suggest", Access::kKey, [](Libre& libre, Request& in, Reply& out) { libre.suggest(in, out); });
  // Older clients send POST.
  add({"GET", "POST"}, "/languages", Access::kOpen, [](Libre& libre, Request&, Reply& out) { libre.languages(out); });
  add({"GET", "POST"}, "/frontend/settings", Access::kOpen,
      [](Libre& libre, Request&, Reply& out) { libre.settings(out); });
  add({"GET"}, "/health", Access::kOpen, [](Libre&, Request&, Reply& out) {
    out.send(json_answer({{"status", "ok"}}));
  });
  add({"GET"}, "/spec", Access::kOpen, [](Libre& libre, Request&, Reply& out) { libre.spec(out); });
}

}  // namespace dragoman::server
