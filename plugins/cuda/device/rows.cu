#include "random.h"

namespace dragoman::backend::cuda::device {
namespace {

template <class T>
View<T> of_type(const View<unsigned char>& bytes) {
  return {reinterpret_cast<T*>(bytes.data), bytes.rows, bytes.cols, bytes.stride};
}

template <class T>
struct Gather {
  View<T> x;
  Ids rows;
  View<T> y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    const std::int32_t row = rows.data[i];
    at(y, i, j) = row < 0 ? T{} : at(x, row, j);
  }
};
template <class T>
struct Scatter {
  View<T> x;
  Ids rows;
  View<T> y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const { at(y, rows.data[i], j) = at(x, i, j); }
};
template <class Words, int kWidth>
struct ScatterAs {
  Matrix x;
  Ids rows;
  HalfMatrix y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    const Run<kWidth> run = load_run<kWidth>(x, i, j);
    simt::Vector<std::uint16_t, kWidth> halves;
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) halves.values[n] = narrow(Words(), run.values[n]);
    simt::store_vector(&at(y, rows.data[i], j), halves);
  }
};

template <template <class> class Function, class T>
void for_each_as(const View<unsigned char>& x, Ids rows, const View<unsigned char>& y) {
  const View<T> from = of_type<T>(x);
  const View<T> to = of_type<T>(y);
  // Rows of whole vectors are moved by vectors.
  using Vector = simt::Vector<std::uint32_t, 4>;
  constexpr int kOfVector = sizeof(Vector) / sizeof(T);
  if (!are_wide<kOfVector>(from, to)) return for_each_element(rows.count, y.cols, Function<T>{from, rows, to});
  const auto of_vectors = [](const View<T>& view) {
    return View<Vector>{reinterpret_cast<Vector*>(view.data), view.rows, view.cols / kOfVector,
                        view.stride / kOfVector};
  };
  for_each_element(rows.count, y.cols / kOfVector, Function<Vector>{of_vectors(from), rows, of_vectors(to)});
}
template <template <class> class Function>
void for_each_of_type(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  switch (element_bytes) {
    case 1:
      return for_each_as<Function, unsigned char>(x, rows, y);
    case 2:
      return for_each_as<Function, std::uint16_t>(x, rows, y);
    case 4:
      return for_each_as<Function, std::uint32_t>(x, rows, y);
    default:
      return for_each_as<Function, std::uint64_t>(x, rows, y);
  }
}

/// `kWidth`: 1 or kQuad.
template <int kWidth>
struct Embed {
  Embedding arguments;
  SIMT_DEVICE void operator()(std::int64_t t, std::int64_t j) const {
    Run<kWidth> run = load_run<kWidth>(arguments.table, arguments.ids.data[t], j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) run.values[n] *= arguments.scale;
    if (arguments.position_table.data != nullptr) {
      const Run<kWidth> position =
          load_run<kWidth>(arguments.position_table, arguments.positions.data[t] + arguments.first_position, j);
      SIMT_UNROLL
      for (int n = 0; n < kWidth; ++n) run.values[n] += position.values[n];
    }
    const Run<kWidth> factors = factors_of(t * arguments.y.cols + j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) run.values[n] *= factors.values[n];
    store_run(arguments.y, t, j, run);
  }
  SIMT_DEVICE Run<kWidth> factors_of(std::int64_t element) const {
    if constexpr (kWidth == kQuad)
      return DropoutMask(arguments.dropout).factors(element);
    else
      return {{dropout_factor(arguments.dropout, element)}};
  }
};

SIMT_DEVICE int bits_of(std::uint32_t mask) {
  int count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

/// A block for each token; that of the first token of an id adds up all of its rows, in their order, so that no two
/// blocks write to a row of the table.
struct EmbedBackward {
  EmbeddingBackward arguments;
  static constexpr int kAtOnce = 8;  ///< rows whose elements are on their way together

  SIMT_DEVICE void operator()() const {
    const Ids& ids = arguments.ids;
    const std::int64_t t = simt::block_index();
    const std::int32_t id = ids.data[t];
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(kWarps);
    const auto masks = memory.take<std::uint32_t>(kWarps);
    const auto tokens = memory.take<std::int32_t>(kThreads);
    int earlier = 0;
    for (std::int64_t i = simt::thread_index(); i < t; i += kThreads) earlier |= ids.data[i] == id ? 1 : 0;
    if (reduce_block(earlier, Maximum(), cells) != 0) return;
    const std::int64_t cols = arguments.dy.cols;
    for (std::int64_t first = 0; first < cols; first += kThreads) {
      const std::int64_t j = first + simt::thread_index();
      float sum = 0;
      for (std::int64_t begin = t; begin < ids.count; begin += kThreads) {
        const int count = list_tokens(begin, id, masks, tokens);
        for (int n = 0; n < count && j < cols; n += kAtOnce) {
          float values[kAtOnce];
          SIMT_UNROLL
          for (int i = 0; i < kAtOnce; ++i) values[i] = n + i < count ? value(tokens[n + i], j) : 0;
          SIMT_UNROLL
          for (int i = 0; i < kAtOnce; ++i) sum += values[i];
        }
        simt::barrier();  // before the list is written again
      }
      if (j < cols) at(arguments.dtable.value, id + arguments.first, j) += arguments.scale * sum;
    }
  }

 private:
  SIMT_DEVICE float value(std::int64_t token, std::int64_t j) const {
    return at(arguments.dy, token, j) * dropout_factor(arguments.dropout, token * arguments.dy.cols + j);
  }
  /// Those of the id among kThreads tokens, in their order; how many there are.
  SIMT_DEVICE int list_tokens(std::int64_t begin, std::int32_t id, const Shared<std::uint32_t>& masks,
                              const Shared<std::int32_t>& tokens) const {
    const std::int64_t token = begin + simt::thread_index();
    const bool found = token < arguments.ids.count && arguments.ids.data[token] == id;
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::uint32_t mask = reduce_warp(found ? std::uint32_t{1} << lane : std::uint32_t{0}, Sum());
    if (lane == 0) masks[warp] = mask;
    simt::barrier();
    int before = bits_of(mask & ((std::uint32_t{1} << lane) - 1));
    int count = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int of_warp = bits_of(masks[w]);
      if (w < warp) before += of_warp;
      count += of_warp;
    }
    if (found) tokens[before] = static_cast<std::int32_t>(token);
    simt::barrier();
    return count;
  }
};

}  // namespace

void gather_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  for_each_of_type<Gather>(x, element_bytes, rows, y);
}
void scatter_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y) {
  for_each_of_type<Scatter>(x, element_bytes, rows, y);
}
void scatter_rows_as(Half type, const Matrix& x, Ids rows, const HalfMatrix& y) {
  with_words(type, [&]<class Words>(Words) {
    with_width<kQuad>(are_wide<kQuad>(x, y), [&]<int kWidth>(Width<kWidth>) {
      for_each_run<kWidth>(rows.count, x.cols, ScatterAs<Words, kWidth>{x, rows, y});
    });
  });
}

void embedding(const Embedding& arguments) {
  const Embedding& a = arguments;
  with_width<kQuad>(are_wide<kQuad>(a.table, a.position_table, a.y),
                    [&]<int kWidth>(Width<kWidth>) { for_each_run<kWidth>(a.ids.count, a.y.cols, Embed<kWidth>{a}); });
}

void embedding_backward(const EmbeddingBackward& arguments) {
  const Matrix& table = arguments.dtable.value;
  if (!arguments.dtable.accumulate) scale(table, 0, table, false);
  for_each_row(arguments.ids.count, kThreads * sizeof(std::int32_t) + 2 * kWarps * sizeof(std::int64_t),
               EmbedBackward{arguments});
}

}  // namespace dragoman::backend::cuda::device
