#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/step_model.h>
#include <dragoman/ops/project_shortlist_top_k.h>
#include <dragoman/tensor/context.h>

namespace dragoman::decoding {

/// The outputs of a model's projection that the sentences in flight may choose, gathered, so that a step computes these
/// alone. A column is kept when the last sentence that needs it goes, until another token needs room: so sentences that
/// come and go copy the few outputs that are new. Belongs to one stepper; results do not depend on what is gathered.
class ShortlistCache {
 public:
  /// There may be rows of this slot.
  void admit(std::int32_t slot);
  /// If every row has a list, and the lists together leave out at least half of the vocabulary, gathers the missing
  /// outputs in a separate step and returns true. Otherwise returns false: the caller computes the whole projection.
  /// Only packed weights can be gathered from. `generation` changes when the projection has changed.
  bool prepare(tensor::Context& context, const ops::Projection& projection, std::int64_t generation,
               const StepRequest& request);
  /// The sentence of this slot, if it has one, is gone.
  void release(std::int32_t slot);

  /// After prepare(): what the step has to upload, parallel to the request's `shortlist`, and what it looks at.
  std::span<const ops::ShortlistColumn> shortlist_columns() const noexcept { return shortlist_columns_; }
  const ops::ShortlistOutputs* outputs() const noexcept { return outputs_.get(); }
  std::int64_t columns() const noexcept { return columns_; }
  /// Another one whenever outputs() has changed.
  std::int64_t generation() const noexcept { return outputs_generation_; }

 private:
  struct Slot {
    std::vector<std::int32_t> tokens;  ///< empty: nothing is held for it
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
  std::int64_t most_columns_ = 0;  ///< 0: there is no gathering
  std::unique_ptr<ops::ShortlistOutputs> outputs_;
  std::int64_t outputs_generation_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t used_columns_ = 0;              ///< by any sentence
  std::size_t hand_ = 0;                       ///< where the next unused column is looked for
  std::vector<std::int32_t> column_of_;        ///< of each token; -1: none
  std::vector<std::int32_t> token_in_;         ///< of each column; -1: none
  std::vector<std::int32_t> sentences_;        ///< that use each column
  std::vector<ops::ShortlistSource> missing_;  ///< placed, but not gathered yet
  std::vector<Slot> slots_;
  std::vector<ops::ShortlistColumn> shortlist_columns_;
};

}  // namespace dragoman::decoding
