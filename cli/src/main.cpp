#include "program.h"

int main(int argc, char** argv) {
  return dragoman::cli::run_program({argv + 1, argv + argc});
}
