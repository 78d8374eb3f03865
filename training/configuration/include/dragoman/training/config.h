#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/corpus/pair_file.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tokenizer/tokenizer_spec.h>
#include <dragoman/training/methods.h>
#include <dragoman/training/schedule.h>

namespace dragoman::training {

/// The units that the indices of word alignments refer to.
enum class AlignmentUnits : std::uint8_t {
  kWords,   ///< units between spaces: each piece of a word is linked to each piece of its counterpart
  kPieces,  ///< pieces of the tokenizers
};

/// One part of a parallel corpus: files that are read one after the other, with their weight in the mix, tag and
/// languages.
struct CorpusPart {
  std::vector<corpus::PairFile> files{};
  /// The number of times that an epoch contains its pairs: see ParallelCorpusConfig::weights.
  double weight = 1;
  /// A tag that precedes every source: the token of that name if the vocabulary has one, otherwise text (Johnson et al.
  /// 2017: <2de>; Caswell et al. 2019: <BT>). Empty: no tag.
  std::string tag{};
  /// If empty, the languages of DataConfig apply.
  std::string source_language{};
  std::string target_language{};
  bool operator==(const CorpusPart&) const = default;
};

/// The files of a parallel corpus: either two texts that are parallel by line number, in one or more files per side, or
/// a list of parts.
struct ParallelCorpusConfig {
  std::vector<std::string> source;
  std::vector<std::string> target;
  /// One file of word alignments per pair of files. Empty: no alignments.
  std::vector<std::string> alignment{};
  /// The number of times that an epoch contains the pairs of each pair of files. Empty: once. With 2.5, each pair
  /// occurs twice, and half of the pairs, different ones in each epoch, occur once more.
  std::vector<double> weights{};
  /// Parts in any form, instead of the members above.
  std::vector<CorpusPart> texts{};
  bool empty() const noexcept { return source.empty() && target.empty() && texts.empty(); }
};

/// Returns the parts of a corpus. Each pair of files of `source` and `target` is one part.
std::vector<CorpusPart> parts_of(const ParallelCorpusConfig& pair);
/// Returns whether any part has word alignments.
bool has_alignments(const ParallelCorpusConfig& pair);

/// A phase of a run with its own mix of texts (a curriculum).
struct PhaseConfig {
  /// The epoch or the update with which the phase ends. One of them is set, and neither in the last phase. An update
  /// that ends a phase also ends its epoch.
  std::int64_t until_epoch = 0;
  std::int64_t until_update = 0;
  /// The weights of the texts of DataConfig::train; 0 for texts that the phase leaves out. Empty: the weights of
  /// DataConfig.
  std::vector<double> weights{};
  /// A temperature instead of weights, as DataConfig::temperature. 0: none.
  double temperature = 0;
  bool operator==(const PhaseConfig&) const = default;
};

/// Subword regularisation (Kudo 2018). In each epoch, a unigram tokenizer draws new segmentations from the n_best most
/// probable ones, or from all (0), with a probability proportional to the power alpha.
struct SubwordSampling {
  bool on = false;
  double alpha = 0.2;
  std::int32_t n_best = 0;
};

/// The decoder's first input. kZeros: a vector of zeros, as in Marian. It is the row of the begin token, which training
/// then leaves alone.
enum class DecoderStart : std::uint8_t { kBegin, kEnd, kZeros };

struct ModelConfig {
  /// A model folder that training starts from. It provides the model type, configuration, special tokens and weights,
  /// and the tokenizers unless `data` names others. Empty: a new model.
  std::string from;
  /// Whether only parameters with the same name and shape are initialised from `from`; all others are initialised
  /// randomly. For another model type or other numbers of layers.
  bool from_matching = false;
  /// Whether the members below and the tokenizers of DataConfig have their final values. If a configuration with `from`
  /// was read, `options` has only the keys that differ from the folder, and the trainer adds the others.
  bool complete = true;
  std::string type = "transformer";
  /// The limits of translation, in tokens including the closing end token. Training pairs obey
  /// DataConfig::maximum_length.
  std::int32_t maximum_source_length = 512;
  std::int32_t maximum_target_length = 512;
  DecoderStart decoder_start = DecoderStart::kBegin;
  /// The keys that belong to the model type.
  core::Json options = core::Json::object();
};

/// The initial values of an embedding table.
struct EmbeddingsConfig {
  /// Vectors as text, in the format of word2vec and GloVe, or a .safetensors file with a matrix. Empty: the initial
  /// values of the model.
  std::string file;
  /// The tensor in a safetensors file. Empty: the only one.
  std::string tensor;
  /// Whether the table is not trained.
  bool frozen = false;
  /// A factor for the values of the file.
  double scale = 1;
};

struct DataConfig {
  ParallelCorpusConfig train;
  ParallelCorpusConfig validation;
  /// Tokenizer files. A file without a type must be exportable as a tokenizer.json. A file with a type is exported as
  /// it is.
  tokenizer::TokenizerSpec source_tokenizer;
  tokenizer::TokenizerSpec target_tokenizer;
  EmbeddingsConfig source_embeddings;
  EmbeddingsConfig target_embeddings;
  /// Language codes of both sides, from the language table of the model that training starts from. Empty: the default
  /// of the table.
  std::string source_language{};
  std::string target_language{};
  std::string begin = "<s>";
  std::string end = "</s>";
  std::string unknown = "<unk>";
  AlignmentUnits alignment_units = AlignmentUnits::kWords;
  /// The maximum length of a sentence on either side, in tokens including the end token. Longer pairs are left out.
  std::int32_t maximum_length = 256;
  /// The probability of BPE-dropout (Provilkov et al. 2020) on both sides, drawn again in every epoch. 0: off.
  double bpe_dropout = 0;
  /// Subword regularisation of unigram tokenizers.
  SubwordSampling subword_sampling{};
  /// Mixes texts with p_i ~ n_i^(1/temperature), where text i has n_i pairs (Arivazhagan et al. 2019). An epoch has the
  /// total number of pairs. 1: no change; the weights apply.
  double temperature = 1;
  /// Consecutive phases of the run. Empty: one mix for the whole run.
  std::vector<PhaseConfig> phases{};
  /// If encoded pairs exceed this number of bytes, they are stored in blocks on disk, and one window of blocks at a
  /// time is read. 0: all pairs are in memory.
  std::uint64_t memory = 0;
  /// The folder for blocks; it has one subfolder per text, tokenizer and limit. Empty: `blocks` in the folder of the
  /// run.
  std::string cache{};
  /// The number of pairs that are sorted by length at a time. 1: random order.
  std::int64_t bucket_window = 8192;
};

/// Low-rank adapters (Hu et al. 2022, LoRA). For each adapted weight W, training optimises W + alpha / rank * B A,
/// where A is [rank, inputs] and B is [outputs, rank]. Nothing else is trained.
struct LoraConfig {
  /// 0: no adapters; the parameters themselves are trained.
  std::int64_t rank = 0;
  double alpha = 16;
  /// Patterns of names of linear layers' weights. Empty: all linear layers except the projection to the vocabulary.
  std::vector<std::string> targets{};
  bool on() const noexcept { return rank > 0; }
};

struct TrainConfig {
  /// Shell patterns of parameter names. A parameter is frozen if `train_only` is not empty and no pattern of it
  /// matches, or if a pattern of `freeze` matches.
  std::vector<std::string> train_only;
  std::vector<std::string> freeze;
  LoraConfig lora;
  std::uint64_t seed = 1;
  /// Training ends when the first of these limits is reached. 0: no limit.
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  /// The maximum number of tokens of a batch on either side. There is no padding to count. 0: the number that fits into
  /// `memory`.
  std::int64_t batch_tokens = 4096;
  /// The memory for training in bytes. Only if batch_tokens is 0.
  std::uint64_t memory = 0;
  /// The number of batches per update, over all processes that train together; their gradients are summed.
  std::int64_t accumulate = 1;
  /// Tokens and pairs of a batch are rounded up to a multiple of this. 0: the multiple by which the device keeps
  /// recorded steps (tensor::Backend).
  std::int64_t row_bucket = 0;
  /// See tensor::DeviceOptions.
  bool batch_invariant = false;
  std::uint64_t device_memory = 0;
  /// The number type of matrix products, forward and backward: fp32, bf16, fp16 or auto.
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  /// For fp16.
  LossScaleConfig loss_scale;
  /// Whether to keep only the inputs and outputs of each layer, and to recompute the rest in the backward pass.
  bool recompute = false;
  double label_smoothing = 0.1;
  SmoothingKind label_smoothing_kind = SmoothingKind::kUniform;
  /// R-Drop (Liang et al. 2021): the weight alpha of the divergence between two passes. 0: off.
  double r_drop = 0;
  /// For texts with word alignments.
  GuidedAlignmentConfig guided_alignment;
  WordDropoutConfig word_dropout;
  /// The maximum global norm of an update's gradient. 0: no limit.
  double clip_norm = 0;
  /// Elements of an update's gradient are clipped to this absolute value before its norm is computed. 0: no limit.
  double clip_value = 0;
  NonFinitePolicy on_non_finite = NonFinitePolicy::kStop;
  /// The total number of updates that may be skipped or undone because of a non-finite value. One more ends the run.
  std::int64_t non_finite_limit = 10;
  /// The decay of the moving average of the parameters, which validation and export then use. 0: off.
  double ema_decay = 0;
  /// Updates between lines of metrics.jsonl.
  std::int64_t report_every = 100;
  OptimizerConfig optimizer;
  ScheduleOptions schedule;
};

enum class ValidationMetric : std::uint8_t {
  kLoss,
  kPerplexity,
  kBleu,
  kChrf,
  kChrfPlusPlus,
  kTer,
  kCommand,
  kFunction
};

/// The consequence if a metric that is not built in fails.
enum class MetricFailure : std::uint8_t {
  kWarn,  ///< a warning; the value is NaN, which is never the best
  kStop,  ///< the run ends with an error, after a checkpoint
};

/// A metric that a program computes from the translations of the validation text.
struct ExternalMetric {
  std::string name{};
  /// The program and its arguments. {hypotheses}, {references} and {sources} are replaced by file names.
  std::vector<std::string> command{};
  bool higher_is_better = true;
  std::int64_t timeout = 600;  ///< in seconds
  MetricFailure failure = MetricFailure::kWarn;
};

/// A metric that a function of the embedding program computes from the translations of the validation text. The
/// function has no time limit. If it throws, the run ends with that exception.
struct FunctionMetric {
  std::string name{};
  /// The name of the function in TrainerEnvironment::metrics.
  std::string function{};
  bool higher_is_better = true;
  /// The consequence if the function returns a value that is not finite.
  MetricFailure failure = MetricFailure::kWarn;
};

/// A metric of validations.
struct MetricChoice {
  ValidationMetric kind = ValidationMetric::kBleu;
  ExternalMetric external{};  ///< for kCommand
  FunctionMetric function{};  ///< for kFunction
  /// Returns the name in the configuration: "bleu", "chrf++", or the name of the external metric or the function.
  std::string name() const;
  bool higher_is_better() const noexcept;
  /// Returns whether the metric needs translations.
  bool decodes() const noexcept { return kind != ValidationMetric::kLoss && kind != ValidationMetric::kPerplexity; }
};

inline bool higher_is_better(const MetricChoice& metric) noexcept {
  return metric.higher_is_better();
}

/// The metrics whose patience ends training.
enum class StopOn : std::uint8_t {
  kMetric,  ///< the metric that selects the best model
  kAny,     ///< any metric that is measured
  kAll,     ///< all metrics that are measured
};

/// The sentences of the validation text that a validation shows with prediction and reference.
struct SampleConfig {
  /// The number of sentences from the beginning of the text; the same ones in every validation.
  std::int64_t first = 2;
  /// The number of other sentences, drawn again for every validation.
  std::int64_t random = 0;
  /// Whether each sentence has a line in metrics.jsonl, too.
  bool in_metrics = false;
};

/// Search settings to try on a text with references.
struct TuneConfig {
  /// The values of the length penalty's alpha to try.
  std::vector<double> alpha{};
  /// The beam sizes to try. Empty: the beam size of the model.
  std::vector<std::int32_t> beam_size{};

  bool empty() const noexcept { return alpha.empty() && beam_size.empty(); }
};

struct ValidationConfig {
  /// Updates between validations. 0: only at the end, or at the ends of epochs.
  std::int64_t every = 1000;
  /// If not 0: also validates at the end of every epoch whose number is a multiple of this, whatever `every` is.
  std::int64_t every_epochs = 0;
  /// The metrics to report besides loss and perplexity.
  std::vector<MetricChoice> metrics{{.kind = ValidationMetric::kBleu}, {.kind = ValidationMetric::kChrf}};
  /// The metric that selects the best model and, with StopOn::kMetric, stops training.
  MetricChoice metric{.kind = ValidationMetric::kBleu};
  /// The number of validations in a row without a new best after which training ends. 0: training continues.
  std::int64_t patience = 0;
  /// The minimum improvement over the last value that counted, for a value to count for patience.
  double minimum_improvement = 0;
  StopOn stop_on = StopOn::kMetric;
  int beam_size = 1;
  double length_penalty = 1;
  /// The number of source tokens decoded at a time.
  std::int64_t batch_tokens = 2048;
  SampleConfig samples;
  /// The number type of matrix products.
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  /// If not 0: training continues during a validation, which runs on this number of separate threads. Its result takes
  /// effect at the next validation. Training waits for it there, at each checkpoint and at the end.
  int threads = 0;
  /// Search settings to try on the validation text after training. The best setting by `metric` (BLEU if that is loss
  /// or perplexity) is written to the folder of the best model.
  TuneConfig tune;

  /// Returns whether there are validations before the end of a run.
  bool repeated() const noexcept { return every > 0 || every_epochs > 0; }
  /// Returns whether training continues during validations.
  bool concurrent() const noexcept { return threads > 0; }
};

enum class AverageOf : std::uint8_t { kLast, kBest };

struct CheckpointConfig {
  /// Updates between checkpoints. 0: one checkpoint at the end.
  std::int64_t every = 1000;
  std::int64_t keep = 2;
  /// The number of checkpoints whose parameters are averaged at the end. 0: off.
  std::int64_t average = 0;
  AverageOf average_of = AverageOf::kBest;
  /// Whether exported models store 16-bit floats.
  bool export_f16 = false;
};

/// Logs of a run for people.
struct LoggingConfig {
  /// Whether to write event files to the folder `tensorboard`.
  bool tensorboard = false;
};

/// The configuration of a training run. docs/reference/commands.md lists every key with its default.
struct TrainingConfig {
  std::string output;
  /// 0: the number of cores that the process may keep busy. Results do not depend on it.
  int threads = 0;
  std::string device = "cpu";
  ModelConfig model;
  DataConfig data;
  TrainConfig training;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  LoggingConfig logging{};
};

/// Reads and checks a configuration tree. The result is a plain value. Thread-safe.
///
///     core::Json tree = core::load_yaml("train.yml");                       // core/yaml.h
///     core::set_option(tree, "training.updates=200");
///     const TrainingConfig config = read_training_config(tree, "train.yml");
///
/// `where` names its file in messages. Error{kBadInput} for unknown and mistyped keys; the message suggests the most
/// similar key.
TrainingConfig read_training_config(const core::Json& tree, const std::string& where);
/// Checks a configuration that was not read from a file, as read_training_config() does. Error{kBadInput}.
void check(const TrainingConfig& config);
/// Returns the whole configuration with every key. read_training_config() reads it back.
core::Json to_json(const TrainingConfig& config);

/// Returns the keys, by their dotted path, whose change would make a continued run differ from an uninterrupted one.
/// Paths of files are not included: their content is compared.
core::Json keys_that_affect_results(const TrainingConfig& config);

}  // namespace dragoman::training
