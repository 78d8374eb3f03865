// Loads a model and translates standard input:  translate MODEL < input > output
#include <iostream>

#include <dragoman/dragoman.h>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: translate MODEL < input > output\n";
    return 2;
  }
  const dragoman::Model model(argv[1]);
  const dragoman::Translator translator(model, {.beam_size = 5});
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  for (const std::string& translation : translator.translate_batch(lines)) std::cout << translation << '\n';
} catch (const dragoman::Error& error) {
  std::cerr << "translate: " << error.what() << '\n';
  return 1;
}
