#include "regex/matcher.h"

#include "regex/pattern.h"

#include <mutex>

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

void initialize_oniguruma() {
  static std::once_flag once;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
  });
}

std::string message_of(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = onig_error_code_to_str(text, code, info);
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
  explicit Oniguruma(std::string_view expression) : expression_(expression) {
    initialize_oniguruma();
    regex_t* compiled = nullptr;
    OnigErrorInfo info;
    const int code = onig_new(&compiled, bytes_of(expression), bytes_of(expression) + expression.size(),
                              ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    regex_.reset(compiled);  // null if it failed
    if (code != ONIG_NORMAL)
      core::fail(ErrorCode::kBadInput, "the pattern {}: {}", Quoted{expression_}, message_of(code, &info));
  }

  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit) const override {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    const std::unique_ptr<OnigRegion, FreeRegion> region(onig_region_new());
    const std::unique_ptr<OnigMatchParam, FreeParameters> parameters(onig_new_match_param());
    require(region != nullptr && parameters != nullptr, ErrorCode::kInternal, "no memory to look for a pattern");
    onig_initialize_match_param(parameters.get());
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
  struct FreeRegex {
    void operator()(regex_t* regex) const { onig_free(regex); }
  };
  struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  };
  struct FreeParameters {
    void operator()(OnigMatchParam* parameters) const { onig_free_match_param(parameters); }
  };

  /// Oniguruma does not say how often it has gone back. So it is given few steps, and more if they were not enough;
  /// what it was given comes off `retries`, which are those of all searches in the text together.
  int search(std::string_view text, std::size_t from, OnigRegion& region, OnigMatchParam& parameters,
             std::size_t& retries) const {
    for (std::size_t allowed = kFreeRetries;; allowed *= 4) {
      onig_set_retry_limit_in_match_of_match_param(&parameters, allowed);
      onig_set_retry_limit_in_search_of_match_param(&parameters, allowed);
      const int found =
          onig_search_with_param(regex_.get(), bytes_of(text), bytes_of(text) + text.size(), bytes_of(text) + from,
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

  std::string expression_;
  std::unique_ptr<regex_t, FreeRegex> regex_;
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
