// The limits of one core of this machine, for bench/budget: the products that its instructions make in registers, and
// the bytes that it reads from buffers of several sizes. Each figure is the best of several short runs.
//
//   machine_limits [BYTES...]
//
// Lines of the output: `products TYPE INSTRUCTIONS G/s` and `read BYTES GB/s`.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if defined(__x86_64__)
#include <sys/syscall.h>

#include <immintrin.h>
#include <unistd.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 7;
constexpr std::int64_t kRepeats = 2'000'000;
/// Independent sums, which hide the latency of an instruction.
constexpr int kSums = 12;

volatile std::int64_t g_sink = 0;  ///< of results, so that they are computed

/// Work done in a nanosecond, which is thousand millions a second.
template <class Body>
double rate(double work, const Body& body) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    body();
    best = std::max(best, work / std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return best;
}

void print(const char* type, const char* instructions, double products) {
  std::printf("products %s %s %.1f\n", type, instructions, products);
}

#if defined(__x86_64__)

/// Adds to each sum of a group, kRepeats times. The empty instructions keep sums in registers, and none is left out.
#define DRAGOMAN_REPEAT(Vector, zero, step)   \
  Vector sums[kSums];                         \
  for (auto& sum : sums) sum = zero;          \
  for (std::int64_t i = 0; i < kRepeats; ++i) \
    for (auto& sum : sums) {                  \
      step;                                   \
      asm volatile("" : "+v"(sum));           \
    }                                         \
  for (const auto& sum : sums) asm volatile("" ::"v"(sum))

__attribute__((target("avx2,fma"))) void fma_avx2() {
  const __m256 x = _mm256_set1_ps(1.0F);
  DRAGOMAN_REPEAT(__m256, _mm256_setzero_ps(), sum = _mm256_fmadd_ps(x, x, sum));
}

/// As the kernel for AVX2 does it: two sums of pairs are added in 16 bits before they are widened.
__attribute__((target("avx2"))) void bytes_avx2() {
  const __m256i x = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i y = x;
  DRAGOMAN_REPEAT(__m256i, _mm256_setzero_si256(), {
    asm volatile("" : "+v"(y));
    const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(x, y), _mm256_maddubs_epi16(y, x));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
}

__attribute__((target("avx512f"))) void fma_avx512() {
  const __m512 x = _mm512_set1_ps(1.0F);
  DRAGOMAN_REPEAT(__m512, _mm512_setzero_ps(), sum = _mm512_fmadd_ps(x, x, sum));
}

__attribute__((target("avx512f,avx512vnni"))) void bytes_vnni() {
  const __m512i x = _mm512_set1_epi8(1);
  DRAGOMAN_REPEAT(__m512i, _mm512_setzero_si512(), asm("vpdpbusd %1, %1, %0" : "+v"(sum) : "v"(x)));
}

__attribute__((target("avx512f,avx512bf16"))) void bf16_avx512() {
  const __m512i x = _mm512_set1_epi16(0x3F80);
  DRAGOMAN_REPEAT(__m512, _mm512_setzero_ps(), asm("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(x)));
}
#undef DRAGOMAN_REPEAT

/// Asks the kernel for the tiles' registers; false if it does not know them.
bool may_use_tiles() {
  constexpr long kRequestFeature = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestFeature, kTileData) == 0;
}

constexpr std::int64_t kTileRepeats = kRepeats / 50;
constexpr int kTileSums = 4;

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// In static memory, because GCC 12 does not know that the instruction reads all of it.
constexpr TileConfiguration kTiles;

#define DRAGOMAN_TILES(product)                     \
  _tile_loadconfig(&kTiles);                        \
  _tile_zero(0);                                    \
  _tile_zero(1);                                    \
  _tile_zero(2);                                    \
  _tile_zero(3);                                    \
  _tile_zero(4);                                    \
  _tile_zero(5);                                    \
  for (std::int64_t i = 0; i < kTileRepeats; ++i) { \
    product(0, 4, 5);                               \
    product(1, 4, 5);                               \
    product(2, 4, 5);                               \
    product(3, 4, 5);                               \
  }                                                 \
  _tile_release()

__attribute__((target("amx-tile,amx-int8"))) void bytes_tiles() {
  DRAGOMAN_TILES(_tile_dpbusd);
}
__attribute__((target("amx-tile,amx-bf16"))) void bf16_tiles() {
  DRAGOMAN_TILES(_tile_dpbf16ps);
}
#undef DRAGOMAN_TILES

void print_products() {
  const auto measure = [](const char* type, const char* instructions, int products, void (*body)()) {
    print(type, instructions, rate(static_cast<double>(kRepeats) * kSums * products, body));
  };
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    measure("fp32", "avx2", 8, fma_avx2);
    measure("int8", "avx2", 64, bytes_avx2);
  }
  if (__builtin_cpu_supports("avx512f")) measure("fp32", "avx512", 16, fma_avx512);
  if (__builtin_cpu_supports("avx512vnni")) measure("int8", "vnni", 64, bytes_vnni);
  if (__builtin_cpu_supports("avx512bf16")) measure("bf16", "avx512", 32, bf16_avx512);
  if (!may_use_tiles()) return;
  constexpr double kProducts = static_cast<double>(kTileRepeats) * kTileSums * 16 * 16;
  print("int8", "amx", rate(kProducts * 64, [] { bytes_tiles(); }));
  print("bf16", "amx", rate(kProducts * 32, [] { bf16_tiles(); }));
}

#else

/// The compiler's vectors, which are those of every processor of this kind.
void print_products() {
  std::vector<float> sums(64, 0.0F);
  const float x = 1.0F;
  print("fp32", "vectors", rate(static_cast<double>(kRepeats) * 64, [&] {
          for (std::int64_t i = 0; i < kRepeats; ++i)
            for (float& sum : sums) sum += x * static_cast<float>(i);
          g_sink = static_cast<std::int64_t>(sums[0]);
        }));
}

#endif

void print_read(std::size_t bytes) {
  constexpr std::size_t kAtOnce = 8;
  constexpr double kLeastBytes = 400e6;
  std::vector<std::uint64_t> words(std::max<std::size_t>(bytes / sizeof(std::uint64_t) / kAtOnce, 1) * kAtOnce, 1);
  const auto passes = static_cast<int>(std::max(1.0, kLeastBytes / static_cast<double>(bytes)));
  const double work = passes * static_cast<double>(words.size() * sizeof(std::uint64_t));
  std::printf("read %zu %.1f\n", bytes, rate(work, [&] {
                std::uint64_t sums[kAtOnce] = {};
                for (int pass = 0; pass < passes; ++pass)
                  for (std::size_t i = 0; i < words.size(); i += kAtOnce)
                    for (std::size_t lane = 0; lane < kAtOnce; ++lane) sums[lane] += words[i + lane];
                for (const std::uint64_t sum : sums) g_sink = g_sink + static_cast<std::int64_t>(sum);
              }));
}

}  // namespace

int main(int argc, char** argv) {
  print_products();
  for (int i = 1; i < argc; ++i) print_read(std::strtoull(argv[i], nullptr, 10));
  return 0;
}
