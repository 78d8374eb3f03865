#include "regex/matcher.h"

#include "counted_expression.h"
#include "regex/pattern.h"

#include <algorithm>
#include <limits>
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
/// Oniguruma compiles case-insensitive letters in time quadratic in their number: 32 KB of them took over a second.
constexpr std::size_t kLongestForOniguruma = std::size_t{1} << 13;
/// A call of a counting function takes about the time of this number of steps of the linear engine.
constexpr std::size_t kStepsOfACall = 4;
/// The number of characters of an expression, or of a text that a reference compares, whose cost is about that of a
/// call.
constexpr std::size_t kCharactersPerCall = 16;
constexpr unsigned long kUnlimited = std::numeric_limits<unsigned long>::max();
/// The positions to which a search may backtrack are kept in memory, some 50 bytes each.
constexpr unsigned kMaxWaiting = 1U << 22;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

/// Oniguruma, loaded when the first pattern needs it. It is not linked because it defines functions with the names of
/// POSIX (regcomp, regexec), which would replace those in the C library in whole programs.
class OnigurumaLibrary {
 public:
  /// The data passed to the counting functions.
  struct Counted {
    SearchWork& work;
    std::size_t steps_of_a_call;
  };

  /// Throws Error{kUnsupported} if it is not installed.
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
  decltype(&onig_set_match_stack_limit_size_of_match_param) set_stack_limit = nullptr;
  decltype(&onig_set_callout_user_data_of_match_param) set_user_data = nullptr;
  decltype(&onig_set_callout_of_name) set_callout = nullptr;
  decltype(&onig_get_regex_by_callout_args) regex_of_callout = nullptr;
  decltype(&onig_number_of_captures) number_of_captures = nullptr;
  decltype(&onig_get_capture_range_in_callout) capture_range = nullptr;
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
    find(set_stack_limit, "onig_set_match_stack_limit_size_of_match_param");
    find(set_user_data, "onig_set_callout_user_data_of_match_param");
    find(set_callout, "onig_set_callout_of_name");
    find(regex_of_callout, "onig_get_regex_by_callout_args");
    find(number_of_captures, "onig_number_of_captures");
    find(capture_range, "onig_get_capture_range_in_callout");
    find(search, "onig_search_with_param");
    find(utf8, "OnigEncodingUTF8");
    find(default_syntax, "OnigDefaultSyntax");
    OnigEncoding encodings[] = {utf8};
    initialize(encodings, 1);
    define(kCountStep, count_step);
    define(kCountReference, count_reference);
  }

  static int count_step(OnigCalloutArgs* /*arguments*/, void* counted) {
    auto& [work, steps] = *static_cast<Counted*>(counted);
    return work.take(steps) ? ONIG_CALLOUT_SUCCESS : ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  /// A reference compares up to the number of characters of the longest text that it may represent.
  static int count_reference(OnigCalloutArgs* arguments, void* counted) {
    const OnigurumaLibrary& library = instance();
    auto& [work, steps] = *static_cast<Counted*>(counted);
    const int captures = library.number_of_captures(library.regex_of_callout(arguments));
    int longest = 0;
    for (int i = 1; i <= captures; ++i) {
      int begin = -1;
      int end = -1;
      if (library.capture_range(arguments, i, &begin, &end) == ONIG_NORMAL) longest = std::max(longest, end - begin);
    }
    const auto characters = static_cast<std::size_t>(longest) + static_cast<std::size_t>(captures);
    return work.take(steps + kStepsOfACall * characters / kCharactersPerCall) ? ONIG_CALLOUT_SUCCESS
                                                                              : ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  void define(std::string_view name, OnigCalloutFunc function) const {
    const std::string copy(name);  // Oniguruma takes it as non-const
    auto* const begin = const_cast<OnigUChar*>(bytes_of(copy));
    const int id = set_callout(utf8, ONIG_CALLOUT_TYPE_SINGLE, begin, begin + copy.size(), ONIG_CALLOUT_IN_PROGRESS,
                               function, nullptr, 0, nullptr, 0, nullptr);
    require(id >= 0, ErrorCode::kUnsupported, "{} cannot count the steps of a search", kFile);
  }

  template <class Pointer>
  void find(Pointer& pointer, const char* name) const {
    pointer = reinterpret_cast<Pointer>(dlsym(handle_, name));
    require(pointer != nullptr, ErrorCode::kUnsupported, "{} has no {}; version 6.9 has it", kFile, name);
  }

  void* handle_;  // loaded until the process ends
};

std::string message_of(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const auto describe = OnigurumaLibrary::instance().error_code_to_str;
  const int length = describe(text, code, info);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}

/// Returns the text with a control character for each byte that is not UTF-8, which engines cannot read.
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
  virtual void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit,
                        SearchWork& work) const = 0;
  virtual Engine engine() const noexcept = 0;
};

class Matcher::Linear final : public Searcher {
 public:
  explicit Linear(std::string_view expression) : pattern_(expression) {}

  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit,
                SearchWork& work) const override {
    Pattern::Search search(pattern_, text, work);
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
    require(expression.size() <= kLongestForOniguruma, ErrorCode::kBadInput,
            "the pattern {} of {} bytes is too long for one that cannot be searched for in linear time; at most {} are "
            "supported",
            Quoted{expression}, expression.size(), kLongestForOniguruma);
    compile(expression);  // so that messages refer to the user's expression
    const CountedExpression counted = count_steps_of(expression);
    compile(counted.text);
    steps_of_a_call_ = kStepsOfACall * (1 + counted.longest_run / kCharactersPerCall);
  }

  void for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit,
                SearchWork& work) const override {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    const auto free_region = [this](OnigRegion* used) { library_.free_region(used, 1); };
    const std::unique_ptr<OnigRegion, decltype(free_region)> region(library_.make_region(), free_region);
    const std::unique_ptr<OnigMatchParam, decltype(library_.free_parameters)> parameters(library_.make_parameters(),
                                                                                         library_.free_parameters);
    require(region != nullptr && parameters != nullptr, ErrorCode::kInternal, "no memory to look for a pattern");
    library_.initialize_parameters(parameters.get());
    library_.set_match_retries(parameters.get(), kUnlimited);  // the calls count instead
    library_.set_search_retries(parameters.get(), kUnlimited);
    library_.set_stack_limit(parameters.get(), kMaxWaiting);
    OnigurumaLibrary::Counted counted{work, steps_of_a_call_};
    library_.set_user_data(parameters.get(), &counted);
    std::size_t last = kNone;
    for (std::size_t from = 0; from <= text.size();) {
      const int found =
          library_.search(regex_.get(), bytes_of(text), bytes_of(text) + text.size(), bytes_of(text) + from,
                          bytes_of(text) + text.size(), region.get(), ONIG_OPTION_NONE, parameters.get());
      if (found == ONIG_MISMATCH) return;
      if (found < 0) fail_for_search(found, text.size(), work);
      const auto begin = static_cast<std::size_t>(region->beg[0]);
      const auto end = static_cast<std::size_t>(region->end[0]);
      // \K can put the beginning after the end.
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
  void compile(std::string_view expression) {
    regex_t* compiled = nullptr;
    OnigErrorInfo info;
    const int code = library_.make(&compiled, bytes_of(expression), bytes_of(expression) + expression.size(),
                                   ONIG_OPTION_NONE, library_.utf8, *library_.default_syntax, &info);
    regex_.reset(compiled);  // null if it failed
    if (code != ONIG_NORMAL)
      core::fail(ErrorCode::kBadInput, "the pattern {}: {}", Quoted{expression_}, message_of(code, &info));
  }

  [[noreturn]] void fail_for_search(int code, std::size_t length, const SearchWork& work) const {
    work.require_not_stopped();
    core::fail(ErrorCode::kBadInput,
               "the pattern {} gives up on a text of {} bytes: {}; cut the text into lines, or write the pattern so "
               "that it goes over the text less often",
               Quoted{expression_}, length,
               code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER ? "too many steps" : message_of(code, nullptr));
  }

  const OnigurumaLibrary& library_;
  std::string expression_;
  std::unique_ptr<regex_t, decltype(library_.free)> regex_;
  std::size_t steps_of_a_call_ = 0;
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
  SearchWork work(text.size());
  for_each(text, visit, work);
}

void Matcher::for_each(std::string_view text, core::FunctionRef<void(std::size_t, std::size_t)> visit,
                       SearchWork& work) const {
  if (core::find_invalid_utf8(text) == std::string::npos) return searcher_->for_each(text, visit, work);
  searcher_->for_each(without_invalid_bytes(text), visit, work);
}

}  // namespace dragoman::tokenizer
