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

/// What links of word alignments number.
enum class AlignmentUnits : std::uint8_t {
  kWords,   ///< what stands between blanks: each piece of a word is linked to each piece of its counterpart
  kPieces,  ///< those of the tokenizers
};

/// One part of a parallel corpus: files that are read one after the other, with their weight in the mix, tag and
/// languages.
struct CorpusPart {
  std::vector<corpus::PairFile> files{};
  /// How often an epoch has its pairs: ParallelCorpusConfig::weights.
  double weight = 1;
  /// What stands in front of every source: the token of that name if the vocabulary has one, else text (Johnson et al.
  /// 2017: <2de>; Caswell et al. 2019: <BT>). Empty: nothing.
  std::string tag{};
  /// As those of DataConfig, which are meant where these are empty.
  std::string source_language{};
  std::string target_language{};
  bool operator==(const CorpusPart&) const = default;
};

/// The files of a parallel corpus: either two texts that are parallel by line number, in one or more files a side, or
/// a list of parts.
struct ParallelCorpusConfig {
  std::vector<std::string> source;
  std::vector<std::string> target;
  /// The file of word alignments of each pair of files; empty: there are none.
  std::vector<std::string> alignment{};
  /// How often an epoch has the pairs of each pair of files, where it is not once: with 2.5 each pair comes twice, and
  /// half of them, others in each epoch, once more.
  std::vector<double> weights{};
  /// Instead of the members above: parts in any form.
  std::vector<CorpusPart> texts{};
  bool empty() const noexcept { return source.empty() && target.empty() && texts.empty(); }
};

/// The parts of a corpus; each pair of files of `source` and `target` is one.
std::vector<CorpusPart> parts_of(const ParallelCorpusConfig& pair);
/// Whether a part has word alignments.
bool has_alignments(const ParallelCorpusConfig& pair);

/// A part of a run with a mix of its own (a curriculum).
struct PhaseConfig {
  /// The phase ends with the epoch or the update of this number; one of them, and 0 for both in the last phase. An
  /// update that ends a phase ends its epoch.
  std::int64_t until_epoch = 0;
  std::int64_t until_update = 0;
  /// Of the texts of DataConfig::train, 0 for those that the phase leaves out; empty: DataConfig's own.
  std::vector<double> weights{};
  /// In place of weights, as DataConfig::temperature; 0: none.
  double temperature = 0;
  bool operator==(const PhaseConfig&) const = default;
};

/// Subword regularisation (Kudo 2018): each epoch sees other segmentations of a unigram tokenizer, drawn with
/// probability to the power of alpha among the n_best most probable ones, or among all (0).
struct SubwordSampling {
  bool on = false;
  double alpha = 0.2;
  std::int32_t n_best = 0;
};

struct ModelConfig {
  /// A model folder that training begins with: its type, configuration, special tokens and weights, and its tokenizers
  /// unless `data` names others. Empty: a new model.
  std::string from;
  /// Of `from`, begin only parameters of the same name and shape with the folder's values, and the others anew: for
  /// another type, or other numbers of layers.
  bool from_matching = false;
  /// Whether the members below, and DataConfig's tokenizers, hold what is meant. With `from`, a configuration that was
  /// read holds in `options` what it says otherwise than the folder; the trainer completes it.
  bool complete = true;
  std::string type = "transformer";
  /// What translation accepts, in tokens with the closing end token; training pairs obey DataConfig::maximum_length.
  std::int32_t maximum_source_length = 512;
  std::int32_t maximum_target_length = 512;
  /// Whether the first decoder input is the end token (as in fairseq) rather than the begin token.
  bool decoder_starts_with_end = false;
  /// The model type's own keys.
  core::Json options = core::Json::object();
};

/// What a table of embeddings begins with.
struct EmbeddingsConfig {
  /// Vectors in text, as word2vec and GloVe write them, or a .safetensors file with a matrix. Empty: the model's own
  /// initial values.
  std::string file;
  /// Of a safetensors file the tensor; empty: the only one.
  std::string tensor;
  /// Whether training leaves the table as it is.
  bool frozen = false;
  /// What the numbers of the file are multiplied by.
  double scale = 1;
};

struct DataConfig {
  ParallelCorpusConfig train;
  ParallelCorpusConfig validation;
  /// Files. One without a type must be such that it can be exported as a tokenizer.json; a named one is exported as it
  /// is.
  tokenizer::TokenizerSpec source_tokenizer;
  tokenizer::TokenizerSpec target_tokenizer;
  EmbeddingsConfig source_embeddings;
  EmbeddingsConfig target_embeddings;
  /// Of both sides, by the codes of the table of languages that the model which training begins with has; empty: what
  /// the table says.
  std::string source_language{};
  std::string target_language{};
  std::string begin = "<s>";
  std::string end = "</s>";
  std::string unknown = "<unk>";
  AlignmentUnits alignment_units = AlignmentUnits::kWords;
  /// Longest sentence in tokens of either side, the end token included; longer pairs are left out of training.
  std::int32_t maximum_length = 256;
  /// BPE-dropout (Provilkov et al. 2020) on both sides, drawn anew every epoch; 0 is off.
  double bpe_dropout = 0;
  /// Its like for unigram tokenizers.
  SubwordSampling subword_sampling{};
  /// Texts are mixed with p_i ~ n_i^(1/temperature) for n_i pairs (Arivazhagan et al. 2019), in epochs of as many pairs
  /// as there are; 1: as they are, or as the weights say.
  double temperature = 1;
  /// One after the other; empty: one mix from beginning to end.
  std::vector<PhaseConfig> phases{};
  /// Encoded pairs above so many bytes stand in blocks on disk, and are read a window of blocks at a time; 0: all pairs
  /// are kept in memory.
  std::uint64_t memory = 0;
  /// Where folders of blocks are, one for each text, tokenizer and limit; empty: `blocks` in the run's folder.
  std::string cache{};
  /// Pairs that are sorted by length at a time; 1 leaves them in random order.
  std::int64_t bucket_window = 8192;
};

/// Low-rank adapters (Hu et al. 2022, LoRA): of each weight W that is adapted, W + alpha / rank * B A is trained, with
/// A [rank, inputs] and B [outputs, rank], and nothing else.
struct LoraConfig {
  /// 0: the parameters themselves are trained.
  std::int64_t rank = 0;
  double alpha = 16;
  /// Patterns of names of linear layers' weights; none: all but the projection to the vocabulary.
  std::vector<std::string> targets{};
  bool on() const noexcept { return rank > 0; }
};

struct TrainConfig {
  /// Patterns of parameters' names, as a shell's: those that match none of `train_only`, if there is any, or one of
  /// `freeze`, keep their values.
  std::vector<std::string> train_only;
  std::vector<std::string> freeze;
  LoraConfig lora;
  std::uint64_t seed = 1;
  /// Training ends at whichever comes first; 0 is no limit.
  std::int64_t updates = 0;
  std::int64_t epochs = 0;
  /// Tokens of a batch: neither the source nor the target side has more. There is no padding to count. 0: as many as
  /// `memory` has room for.
  std::int64_t batch_tokens = 4096;
  /// What training may take, in bytes; 0 unless batch_tokens is.
  std::uint64_t memory = 0;
  /// Batches whose gradients are summed for one update, over all processes that train together.
  std::int64_t accumulate = 1;
  /// What tokens and pairs of a batch are rounded up to; 0: what the device keeps steps by (tensor::Backend).
  std::int64_t row_bucket = 0;
  /// See tensor::DeviceOptions.
  bool batch_invariant = false;
  std::uint64_t device_memory = 0;
  /// What weights are multiplied in, forward and backward: fp32, bf16, fp16 or auto.
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  /// Of fp16.
  LossScaleConfig loss_scale;
  /// Keep of each layer what goes in and out, and compute the rest again in the backward pass.
  bool recompute = false;
  double label_smoothing = 0.1;
  SmoothingKind label_smoothing_kind = SmoothingKind::kUniform;
  /// R-Drop (Liang et al. 2021): the weight alpha of the divergence between two passes; 0 is off.
  double r_drop = 0;
  /// Of texts that have word alignments.
  GuidedAlignmentConfig guided_alignment;
  WordDropoutConfig word_dropout;
  /// Largest global norm of an update's gradient; 0 is no limit.
  double clip_norm = 0;
  /// What elements of an update's gradient are cut to, before its norm is taken; 0 is no limit.
  double clip_value = 0;
  NonFinitePolicy on_non_finite = NonFinitePolicy::kStop;
  /// Updates that may be skipped or undone for what is not finite, in all; one more ends the run.
  std::int64_t non_finite_limit = 10;
  /// Decay of the moving average of the parameters that validation and export then use; 0 is off.
  double ema_decay = 0;
  /// Updates between lines of metrics.jsonl.
  std::int64_t report_every = 100;
  OptimizerConfig optimizer;
  ScheduleOptions schedule;
};

enum class ValidationMetric : std::uint8_t { kLoss, kPerplexity, kBleu, kChrf, kChrfPlusPlus, kTer, kCommand };

/// What becomes of a run whose external metric cannot be had.
enum class MetricFailure : std::uint8_t {
  kWarn,  ///< a warning; the value is not a number, which is never the best
  kStop,  ///< the run ends with an error, after a checkpoint
};

/// A figure that a program finds of the translations of the validation text.
struct ExternalMetric {
  std::string name{};
  /// The program and its arguments; {hypotheses}, {references} and {sources} in them stand for the names of files.
  std::vector<std::string> command{};
  bool higher_is_better = true;
  std::int64_t timeout = 600;  ///< in seconds
  MetricFailure failure = MetricFailure::kWarn;
};

/// What a validation measures.
struct MetricChoice {
  ValidationMetric kind = ValidationMetric::kBleu;
  ExternalMetric external{};  ///< of kCommand
  /// As in the configuration: "bleu", "chrf++", or that of the external one.
  std::string name() const;
  bool higher_is_better() const noexcept;
  /// Whether translations are needed for it.
  bool decodes() const noexcept { return kind != ValidationMetric::kLoss && kind != ValidationMetric::kPerplexity; }
};

inline bool higher_is_better(const MetricChoice& metric) noexcept {
  return metric.higher_is_better();
}

/// Whose patience ends training.
enum class StopOn : std::uint8_t {
  kMetric,  ///< that of the metric which chooses the best model
  kAny,     ///< that of any that is measured
  kAll,     ///< that of all that are measured
};

/// Which sentences of the validation text a validation shows with prediction and reference.
struct SampleConfig {
  /// Those at the beginning of the text: the same at every validation.
  std::int64_t first = 2;
  /// Drawn from the others, anew for every validation.
  std::int64_t random = 0;
  /// Whether each has a line in metrics.jsonl, too.
  bool in_metrics = false;
};

/// Settings of a beam search that are tried on a text with references.
struct TuneConfig {
  /// The values of the length penalty's alpha to try.
  std::vector<double> alpha{};
  /// The beam sizes to try. Empty: the beam size of the model.
  std::vector<std::int32_t> beam_size{};

  bool empty() const noexcept { return alpha.empty() && beam_size.empty(); }
};

struct ValidationConfig {
  /// Updates between validations; 0 validates at the end only, or at the ends of epochs.
  std::int64_t every = 1000;
  /// If not 0: validates at the end of every such epoch, whatever `every` is.
  std::int64_t every_epochs = 0;
  /// What is reported besides loss and perplexity.
  std::vector<MetricChoice> metrics{{.kind = ValidationMetric::kBleu}, {.kind = ValidationMetric::kChrf}};
  /// What chooses the best model and, with StopOn::kMetric, stops training.
  MetricChoice metric{.kind = ValidationMetric::kBleu};
  /// Validations in a row without a new best after which training ends; 0 never ends it.
  std::int64_t patience = 0;
  /// By how much a value must be better than the last that counted, to count for patience.
  double minimum_improvement = 0;
  StopOn stop_on = StopOn::kMetric;
  int beam_size = 1;
  double length_penalty = 1;
  /// Sentences decoded at a time, by their source tokens.
  std::int64_t batch_tokens = 2048;
  SampleConfig samples;
  /// What weights are multiplied in.
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  /// If not 0: training goes on while a validation runs on so many threads of its own. What it finds counts from the
  /// next validation on, and is waited for there, at each checkpoint and at the end.
  int threads = 0;
  /// Tried on the validation text when training is done; the best by `metric` (BLEU where that is loss or
  /// perplexity) stands in the folder of the best model.
  TuneConfig tune;

  /// Whether there are validations before the end of a run.
  bool repeated() const noexcept { return every > 0 || every_epochs > 0; }
  /// Whether training goes on meanwhile.
  bool concurrent() const noexcept { return threads > 0; }
};

enum class AverageOf : std::uint8_t { kLast, kBest };

struct CheckpointConfig {
  /// Updates between checkpoints; 0 makes one at the end only.
  std::int64_t every = 1000;
  std::int64_t keep = 2;
  /// Checkpoints whose parameters are averaged at the end; 0 is off.
  std::int64_t average = 0;
  AverageOf average_of = AverageOf::kBest;
  /// Whether exported models hold 16-bit floats.
  bool export_f16 = false;
};

/// What a run writes for people to see how it goes.
struct LoggingConfig {
  /// Event files in the folder `tensorboard`.
  bool tensorboard = false;
};

/// All that a training run can be told. The annotated file examples/multi30k/train.yml explains every key.
struct TrainingConfig {
  std::string output;
  /// 0: as many as the process may keep busy. Results do not depend on it.
  int threads = 0;
  std::string device = "cpu";
  ModelConfig model;
  DataConfig data;
  TrainConfig training;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  LoggingConfig logging{};
};

/// Reads and checks a configuration tree; `where` names its file in messages. Unknown and mistyped keys are
/// Error{kBadInput} with the nearest key that exists.
TrainingConfig read_training_config(const core::Json& tree, const std::string& where);
/// What that finds in a file, found in a configuration that was made otherwise: Error{kBadInput}.
void check(const TrainingConfig& config);
/// The whole configuration with every key; read_training_config() reads it back.
core::Json to_json(const TrainingConfig& config);

/// The keys whose change would make a continued run differ from an uninterrupted one, by their dotted path. Paths of
/// files are not among them: their content is compared.
core::Json keys_that_affect_results(const TrainingConfig& config);

}  // namespace dragoman::training
