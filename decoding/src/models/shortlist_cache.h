#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/step_model.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/tensor/context.h>

namespace dragoman::decoding {

/// Gathers the outputs of a model's projection that the sentences in flight may choose, so that a step computes only
/// these. A column is kept after its last sentence has gone, until another token needs the room, so that new sentences
/// copy only the few outputs that are missing. Belongs to one stepper. Results do not depend on the gathered columns.
class ShortlistCache {
 public:
  /// Announces that rows may have this slot.
  void admit(std::int32_t slot);
  /// If every row has a list, and the lists together leave out at least half of the vocabulary, gathers the missing
  /// outputs in a separate step and returns true. Otherwise returns false: the caller computes the whole projection.
  /// Only packed weights can be gathered from. `generation` changes when the projection has changed.
  bool prepare(tensor::Context& context, const ops::Projection& projection, std::int64_t generation,
               const StepRequest& request);
  /// Announces that the sentence of this slot, if there is one, has been released.
  void release(std::int32_t slot);

  /// After prepare(): the arrays that the step must upload, parallel to the request's `shortlist`, and the outputs to
  /// use.
  std::span<const ops::ShortlistColumn> shortlist_columns() const noexcept { return shortlist_columns_; }
  const ops::ShortlistOutputs* outputs() const noexcept { return outputs_.get(); }
  std::int64_t columns() const noexcept { return columns_; }
  /// Changes whenever outputs() has changed.
  std::int64_t generation() const noexcept { return outputs_generation_; }

 private:
  struct Slot {
    std::vector<std::int32_t> tokens;  ///< empty: no list is held
    std::vector<ops::ShortlistColumn> shortlist_columns;
  };

  void begin(tensor::Context& context, const ops::Projection& projection, std::int64_t generation);
  bool hold(std::int32_t slot, std::span<const std::int32_t> tokens);
  bool make_room(std::span<const std::int32_t> tokens);
  void use(std::int32_t column);
  void place(std::int32_t token);
  void drop_unused();
  void gather(tensor::Context& context, const ops::Projection& projection);

  std::int64_t projection_generation_ = -1;
  std::int64_t most_columns_ = 0;  ///< 0: gathering is disabled
  std::unique_ptr<ops::ShortlistOutputs> outputs_;
  std::int64_t outputs_generation_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t used_columns_ = 0;              ///< by any sentence
  std::size_t hand_ = 0;                       ///< position of the search for an unused column
  std::vector<std::int32_t> column_of_;        ///< column of each token; -1: none
  std::vector<std::int32_t> token_in_;         ///< token of each column; -1: none
  std::vector<std::int32_t> sentences_;        ///< number of sentences that use each column
  std::vector<ops::ShortlistSource> missing_;  ///< assigned, but not gathered yet
  std::vector<Slot> slots_;
  std::vector<ops::ShortlistColumn> shortlist_columns_;
};

}  // namespace dragoman::decoding
