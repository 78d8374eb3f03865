#pragma once

#include "weights/weight_plan.h"

#include <memory>

#include <dragoman/formats/model_importer.h>

namespace dragoman::imports {

/// A model of another toolkit whose parameters are built from arrays according to a plan. The plan has been checked.
class PlannedModel final : public formats::ImportedModel {
 public:
  PlannedModel(std::filesystem::path path, formats::ModelContents contents, std::unique_ptr<ForeignWeights> weights,
               WeightPlan plan)
      : ImportedModel(std::move(path), std::move(contents)), weights_(std::move(weights)), plan_(std::move(plan)) {}

  /// check_plan() has compared all shapes.
  void check(const nn::ParameterStore&) const override {}
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override;
  /// check_plan() has verified that no array is left.
  void finish() override {}

 private:
  std::unique_ptr<ForeignWeights> weights_;
  WeightPlan plan_;
};

}  // namespace dragoman::imports
