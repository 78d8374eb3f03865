#pragma once

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::nn {

/// Returns whether the decoder's first input is a vector of zeros, as in Marian: the row of spec().decoder_start in the
/// target's table has no other values. False if the model does not declare the table. The parameters must have values.
bool starts_from_zeros(const Seq2SeqModel& model);

}  // namespace dragoman::nn
