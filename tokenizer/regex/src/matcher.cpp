#include "regex/matcher.h"

#include "regex/pattern.h"

#include <string>

#include <dlfcn.h>
#include <oniguruma.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

constexpr std::size_t kLongestExpression = std::size_t{1} << 16;
/// What a text may cost in steps back beside some for each of its bytes: more than any pattern of a tokenizer needs.
constexpr std::size_t kMostRetries = 1'000'000;
constexpr std::size_t kRetriesPerByte = 64;
/// A search that needs no more steps back is not counted.
constexpr std::size_t kFreeRetries = 128;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

/// Oniguruma, loaded when the first pattern needs it. It is not linked: it brings functions with the names of POSIX's
/// (regcomp, regexec), which would take the place of the C library's in whole programs.
class OnigurumaLibrary {
 public:
  /// Error{kUnsupported} if it is not installed.
  static const OnigurumaLibrary& instance() {
    static const OnigurumaLibrary library;
    return library;
  }

  decltype(&onig_initialize) initialize = nullptr;
  decltype(&onig_new) make = nullptr;
  decltype(&onig_free) free = nullptr;
  decltype(&onig_error_code_to_str) error_code_to_str = nullptr;
  decltype(&onig_region_new) make_region = nullptr;
  decltype(&onig_region_free) free_region = nullptr;
  decltype(&onig_new_match_param) make_parameters = nullptr;
  decltype(&onig_free_match_param) free_parameters = nullptr;
  decltype(&onig_initialize_match_param) initialize_parameters = nullptr;
  decltype(&onig_set_retry_limit_in_match_of_match_param) set_match_retries = nullptr;
  decltype(&onig_set_retry_limit_in_search_of_match_param) set_search_retries = nullptr;
  decltype(&onig_search_with_param) search = nullptr;
  OnigEncoding utf8 = nullptr;
  OnigSyntaxType* const* default_syntax = nullptr;

 private:
  static constexpr const char* kFile = "libonig.so.5";

  OnigurumaLibrary() : handle_(dlopen(kFile, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* const reason = dlerror();
      core::fail(ErrorCode::kUnsupported,
                 "{}; a pattern needs Oniguruma, which is in Debian's package libonig5: install it",
                 reason == nullptr ? kFile : reason);
    }
    find(initialize, "onig_initialize");
    find(make, "onig_new");
    find(free, "onig_free");
    find(error_code_to_str, "onig_error_code_to_str");
    find(make_region, "onig_region_new");
    find(free_region, "onig_region_free");
    find(make_parameters, "onig_new_match_param");
    find(free_parameters, "onig_free_match_param");
    find(initialize_parameters, "onig_initialize_match_param");
    find(set_match_retries, "onig_set_retry_limit_in_match_of_match_param");
    find(set_search_retries, "onig_set_retry_limit_in_search_of_match_param");
    find(search, "onig_search_with_param");
    find(utf8, "OnigEncodingUTF8");
    find(default_syntax, "OnigDefaultSyntax");
    OnigEncoding encodings[] = {utf8};
    initialize(encodings, 1);
  }

  template <class Pointer>
  void find(Pointer& pointer, const char* name) const {
    pointer = reinterpret_cast<Pointer>(dlsym(handle_, name));
    require(pointer != nullptr, ErrorCode::kUnsupported, "{} has no {}; version 6.9 has it", kFile, name);
  }

  void* handle_;  // for as long as the process lives
};

std::string message_of(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const auto describe = OnigurumaLibrary::instance().error_code_to_str;
  const int length = describe(text, code, info);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}

/// The same text with a control character for each byte that is not UTF-8, which engines could not read.
std::string without_invalid_bytes(std::string_view text) {
  std::string valid(text);
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    if (!c.valid) valid.replace(at, c.length, c.length, '\x7F');
    at += c.length;
  }
  return valid;
}

}  // namespace

class Matcher::Searcher {
 public:
  virtual ~Searcher() = default;
  virtual void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const = 0;
  virtual Engine engine() const noexcept = 0;
};

class Matcher::Linear final : public Searcher {
 public:
  explicit Linear(std::string_view expression) : pattern_(expression, PatternDialect::kOniguruma) {}

  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const override {
    Pattern::Search search(pattern_, text);
    for (auto match = search.next(); match; match = search.next()) visit(match->begin, match->end);
  }
  Engine engine() const noexcept override { return Engine::kLinear; }

 private:
  Pattern pattern_;
};

class Matcher::Oniguruma final : public Searcher {
 public:
  explicit Oniguruma(std::string_view expression)
      : library_(OnigurumaLibrary::instance()), expression_(expression), regex_(nullptr, library_.free) {
    regex_t* compiled = nullptr;
    OnigErrorInfo info;
    const int code = library_.make(&compiled, bytes_of(expression), bytes_of(expression) + expression.size(),
                                   ONIG_OPTION_NONE, library_.utf8, *library_.default_syntax, &info);
    regex_.reset(compiled);  // null if it failed
    if (code != ONIG_NORMAL)
      core::fail(ErrorCode::kBadInput, "the pattern {}: {}", Quoted{expression_}, message_of(code, &info));
  }

  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const override {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    const auto free_region = [this](OnigRegion* used) { library_.free_region(used, 1); };
    const std::unique_ptr<OnigRegion, decltype(free_region)> region(library_.make_region(), free_region);
    const std::unique_ptr<OnigMatchParam, decltype(library_.free_parameters)> parameters(library_.make_parameters(),
                                                                                         library_.free_parameters);
    require(region != nullptr && parameters != nullptr, ErrorCode::kInternal, "no memory to look for a pattern");
    library_.initialize_parameters(parameters.get());
    std::size_t retries = kMostRetries + kRetriesPerByte * text.size();
    std::size_t last = kNone;
    for (std::size_t from = 0; from <= text.size();) {
      const int found = search(text, from, *region, *parameters, retries);
      if (found == ONIG_MISMATCH) return;
      if (found < 0) fail_for_search(found, text.size());
      const auto begin = static_cast<std::size_t>(region->beg[0]);
      const auto end = static_cast<std::size_t>(region->end[0]);
      // \K can put the beginning behind the end.
      require(begin >= (last == kNone ? 0 : last) && end >= begin, ErrorCode::kBadInput,
              "the pattern {} has a match that begins before the one in front of it ends", Quoted{expression_});
      if (begin == end && end == last) {
        from += from < text.size() ? core::decode_utf8(text, from).length : 1;
        continue;
      }
      visit(begin, end);
      from = last = end;
    }
  }
  Engine engine() const noexcept override { return Engine::kOniguruma; }

 private:
  /// Oniguruma does not say how often it has gone back. So it is given few steps, and more if they were not enough;
  /// what it was given comes off `retries`, which are those of all searches in the text together.
  int search(std::string_view text, std::size_t from, OnigRegion& region, OnigMatchParam& parameters,
             std::size_t& retries) const {
    for (std::size_t allowed = kFreeRetries;; allowed *= 4) {
      library_.set_match_retries(&parameters, allowed);
      library_.set_search_retries(&parameters, allowed);
      const int found =
          library_.search(regex_.get(), bytes_of(text), bytes_of(text) + text.size(), bytes_of(text) + from,
                          bytes_of(text) + text.size(), &region, ONIG_OPTION_NONE, &parameters);
      if (allowed > kFreeRetries) retries -= allowed;
      if (!is_out_of_retries(found) || retries < 4 * allowed) return found;
    }
  }

  static bool is_out_of_retries(int code) {
    return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  [[noreturn]] void fail_for_search(int code, std::size_t length) const {
    core::fail(ErrorCode::kBadInput, "the pattern {} gives up on a text of {} bytes: {}; {}", Quoted{expression_},
               length, message_of(code, nullptr),
               is_out_of_retries(code) ? "cut the text into lines, or write the pattern so that it goes back less"
                                       : "cut the text");
  }

  const OnigurumaLibrary& library_;
  std::string expression_;
  std::unique_ptr<regex_t, decltype(library_.free)> regex_;
};

std::unique_ptr<const Matcher::Searcher> Matcher::make(std::string_view expression, std::optional<Engine> engine) {
  require(expression.size() <= kLongestExpression, ErrorCode::kBadInput,
          "a pattern of {} bytes is too long; at most {} are supported", expression.size(), kLongestExpression);
  const std::size_t invalid = core::find_invalid_utf8(expression);
  require(invalid == std::string::npos, ErrorCode::kBadInput, "a pattern is not valid UTF-8 at offset {}", invalid);
  if (engine == Engine::kOniguruma) return std::make_unique<Oniguruma>(expression);
  try {
    return std::make_unique<Linear>(expression);
  } catch (const core::Error&) {
    if (engine) throw;
    return std::make_unique<Oniguruma>(expression);
  }
}

Matcher::Matcher(std::string_view expression) : expression_(expression), searcher_(make(expression, std::nullopt)) {}
Matcher::Matcher(std::string_view expression, Engine engine)
    : expression_(expression), searcher_(make(expression, engine)) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

Matcher::Engine Matcher::engine() const noexcept {
  return searcher_->engine();
}

void Matcher::for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const {
  if (core::find_invalid_utf8(text) == std::string::npos) return searcher_->for_each(text, visit);
  searcher_->for_each(without_invalid_bytes(text), visit);
}

}  // namespace dragoman::tokenizer
