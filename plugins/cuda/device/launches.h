#pragma once

#include <cstdint>

#include <dragoman/ops/values.h>
#include <dragoman/tensor/random_key.h>

/// The kernels as the host launches them. Arguments are plain structs of values and device addresses, because code that
/// is compiled for a device includes only the library's headers of plain values.
///
/// Each function does what the op of its name specifies (dragoman/ops), in fp32 and in the order of the calling
/// thread's stream. The order of a sum depends on the shape alone, so a result has the same bits in every run. If an op
/// is row-stable, the bits of a row depend only on that row.
namespace dragoman::backend::cuda::device {

/// A row-major matrix whose rows are `stride` elements apart. data == nullptr: no matrix.
template <class T>
struct View {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
};
using Matrix = View<float>;
/// The type of 16-bit values.
enum class Half : std::uint8_t { kBf16, kF16 };
/// A matrix of 16-bit values, as bits.
using HalfMatrix = View<std::uint16_t>;

/// Rows of packed 32-bit words, as tensor cores take them: two 16-bit values or four int8 values, the first in the
/// lowest bits. A row has a multiple of kWordStrip words, and rows are contiguous. Elements after the last value are 0.
using WordMatrix = View<std::uint32_t>;

/// A gradient that is added to or overwritten. Without data it is not computed.
struct Target {
  Matrix value = {};
  bool accumulate = false;
};

/// A dropout mask. An element is kept if its 16 random bits are at least `threshold`, and then multiplied by `scale`.
struct Dropout {
  const tensor::RandomKey* key = nullptr;
  std::uint64_t stream = 0;
  std::uint32_t threshold = 0;  ///< 0: no dropout
  float scale = 1;
};

struct Ids {
  const std::int32_t* data = nullptr;
  std::int64_t count = 0;
};

// Element by element.
void add(const Matrix& a, const Matrix& b, const Matrix& y);
void add_row(const Matrix& x, const Matrix& row, const Matrix& y);
void scale(const Matrix& x, float factor, const Matrix& y, bool accumulate);
void multiply(const Matrix& a, const Matrix& b, const Matrix& y, bool accumulate);
void activation(const Matrix& x, ops::Activation activation, const Matrix& y);
void activation_backward(const Matrix& x, const Matrix& y, ops::Activation activation, const Matrix& dy,
                         const Matrix& dx, bool accumulate);
void dropout(const Matrix& x, const Dropout& dropout, const Matrix& y, bool accumulate);
void round_to(Half type, const Matrix& x);

// Rows.
// Elements have 1, 2, 4 or 8 bytes. Strides and columns count elements.
void gather_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y);
void scatter_rows(const View<unsigned char>& x, int element_bytes, Ids rows, const View<unsigned char>& y);
void scatter_rows_as(Half type, const Matrix& x, Ids rows, const HalfMatrix& y);

/// Rows of one part of a column sum. Many rows are summed in parts, and then the parts are summed.
inline constexpr std::int64_t kRowsOfColumnPart = 128;
constexpr std::int64_t column_parts(std::int64_t rows) {
  return rows <= 2 * kRowsOfColumnPart ? 1 : (rows + kRowsOfColumnPart - 1) / kRowsOfColumnPart;
}
/// `partial` is scratch memory of column_parts(x.rows) rows.
void column_sum(const Matrix& x, const Matrix& y, bool accumulate, float* partial);
void softmax(const Matrix& x, bool logarithm, std::int64_t causal_offset, const Matrix& y);
void softmax_backward(const Matrix& y, bool logarithm, const Matrix& dy, const Target& dx);

struct LayerNorm {
  Matrix x = {};
  Matrix gain = {};
  Matrix bias = {};
  float epsilon = 0;
  Matrix y = {};
  Matrix mean = {};
  Matrix inverse_deviation = {};
  bool centred = true;
  /// Receives y in type `type`, in rows without padding. Without data, y is not rounded.
  WordMatrix words = {};
  Half type = Half::kBf16;
};
/// The residual connection before a normalisation: sum = residual + dropout(x). Without data, x itself is normalised.
struct ResidualSum {
  Matrix residual = {};
  Dropout dropout = {};
  Matrix sum = {};
};
void layer_norm(const LayerNorm& arguments, const ResidualSum& residual = {});
struct LayerNormBackward {
  Matrix x = {};
  Matrix gain = {};
  Matrix mean = {};
  Matrix inverse_deviation = {};
  Matrix dy = {};
  Target dx = {};
  Target dgain = {};
  Target dbias = {};
  /// With a residual sum: the gradient that reaches the sum on other paths. Then dx is the gradient of the dropout's
  /// input.
  Matrix dsum = {};
  Target dresidual = {};
  Dropout dropout = {};
  float* partial = nullptr;  ///< scratch of twice column_parts(x.rows) rows
};
void layer_norm_backward(const LayerNormBackward& arguments);

struct RowStatistics {
  float maximum = 0;
  float log_sum = 0;  ///< of the exponentials relative to the maximum
};
struct CrossEntropyRows {
  Matrix logits = {};
  Ids targets = {};
  double label_smoothing = 0;
  const double* gradient_scale = nullptr;
  double* losses = nullptr;
  double* nlls = nullptr;
  RowStatistics* statistics = nullptr;  ///< scratch for each row; nullptr if there is no gradient
  /// Receives the gradient in type `type`. Without data, the gradient overwrites the logits.
  WordMatrix words = {};
  Half type = Half::kBf16;
  Target sums = {};          ///< of the gradient's columns
  float* partial = nullptr;  ///< scratch of twice column_parts(logits.rows) rows, if there are sums
};
void cross_entropy_rows(const CrossEntropyRows& arguments);
struct PairedCrossEntropyRows {
  Matrix first = {};
  Matrix second = {};
  Ids targets = {};
  double label_smoothing = 0;
  double divergence_weight = 0;
  const double* gradient_scale = nullptr;
  double* losses = nullptr;
  double* nlls = nullptr;
};
void paired_cross_entropy_rows(const PairedCrossEntropyRows& arguments);

struct Embedding {
  Ids ids = {};
  Matrix table = {};
  float scale = 1;
  Ids positions = {};
  Matrix position_table = {};
  std::int32_t first_position = 0;
  Dropout dropout = {};
  Matrix y = {};
};
void embedding(const Embedding& arguments);
struct EmbeddingBackward {
  Ids ids = {};
  std::int32_t first = 0;
  Matrix dy = {};
  float scale = 1;
  Dropout dropout = {};
  Target dtable = {};
};
void embedding_backward(const EmbeddingBackward& arguments);

// Attention. A weight has the flat index weight_offsets[sequence] + (head * queries + query) * keys + key.
/// Writes the index of each sequence's first weight.
void weight_offsets(const Ids& q_offsets, const Ids& k_offsets, int heads, std::int64_t* offsets);
struct Attention {
  Matrix q = {};
  Matrix k = {};
  Matrix v = {};
  Ids q_offsets = {};
  Ids k_offsets = {};
  int heads = 1;
  bool causal = false;
  float scale = 1;
  Matrix bias = {};
  Dropout dropout = {};
  float* probabilities = nullptr;
  /// [queries, heads]: the logarithm of the sum of each query's exponentials.
  float* log_sums = nullptr;
  /// [sequences]: scratch; nullptr if weights are neither stored nor dropped.
  std::int64_t* weight_offsets = nullptr;
  Matrix y = {};
  /// Uses products of `tile_type` on tensor cores, for heads of up to kWidestTileHead columns.
  bool tiles = false;
  Half tile_type = Half::kBf16;
  /// With tiles: receives y in type `tile_type`, in rows without padding. Without data, y is not rounded.
  WordMatrix words = {};
};
inline constexpr std::int64_t kWidestTileHead = 128;
/// With tiles it computes log_sums and no probabilities.
void attention(const Attention& arguments);
/// Reads the forward pass's y and its log_sums, or its probabilities if there are no log_sums.
struct AttentionBackward {
  Attention forward = {};
  Matrix dy = {};
  float* weighted = nullptr;  ///< [queries, heads]: scratch
  Target dq = {};
  Target dk = {};
  Target dv = {};
  Target dbias = {};
  const float* dweights = nullptr;  ///< shaped like the probabilities; nullptr: the weights have no gradient
};
void attention_backward(const AttentionBackward& arguments);
/// The part of attention() without probabilities and dropout, in fp32.
void attention_of_rows(const Attention& attention);
/// The parts of attention() and attention_backward() that work on tiles.
void attention_of_tiles(const Attention& attention);
void attention_of_tiles_backward(const AttentionBackward& arguments);
struct CachedAttention {
  Matrix q = {};
  /// Keys and values are either floats or 16-bit values.
  Matrix keys = {};
  Matrix values = {};
  HalfMatrix narrow_keys = {};
  HalfMatrix narrow_values = {};
  Half narrow_type = Half::kBf16;
  const std::int32_t* key_rows = nullptr;
  const ops::KeyRange* ranges = nullptr;
  int heads = 1;
  float scale = 1;
  Matrix bias = {};
  Matrix probabilities = {};
  Matrix y = {};
};
void cached_attention(const CachedAttention& arguments);

struct AlignmentLossRows {
  const float* weights = nullptr;
  std::int64_t* weight_offsets = nullptr;  ///< [sequences]: scratch
  Ids q_offsets = {};
  Ids k_offsets = {};
  int heads = 1;
  int guided_heads = 1;
  const std::int32_t* link_offsets = nullptr;
  const std::int32_t* links = nullptr;
  ops::AlignmentCost cost = ops::AlignmentCost::kCrossEntropy;
  const double* gradient_scale = nullptr;
  double* losses = nullptr;
  float* gradient = nullptr;
};
void alignment_loss_rows(const AlignmentLossRows& arguments);

// Products.
/// The operations that are applied to a product.
struct Epilogue {
  Matrix bias = {};
  ops::Activation activation = ops::Activation::kNone;
  Matrix pre_activation = {};
  bool accumulate = false;
  /// After the activation, and not with `accumulate`. Products do not apply it; finish_product() does.
  Dropout dropout = {};
  /// With dropout: receives the result in type `type`, in rows without padding. Without data, it is not rounded.
  WordMatrix words = {};
  Half type = Half::kBf16;
};
struct Product {
  Matrix a = {};
  bool transpose_a = false;
  Matrix b = {};
  bool transpose_b = false;
  Matrix c = {};
  Epilogue epilogue = {};
};
void product(const Product& arguments);
inline constexpr std::int64_t kWordStrip = 16;
/// Returns the words of a row of `numbers` values with `of_word` values per word.
constexpr std::int64_t words_of(std::int64_t numbers, int of_word) {
  return (numbers + kWordStrip * of_word - 1) / (kWordStrip * of_word) * kWordStrip;
}
/// y = x, rounded.
void narrow_words(Half type, const Matrix& x, const WordMatrix& y);
/// Rounds `count` contiguous values. The rounded values are contiguous, too, two in a word.
void narrow_values(Half type, const float* x, std::int64_t count, std::uint16_t* y);
/// y = x^T for 16-bit values.
void turn_words(const WordMatrix& x, const WordMatrix& y);
/// Rounds rows to integers from -range to range with a scale for each row, as docs/concepts/numerics.md describes.
void quantize_words(const Matrix& x, int range, const WordMatrix& y, float* scales);
/// A product of packed 16-bit values in their stored layout. If an operand stores the summed dimension in rows, the
/// length of that dimension is the number of rows. Otherwise it is counted in words, and both operands have zeros after
/// the last value.
struct HalfProduct {
  Half type = Half::kBf16;
  WordMatrix a = {};
  bool transpose_a = false;
  WordMatrix b = {};
  bool transpose_b = false;
  Matrix c = {};
  Epilogue epilogue = {};
};
/// c = a * b^T.
void product_of_halves(Half type, const WordMatrix& a, const WordMatrix& b, const Matrix& c, const Epilogue& epilogue);
struct Int8Product {
  WordMatrix a = {};
  const float* a_scales = nullptr;
  WordMatrix weight = {};
  const float* weight_scales = nullptr;
  Matrix c = {};
  Epilogue epilogue = {};
};
void product_int8(const Int8Product& arguments);
/// Computes dz = dropout(dy) * activation'(). The outputs are packed words, floats and the sums of columns. Outputs
/// without a destination are skipped.
struct Differentiation {
  Matrix dy = {};
  ops::Activation activation = ops::Activation::kNone;
  Matrix known = {};  ///< input of the derivative: the activation's input, or its output after the dropout
  Dropout dropout = {};
  Half type = Half::kBf16;
  WordMatrix words = {};
  Matrix dz = {};
  Target sums = {};
  float* partial = nullptr;  ///< scratch of twice column_parts(dy.rows) rows
};
void differentiate(const Differentiation& arguments);
/// Apply epilogues to sums that other kernels computed. Sums of floats may be in the memory of c.
void finish_product(const Matrix& sums, const Matrix& c, const Epilogue& epilogue);
/// Applies the dropout of an epilogue to c, which has the rest of it, and rounds the result.
void drop_product(const Matrix& c, const Epilogue& epilogue);
void finish_int8_product(const View<std::int32_t>& sums, const float* row_scales, const float* col_scales,
                         const Matrix& c, const Epilogue& epilogue);

/// The number of tokens that a block reads, and the largest k that is found without sorting.
inline constexpr std::int64_t kTopKPanel = 4096;
inline constexpr std::int64_t kMaxQuickTopK = 64;
constexpr std::int64_t top_k_panels(std::int64_t vocabulary) {
  return (vocabulary + kTopKPanel - 1) / kTopKPanel;
}
struct TopKScratch {
  std::int64_t panels = 0;
  float* maxima = nullptr;  ///< [rows, panels]
  float* sums = nullptr;    ///< [rows, panels]
  /// In the quick case, k for each panel of a row. Otherwise the smallest power of two that is at least the vocabulary,
  /// for each row.
  std::int64_t candidates_of_row = 0;
  double* ranks = nullptr;
  std::int32_t* tokens = nullptr;
  float* values = nullptr;        ///< in the quick case
  Matrix changed = {};            ///< otherwise: [rows, vocabulary]
  Matrix shortlist_columns = {};  ///< of gathered outputs: [rows, columns]
};
struct TopK {
  Matrix logits = {};  ///< [rows, vocabulary], or [rows, gathered columns]
  std::int64_t vocabulary = 0;
  /// The row of edits, temperatures and so on that corresponds to row 0 of logits and results.
  std::int64_t first_row = 0;
  std::int64_t k = 1;
  const double* temperatures = nullptr;
  const ops::LogitEdit* edits = nullptr;
  std::int64_t edit_count = 0;
  const ops::RowNoise* noise = nullptr;
  const std::int32_t* shortlist = nullptr;
  const ops::ShortlistRange* shortlist_of_row = nullptr;
  const ops::ShortlistColumn* shortlist_columns = nullptr;  ///< nullptr: no outputs were gathered
  const ops::ScoredToken* scored = nullptr;
  std::int64_t scored_count = 0;
  View<std::int32_t> tokens = {};
  Matrix log_probabilities = {};
  Matrix scored_log_probabilities = {};
  TopKScratch scratch = {};
};
/// One row of words, one scale and one bias for each column.
struct ShortlistRows {
  const ops::ShortlistSource* columns = nullptr;
  std::int64_t words = 0;  ///< of a row
  const std::uint32_t* from = nullptr;
  std::uint32_t* to = nullptr;
  const float* from_scales = nullptr;  ///< nullptr: no scales
  float* to_scales = nullptr;
  const float* from_bias = nullptr;  ///< nullptr: no bias
  float* to_bias = nullptr;
};
void gather_rows_of_words(const ShortlistRows& arguments, std::int64_t count);
void top_k(const TopK& arguments);

// Searches.
struct ChooseNext {
  View<std::int32_t> candidates = {};
  Matrix log_probabilities = {};
  const double* sums = nullptr;
  const ops::NextRows* choices = nullptr;
  std::int32_t most_rows = 0;
  std::int32_t end = 0;
  std::int32_t* tokens = nullptr;
  std::int32_t* parents = nullptr;
};
void choose_next(const ChooseNext& arguments, std::int64_t choices);
struct ExtendLists {
  const std::int32_t* before = nullptr;
  const std::int32_t* before_offsets = nullptr;
  Ids parents = {};
  const std::int32_t* added = nullptr;
  const std::int32_t* added_offsets = nullptr;
  const std::int32_t* offsets = nullptr;
  std::int32_t* lists = nullptr;
  std::int32_t* kept = nullptr;
};
void extend_lists(const ExtendLists& arguments);

// Updates.
struct SumLosses {
  const double* losses = nullptr;
  const double* nlls = nullptr;
  std::int64_t rows = 0;
  const double* alignment_losses = nullptr;
  std::int64_t aligned_rows = 0;
  double alignment_weight = 0;
  double passes = 1;
  ops::LossRecord* record = nullptr;
};
void sum_losses(const SumLosses& arguments);
struct PrepareUpdate {
  const ops::UpdatePlan* plan = nullptr;
  const ops::LossRecord* losses = nullptr;
  std::int64_t batches = 0;
  const double* sum_of_squares = nullptr;
  const double* clipped_sum_of_squares = nullptr;  ///< nullptr: values were not clipped
  ops::UpdateRecord* record = nullptr;
};
void prepare_update(const PrepareUpdate& arguments);
struct Adam {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  std::int64_t count = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  const ops::UpdateStep* step = nullptr;
  bool coupled = false;
};
void adam(const Adam& arguments);
void moving_average(float* average, const float* values, std::int64_t count, const ops::UpdateStep* step);
/// `partial_sums` is scratch memory of kSquareBlocks values.
inline constexpr std::int64_t kSquareBlocks = 512;
void sum_of_squares(const Matrix& x, double* partial_sums, double* sum);
void clip_values(const Matrix& x, float limit);
struct Lion {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first_moment = nullptr;
  std::int64_t count = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  const ops::UpdateStep* step = nullptr;
};
void lion(const Lion& arguments);
struct Sgd {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first_moment = nullptr;  ///< nullptr: no momentum
  std::int64_t count = 0;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  const ops::UpdateStep* step = nullptr;
};
void sgd(const Sgd& arguments);
struct Adafactor {
  Matrix parameters = {};
  Matrix gradients = {};
  Matrix row_moment = {};
  Matrix column_moment = {};
  Matrix second_moment = {};  ///< without data: factored
  double decay_rate = 0;
  float square_epsilon = 0;
  float scale_epsilon = 0;
  float clip_threshold = 1;
  bool scale_parameter = true;
  float weight_decay = 0;
  const ops::UpdateStep* step = nullptr;
  /// Scratch: two sums for each row, and kAdafactorTotals values.
  double* row_sums = nullptr;
  double* totals = nullptr;
};
inline constexpr std::int64_t kAdafactorTotals = 3;
void adafactor(const Adafactor& arguments);

}  // namespace dragoman::backend::cuda::device
