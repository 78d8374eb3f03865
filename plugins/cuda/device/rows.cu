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
  // Rows that consist of whole vectors are moved as vectors.
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

/// `kWidth` is 1 or kQuad.
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

/// There is one block for each token and each 2 kWarp quads of columns. The block of an id's first token sums all rows
/// of the id, so that no two blocks write to the same columns of a table row. The ids alone determine the order of this
/// sum.
template <bool kWide>
struct EmbedBackward {
  EmbeddingBackward arguments;
  static constexpr int kAtOnce = 4;  ///< rows of a warp whose elements are in flight together
  static constexpr int kColumns = 2 * kWarp * kQuad;
  static constexpr int kOwn = kWarp / kWarps;  ///< tokens that a thread inspects together
  static constexpr int kTokens = kOwn * kThreads;
  static constexpr std::size_t kShared =
      kWarps * sizeof(int) + kWarp * sizeof(std::uint32_t) + (kTokens + kWarps * kColumns) * sizeof(float);

  SIMT_DEVICE void operator()() const {
    const std::int64_t t = simt::block_index();
    const std::int32_t id = arguments.ids.data[t];
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(kWarps);
    const auto masks = memory.take<std::uint32_t>(kWarp);
    const auto tokens = memory.take<std::int32_t>(kTokens);
    const auto sums = memory.take<float>(kWarps * kColumns);
    if (has_earlier(t, id, cells)) return;
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t first_col = simt::block_index_y() * kColumns;
    const std::int64_t col = first_col + lane * kQuad;
    const DropoutMask mask(arguments.dropout);
    Quad own[2] = {};
    for (std::int64_t begin = t; begin < arguments.ids.count; begin += kTokens) {
      const int count = list_tokens(begin, id, masks, tokens);
      for (int first = warp; first < count; first += kAtOnce * kWarps) {
        std::int64_t rows[kAtOnce];
        Quad values[kAtOnce][2] = {};
        SIMT_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          const int n = first + i * kWarps;
          rows[i] = n < count ? static_cast<std::int32_t>(tokens[n]) : -1;
          if (rows[i] < 0) continue;
          values[i][0] = load_quad<kWide>(arguments.dy, rows[i], col);
          values[i][1] = load_quad<kWide>(arguments.dy, rows[i], col + kColumns / 2);
        }
        SIMT_UNROLL
        for (int i = 0; i < kAtOnce; ++i)
          if (rows[i] >= 0) add(mask, rows[i] * arguments.dy.cols + col, values[i], own);
      }
      simt::barrier();  // the list is overwritten next
    }
    SIMT_UNROLL
    for (int n = 0; n < 2 * kQuad; ++n)
      sums[warp * kColumns + n / kQuad * kColumns / 2 + lane * kQuad + n % kQuad] = own[n / kQuad].values[n % kQuad];
    simt::barrier();
    const int column = simt::thread_index();
    static_assert(kColumns == kThreads);
    if (first_col + column >= arguments.dy.cols) return;
    float sum = sums[column];
    for (int w = 1; w < kWarps; ++w) sum += sums[w * kColumns + column];
    at(arguments.dtable.value, id + arguments.first, first_col + column) += arguments.scale * sum;
  }

 private:
  /// Returns true if a token before `t` has the id. It searches backwards from `t`, because the tokens of frequent ids
  /// are close.
  SIMT_DEVICE bool has_earlier(std::int64_t t, std::int32_t id, const Shared<int>& cells) const {
    for (std::int64_t end = t; end > 0; end -= kTokens) {
      int found = 0;
      SIMT_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const std::int64_t token = end - 1 - i * kThreads - simt::thread_index();
        if (token >= 0 && arguments.ids.data[token] == id) found = 1;
      }
      if (reduce_block(found, Maximum(), cells) != 0) return true;
    }
    return false;
  }
  SIMT_DEVICE void add(const DropoutMask& mask, std::int64_t element, const Quad (&values)[2], Quad (&sums)[2]) const {
    const DropoutMask::Two factors = factors_of<kWide>(mask, arguments.dropout, element);
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      sums[0].values[n] += factors.first.values[n] * values[0].values[n];
      sums[1].values[n] += factors.second.values[n] * values[1].values[n];
    }
  }
  /// Lists the tokens with this id among kTokens tokens, starting at `begin`, in their order. Returns their number.
  SIMT_DEVICE int list_tokens(std::int64_t begin, std::int32_t id, const Shared<std::uint32_t>& masks,
                              const Shared<std::int32_t>& tokens) const {
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const auto token_of = [&](int i) { return begin + i * kThreads + simt::thread_index(); };
    bool found[kOwn];
    SIMT_UNROLL
    for (int i = 0; i < kOwn; ++i)
      found[i] = token_of(i) < arguments.ids.count && arguments.ids.data[token_of(i)] == id;
    std::uint32_t own[kOwn];
    SIMT_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      own[i] = simt::ballot(found[i]);
      if (lane == 0) masks[i * kWarps + warp] = own[i];
    }
    simt::barrier();
    // The number of tokens in each of the kWarp masks, and in all masks up to it.
    const int count = simt::count_bits(masks[lane]);
    int up_to = count;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const int before = simt::shuffle(up_to, lane < distance ? lane : lane - distance);
      if (lane >= distance) up_to += before;
    }
    SIMT_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int before =
          simt::shuffle(up_to - count, i * kWarps + warp) + simt::count_bits(own[i] & ((std::uint32_t{1} << lane) - 1));
      if (found[i]) tokens[before] = static_cast<std::int32_t>(token_of(i));
    }
    const int all = simt::shuffle(up_to, kWarp - 1);
    simt::barrier();
    return all;
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
  const auto launch = [&]<class Kernel>(Kernel kernel) {
    simt::launch({arguments.ids.count, blocks_of(table.cols, Kernel::kColumns)}, kThreads, Kernel::kShared, kernel);
  };
  if (are_wide<2 * kQuad>(arguments.dy))
    launch(EmbedBackward<true>{arguments});
  else
    launch(EmbedBackward<false>{arguments});
}

}  // namespace dragoman::backend::cuda::device
