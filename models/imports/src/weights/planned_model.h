#pragma once

#include "weights/weight_plan.h"

#include <memory>

#include <dragoman/plugins/model_importer.h>

namespace dragoman::imports {

/// A foreign model of which is known which arrays its parameters are made of. The plan has been checked.
class PlannedModel final : public plugins::ForeignModel {
 public:
  PlannedModel(plugins::ModelDescription description, std::unique_ptr<ForeignWeights> weights, WeightPlan plan)
      : description_(std::move(description)), weights_(std::move(weights)), plan_(std::move(plan)) {}

  plugins::ModelDescription describe() const override { return description_; }
  /// check_plan() has compared all shapes.
  void check(const nn::ParameterStore&) const override {}
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override;
  /// check_plan() has seen that nothing is left.
  void finish() override {}

 private:
  plugins::ModelDescription description_;
  std::unique_ptr<ForeignWeights> weights_;
  WeightPlan plan_;
};

}  // namespace dragoman::imports
