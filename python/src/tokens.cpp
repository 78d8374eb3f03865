#include "call.h"
#include "parts.h"
#include "search.h"
#include "unfinished.h"
#include "with_threads.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/decoding/options.h>
#include <dragoman/decoding/search_plan.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/decoding/token_search.h>
#include <dragoman/dragoman.h>
#include <dragoman/engine/translation_engine.h>

// Searches and scores of token ids, for programs that have tokens of their own: dragoman.compat.ctranslate2.

namespace dragoman::python {
namespace {

using Tokens = std::vector<std::int32_t>;
using Batch = std::vector<Tokens>;

/// A model with a client of its workers.
struct TokenClient {
  explicit TokenClient(const Model& shared_model)
      : model(shared_model), client(std::make_unique<engine::Client>(model.engine())) {}

  Model model;
  std::unique_ptr<engine::Client> client;
};
using ClientHandle = WithThreads<TokenClient>;

/// A function of Python. The library may drop its owners when the interpreter is gone, so it is dropped before.
struct Callback {
  nb::object function;
};

/// Sequences that were submitted together.
class TokenJob {
 public:
  TokenJob(std::size_t size, std::shared_ptr<Callback> callback)
      : results_(size), open_(size), key_(unfinished().add(stop)), callback_(std::move(callback)) {
    if (size == 0) unfinished().remove(key_);
  }

  std::stop_source stop;
  /// Objects that the requests refer to.
  std::vector<std::shared_ptr<const decoding::Shortlist>> shortlists;

  struct Result {
    bool done = false;
    std::vector<decoding::Hypothesis> hypotheses{};
    decoding::TargetScore score{};
    std::exception_ptr error{};
  };

  void finish(std::size_t index, Result result) {
    std::unique_lock lock(mutex_);
    if (open_ == 1 && callback_ != nullptr) {
      // Not under the lock, which threads with the GIL take.
      lock.unlock();
      const CallbackScope scope(/*is_last=*/true);
      callback_->function.reset();
      lock.lock();
    }
    results_[index] = std::move(result);
    results_[index].done = true;
    if (--open_ == 0) unfinished().remove(key_);
    changed_.notify_all();
  }
  /// Fails what was not submitted.
  void fail_from(std::size_t first, const std::exception_ptr& error) {
    for (std::size_t i = first; i < results_.size(); ++i) finish(i, {.error = error});
  }
  std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  bool done(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return results_.at(index).done;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ == 0; });
  }
  void wait(std::size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return results_.at(index).done; });
  }
  /// Returns the result of a finished sequence, or throws its error. An error is handed out once: it refers to the
  /// frames of Python that raise it, and they refer to the job.
  const Result& at(std::size_t index) {
    const std::lock_guard lock(mutex_);
    Result& result = results_.at(index);
    core::require(result.done, ErrorCode::kInternal, "sequence {} is not finished", index);
    if (result.error) {
      const std::exception_ptr error = std::exchange(
          result.error, std::make_exception_ptr(core::Error(ErrorCode::kInternal, "its error was raised before")));
      std::rethrow_exception(error);
    }
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result> results_;
  std::size_t open_;
  std::uint64_t key_;
  std::shared_ptr<Callback> callback_;
};
using SharedJob = std::shared_ptr<TokenJob>;

using Observer = std::function<bool(const decoding::ObservedToken&)>;

/// Creates the searches of a call. Sentences share one unless it depends on the sentence.
class Plans {
 public:
  Plans(decoding::DecodingOptions options, decoding::TokenSearch common)
      : options_(std::move(options)), common_(std::move(common)) {}

  decoding::SharedSearch get(const Tokens& prefix, Observer observer) {
    decoding::TokenSearch additions = common_;
    if (additions.bias_strength > 0) additions.bias = prefix;
    additions.observer = std::move(observer);
    if (!additions.bias.empty() || additions.observer) return make_token_search(options_, additions);
    if (shared_ == nullptr) shared_ = make_token_search(options_, additions);
    return shared_;
  }

 private:
  decoding::DecodingOptions options_;
  decoding::TokenSearch common_;
  decoding::SharedSearch shared_;
};

/// The shortlists of sets of allowed tokens.
class AllowedTokens {
 public:
  explicit AllowedTokens(const nn::SequenceSpec& spec)
      : vocabularies_{.source_size = static_cast<std::int32_t>(spec.source_vocabulary),
                      .target_size = static_cast<std::int32_t>(spec.target_vocabulary),
                      .end = spec.end,
                      .unknown = spec.unknown} {}

  std::shared_ptr<const decoding::Shortlist> get(const Tokens& tokens) {
    auto& known = known_[tokens];
    if (known == nullptr)
      known = std::make_shared<const decoding::Shortlist>(vocabularies_, std::vector<decoding::Shortlist::Entry>(),
                                                          tokens, 1);
    return known;
  }

 private:
  decoding::ShortlistVocabularies vocabularies_;
  std::map<Tokens, std::shared_ptr<const decoding::Shortlist>> known_;
};

Observer observer_of(const std::shared_ptr<Callback>& callback, std::size_t index) {
  if (callback == nullptr) return {};
  return [callback, index](const decoding::ObservedToken& token) {
    const CallbackScope scope;
    const nb::object answer =
        callback->function(index, token.hypothesis, token.step, token.token, token.log_probability, token.is_last);
    const int truth = PyObject_IsTrue(answer.ptr());
    if (truth < 0) throw nb::python_error();
    return truth != 0;
  };
}

/// Queues all requests; one that cannot be queued fails alone.
template <class Submit>
void submit_all(const SharedJob& job, std::size_t size, const Submit& submit) {
  BlockingCall call;  // it may wait until there is room in the queue
  call.run([&] {
    for (std::size_t i = 0; i < size; ++i) {
      try {
        core::require(!call.stop().stop_requested(), ErrorCode::kInterrupted, "interrupted");
        submit(i);
      } catch (...) {
        job->fail_from(i, std::current_exception());
        return;
      }
    }
  });
}

SharedJob search(const ClientHandle& self, const Batch& sources, const Batch& prefixes, const std::string& options,
                 double prefix_bias, const std::optional<std::vector<double>>& sampling, std::uint32_t seed,
                 const std::vector<std::uint64_t>& lines, const Batch& allowed, const nb::object& function) {
  const TokenClient& client = self.get();
  decoding::TokenSearch common{.bias_strength = prefix_bias};
  if (sampling)
    common.sampling = decoding::WeightedSampling{.top_k = static_cast<std::int32_t>(sampling->at(0)),
                                                 .top_p = sampling->at(1),
                                                 .temperature = sampling->at(2),
                                                 .seed = seed};
  const Search said = read_search(options);
  const decoding::DecodingOptions resolved = decoding::resolve({&said});
  const nn::SequenceSpec spec = client.model.engine().spec();
  decoding::check(resolved, spec);
  Plans plans(resolved, common);
  AllowedTokens allowed_tokens(spec);
  const auto shared_callback = function.is_none() ? nullptr : std::make_shared<Callback>(Callback{function});
  auto job = std::make_shared<TokenJob>(sources.size(), shared_callback);
  submit_all(job, sources.size(), [&](std::size_t i) {
    const Tokens& prefix = i < prefixes.size() ? prefixes[i] : Tokens();
    engine::TranslationRequest request{.source = sources[i],
                                       .target_prefix = prefix_bias > 0 ? Tokens() : prefix,
                                       .line = i < lines.size() ? lines[i] : i,
                                       .search = plans.get(prefix, observer_of(shared_callback, i)),
                                       .stop = job->stop.get_token()};
    if (i < allowed.size()) {
      job->shortlists.push_back(allowed_tokens.get(allowed[i]));
      request.shortlist = job->shortlists.back().get();
    }
    client.client->submit(std::move(request), [job, i](engine::TranslationResult result) {
      job->finish(i, {.hypotheses = std::move(result.hypotheses), .error = result.error});
    });
  });
  return job;
}

SharedJob score(const ClientHandle& self, const Batch& sources, const Batch& targets) {
  const TokenClient& client = self.get();
  core::require(sources.size() == targets.size(), ErrorCode::kInvalidArgument,
                "there are {} sources and {} targets; each source needs its target", sources.size(), targets.size());
  auto job = std::make_shared<TokenJob>(sources.size(), nullptr);
  submit_all(job, sources.size(), [&](std::size_t i) {
    engine::ScoreRequest request{.source = sources[i], .target = targets[i], .stop = job->stop.get_token()};
    client.client->submit(std::move(request), [job, i](engine::ScoreResult result) {
      job->finish(i, {.score = std::move(result.score), .error = result.error});
    });
  });
  return job;
}

/// Waits with Ctrl-C, which stops the job.
template <class... Index>
void wait(const SharedJob& job, Index... index) {
  BlockingCall call;
  const std::stop_callback forward(call.stop(), [&] { job->stop.request_stop(); });
  call.run([&] { job->wait(static_cast<std::size_t>(index)...); });
}

nb::list to_list(const Tokens& tokens) {
  nb::list made;
  for (const std::int32_t token : tokens) made.append(token);
  return made;
}

/// Returns one tuple per hypothesis: tokens, score, log probability of each token and of the end, the end or -1, and
/// the attention to the source or None.
nb::list hypotheses(TokenJob& job, std::size_t index) {
  nb::list made;
  for (const decoding::Hypothesis& hypothesis : job.at(index).hypotheses) {
    core::require(hypothesis.stopped_by != decoding::StoppedBy::kNotFinite, ErrorCode::kBadInput,
                  "sequence {}: the model's scores are not finite", index);
    nb::list log_probabilities;
    for (const double value : hypothesis.token_log_probabilities) log_probabilities.append(value);
    nb::object attention = nb::none();
    if (!hypothesis.alignment.empty()) {
      nb::list rows;
      for (const auto& row : hypothesis.alignment) {
        nb::list weights;
        for (const float weight : row) weights.append(static_cast<double>(weight));
        rows.append(weights);
      }
      attention = rows;
    }
    made.append(
        nb::make_tuple(to_list(hypothesis.tokens), hypothesis.score, log_probabilities, hypothesis.end, attention));
  }
  return made;
}

nb::list log_probabilities(TokenJob& job, std::size_t index) {
  nb::list made;
  for (const double value : job.at(index).score.token_log_probabilities) made.append(value);
  return made;
}

struct JobHandle {
  SharedJob job;
};

}  // namespace

void add_tokens(nb::module_& module) {
  nb::class_<JobHandle>(module, "TokenJob")
      .def_prop_ro("open", [](const JobHandle& self) { return self.job->open(); })
      .def(
          "done", [](const JobHandle& self, std::size_t index) { return self.job->done(index); }, nb::arg("index"))
      .def("wait", [](const JobHandle& self) { wait(self.job); })
      .def(
          "wait_for", [](const JobHandle& self, std::size_t index) { wait(self.job, index); }, nb::arg("index"))
      .def("request_stop", [](const JobHandle& self) { self.job->stop.request_stop(); })
      .def(
          "hypotheses", [](const JobHandle& self, std::size_t index) { return hypotheses(*self.job, index); },
          nb::arg("index"))
      .def(
          "log_probabilities",
          [](const JobHandle& self, std::size_t index) { return log_probabilities(*self.job, index); },
          nb::arg("index"));
  nb::class_<ClientHandle>(module, "TokenClient")
      .def(nb::new_([](const WithThreads<Model>& model) { return ClientHandle(TokenClient(model.get())); }),
           nb::arg("model"))
      .def(
          "search",
          [](const ClientHandle& self, const Batch& sources, const Batch& prefixes, const std::string& options,
             double prefix_bias, const std::optional<std::vector<double>>& sampling, std::uint32_t seed,
             const std::vector<std::uint64_t>& lines, const Batch& allowed, const nb::object& callback) {
            return JobHandle{
                search(self, sources, prefixes, options, prefix_bias, sampling, seed, lines, allowed, callback)};
          },
          nb::arg("sources"), nb::arg("prefixes"), nb::arg("search"), nb::arg("prefix_bias"),
          nb::arg("sampling").none(), nb::arg("seed"), nb::arg("lines"), nb::arg("allowed"), nb::arg("callback").none())
      .def(
          "score",
          [](const ClientHandle& self, const Batch& sources, const Batch& targets) {
            return JobHandle{score(self, sources, targets)};
          },
          nb::arg("sources"), nb::arg("targets"));
}

}  // namespace dragoman::python
