#include "fixed_shape_matmul.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>

#include <dragoman/core/error.h>

namespace dragoman::backend::cpu {
namespace {

using onednn::Dimension;
using onednn::Element;
using onednn::Layout;

struct DataTypes {
  Element x;
  Element weight;
  Element product;
};

DataTypes data_types_of(GemmElements elements) {
  switch (elements) {
    case GemmElements::kF32:
      return {Element::f32, Element::f32, Element::f32};
    case GemmElements::kBF16:
      return {Element::bf16, Element::bf16, Element::f32};
    case GemmElements::kI8:
      return {Element::u8, Element::s8, Element::s32};
  }
  core::fail(core::ErrorCode::kInternal, "unknown elements of a matrix product");
}

Layout contiguous(Element element, Dimension rows, Dimension cols) {
  return onednn::strided(element, rows, cols, cols, 1);
}

Layout any_layout(Element element, Dimension rows, Dimension cols) {
  return {{rows, cols}, element, dnnl::memory::format_tag::any};
}

struct MatmulKey {
  WeightShape shape;
  std::int64_t rows;
  bool operator==(const MatmulKey&) const = default;
};

struct MatmulKeyHash {
  std::size_t operator()(const MatmulKey& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int64_t part :
         {static_cast<std::int64_t>(key.shape.elements), key.rows, key.shape.outputs, key.shape.inputs})
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

/// A compiled matmul with its memory objects, ready to be pointed at data. Belongs to one thread.
struct Matmul {
  dnnl::matmul primitive;
  dnnl::memory weights;
  dnnl::memory source;
  dnnl::memory destination;
  dnnl::memory scratchpad;
};

dnnl::matmul::primitive_desc describe(const WeightShape& shape, std::int64_t rows, const Layout& weights) {
  const DataTypes types = data_types_of(shape.elements);
  return onednn::describe_matmul(contiguous(types.x, rows, shape.inputs), weights,
                                 contiguous(types.product, rows, shape.outputs));
}

Matmul make_matmul(const MatmulKey& key, const Layout& weights) {
  onednn::require_memory_for_code();
  const auto description = describe(key.shape, key.rows, weights);
  return {dnnl::matmul(description), dnnl::memory(weights, onednn::cpu_engine(), nullptr),
          dnnl::memory(description.src_desc(), onednn::cpu_engine(), nullptr),
          dnnl::memory(description.dst_desc(), onednn::cpu_engine(), nullptr),
          dnnl::memory(description.scratchpad_desc(), onednn::cpu_engine())};
}

/// The matmuls of this thread. Creating one takes 0.1 to 0.2 ms, so they are cached. When the cache is full it is
/// emptied.
Matmul& cached_matmul(const MatmulKey& key, const Layout& weights) {
  constexpr std::size_t kMaxMatmuls = 1024;
  thread_local std::unordered_map<MatmulKey, Matmul, MatmulKeyHash> cache;
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMaxMatmuls) cache.clear();
  return cache.emplace(key, make_matmul(key, weights)).first->second;
}

void execute(Matmul& matmul, const void* x, const dnnl::memory& weights, void* y) {
  matmul.source.set_data_handle(const_cast<void*>(x));
  matmul.destination.set_data_handle(y);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, matmul.source.get()},
                                       {DNNL_ARG_WEIGHTS, weights.get()},
                                       {DNNL_ARG_DST, matmul.destination.get()},
                                       {DNNL_ARG_SCRATCHPAD, matmul.scratchpad.get()}};
  onednn::check(
      dnnl_primitive_execute(matmul.primitive.get(), onednn::thread_stream().get(), std::size(arguments), arguments),
      "matmul");
}

}  // namespace

Layout preferred_layout(const WeightShape& shape, std::int64_t rows) {
  return describe(shape, rows, any_layout(data_types_of(shape.elements).weight, shape.inputs, shape.outputs))
      .weights_desc();
}

dnnl::memory pack(const WeightShape& shape, const void* weight, std::int64_t stride, dnnl::memory packed) {
  dnnl::memory plain(onednn::strided(data_types_of(shape.elements).weight, shape.inputs, shape.outputs, 1,
                                     std::max(stride, shape.inputs)),
                     onednn::cpu_engine(), const_cast<void*>(weight));
  dnnl::reorder(plain, packed).execute(onednn::thread_stream(), plain, packed);
  return packed;
}

void fixed_shape_matmul(const WeightShape& shape, const dnnl::memory& packed, const void* x, std::int64_t rows,
                        void* y) {
  onednn::on_one_thread([&] {
    onednn::translating_errors([&] { execute(cached_matmul({shape, rows}, packed.get_desc()), x, packed, y); });
  });
}

void fixed_shape_matmul(const WeightShape& shape, const Layout& layout, const void* packed, const void* x,
                        std::int64_t rows, void* y) {
  onednn::on_one_thread([&] {
    onednn::translating_errors([&] {
      Matmul& matmul = cached_matmul({shape, rows}, layout);
      matmul.weights.set_data_handle(const_cast<void*>(packed));
      execute(matmul, x, matmul.weights, y);
    });
  });
}

}  // namespace dragoman::backend::cpu
