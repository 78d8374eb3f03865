// Learns a vocabulary and trains a small model:  train SOURCE TARGET FOLDER
#include <iostream>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/training/trainer.h>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: train SOURCE TARGET FOLDER\n";
    return 2;
  }
  const std::string source = argv[1], target = argv[2], folder = argv[3];
  const std::string tokenizer = folder + ".tokenizer.json";
  dragoman::tokenizer::learn_bpe({source, target}, {.vocab_size = 1000}).save(tokenizer);

  dragoman::training::TrainingConfig config;
  config.output = folder;
  config.model.options = {
      {"d_model", 64}, {"heads", 4}, {"feed_forward", 128}, {"encoder_layers", 2}, {"decoder_layers", 2}};
  config.data.train = {{source}, {target}};
  config.data.source_tokenizer = config.data.target_tokenizer = {.file = tokenizer};
  config.training.updates = 200;
  config.training.batch_tokens = 2048;

  dragoman::plugins::Host host;
  auto environment = dragoman::training::make_environment(host);
  environment.log = [](auto, std::string_view message) { std::cerr << message << '\n'; };
  dragoman::training::Trainer trainer(config, environment, dragoman::training::StartMode::kFresh);
  std::cout << "model: " << trainer.run().model.string() << '\n';
} catch (const dragoman::core::Error& error) {
  std::cerr << "train: " << error.what() << '\n';
  return 1;
}
