#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "dragoman/backend_cpu/install.h"
#include "kernels.h"

#include <fmt/format.h>

#include <dragoman/ops/work.h>

namespace dragoman::backend::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls with one weight shape are summed up: the layers of a model have few.
struct Kind {
  std::string_view kernel;
  ops::WeightShape weight;
  auto operator<=>(const Kind&) const = default;
};
struct Sum {
  std::uint64_t calls = 0;
  Clock::duration time{};
  ops::Work work;
};
struct Sums {
  std::mutex mutex;
  std::map<Kind, Sum> of_kind;
};

Sums& sums() {
  static Sums& of_process = *new Sums;  // lives to the end: threads of static objects may still compute
  return of_process;
}

template <class Arguments>
std::string_view name_of_kernel;

template <class Arguments>
void timed_kernel(Context& context, const Arguments& arguments) {
  // Counted before the call, which may write over its operands.
  const ops::Work work = ops::work_of(arguments);
  const Kind kind{name_of_kernel<Arguments>, ops::weight_of(arguments)};
  const Clock::time_point begin = Clock::now();
  kernel(context, arguments);
  const Clock::duration time = Clock::now() - begin;
  Sums& all = sums();
  const std::lock_guard lock(all.mutex);
  Sum& sum = all.of_kind[kind];
  ++sum.calls;
  sum.time += time;
  sum.work += work;
}

template <class Arguments>
void replace(tensor::KernelTable& table, tensor::KernelKey<void(Context&, const Arguments&)> key) {
  name_of_kernel<Arguments> = key.name;
  table.erase(key.name);
  table.set(key, timed_kernel<Arguments>);
}

/// Packing, and other kernels that run once for a model, return values. They keep their form.
template <class Result, class... Arguments>
void replace(tensor::KernelTable&, tensor::KernelKey<Result(Arguments...)>) {}

}  // namespace

void install_timed_kernels(tensor::KernelTable& table) {
  ops::for_each_key(ops::kKernels, [&](auto key) { replace(table, key); });
  ops::for_each_key(ops::kFusedKernels, [&](auto key) { replace(table, key); });
  ops::for_each_key(ops::kShortlistKernels, [&](auto key) { replace(table, key); });
  ops::for_each_key(kStepKernels, [&](auto key) { replace(table, key); });
}

std::vector<tensor::KernelTime> kernel_times() {
  std::vector<tensor::KernelTime> times;
  Sums& all = sums();
  const std::lock_guard lock(all.mutex);
  for (const auto& [kind, sum] : all.of_kind) {
    const ops::WeightShape& weight = kind.weight;
    times.push_back({.kernel = weight.outputs == 0
                                   ? std::string(kind.kernel)
                                   : fmt::format("{} [{}, {}] {}", kind.kernel, weight.outputs, weight.inputs,
                                                 tensor::name_of(tensor::choice_of(weight.type))),
                     .launches = sum.calls,
                     .seconds = std::chrono::duration<double>(sum.time).count(),
                     .products = sum.work.products,
                     .bytes = sum.work.bytes});
  }
  std::ranges::stable_sort(times, std::ranges::greater(), &tensor::KernelTime::seconds);
  return times;
}

}  // namespace dragoman::backend::cpu
