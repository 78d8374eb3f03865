#pragma once

// The SDK: every Dragoman header that a plugin may include. The fingerprint of a plugin is a hash of these headers and
// all that they include (cmake/SdkHeaders.cmake). The loader rejects a plugin that was compiled before one of them
// changed. Plugins should not include this file. They include <dragoman/plugins/plugin.h> and the headers that they
// use.

#include <dragoman/plugins/plugin.h>

// Errors, options, files and texts.
#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/json_fwd.h>
#include <dragoman/core/log.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/random.h>
#include <dragoman/core/sizes.h>
#include <dragoman/core/utf8.h>

// Tensors, devices and kernels.
#include <dragoman/autograd/tape.h>
#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/tensor/int8.h>
#include <dragoman/tensor/kernel_launch.h>
#include <dragoman/tensor/kernel_table.h>

// Ops.
#include <dragoman/ops/adam.h>
#include <dragoman/ops/alignment_loss.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/choose_next.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/extend_lists.h>
#include <dragoman/ops/feed_forward.h>
#include <dragoman/ops/kernels.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/paired_cross_entropy.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/recompute.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/slice.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/types.h>
#include <dragoman/ops/update.h>
#include <dragoman/ops/update_rules.h>

// Layers and models.
#include <dragoman/nn/constant.h>
#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/nn/positions.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/embeddings.h>
#include <dragoman/transformer/transformer.h>
#include <dragoman/transformer/transformer_variant.h>
#include <dragoman/transformer/vocabulary_matrices.h>

// Searches, tokenizers, stages, importers, links between processes.
#include <dragoman/collective/device_links.h>
#include <dragoman/collective/launch.h>
#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/strategy.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/model_importer.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/pipeline_api/stage.h>
#include <dragoman/plugins/registrar.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/tokenizer_spec.h>
