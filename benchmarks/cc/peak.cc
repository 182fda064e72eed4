// What the CPU can do at most in fp32: a loop of fused multiply-adds that stays
// in registers, on every thread. Prints GFLOP/s.
//
//   peak <threads> <seconds>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
#if defined(__aarch64__)
#define IN_REGISTER "+w"
#else
#define IN_REGISTER "+v"
#endif
// Enough sums to hide the latency of the two units, and few enough to stay in
// registers.
constexpr int kAccumulators = 12;
constexpr int kRounds = 100000;
constexpr double kFlopsPerCall = 2.0 * kWidth * kAccumulators * kRounds;

typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));

float MultiplyAndAdd(float seed) {
  const Vector factor = Vector{} + 0.5f, addend = Vector{} + seed;
  Vector sums[kAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kAccumulators; ++i) {
    sums[i] = addend + static_cast<float>(i);
  }
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i) {
      sums[i] = sums[i] * factor + addend;
    }
    // Keeps the compiler from joining rounds, and keeps the sums in their
    // registers.
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i)
      asm volatile("" : IN_REGISTER(sums[i]));
  }
  Vector total = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kAccumulators; ++i) total += sums[i];
  return total[0];
}

double Now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

void Run(double seconds, double* gflops) {
  volatile float sink = MultiplyAndAdd(1.0f);
  const double start = Now();
  double calls = 0;
  while (Now() - start < seconds) {
    sink = MultiplyAndAdd(sink);
    ++calls;
  }
  *gflops = calls * kFlopsPerCall / (Now() - start) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
  if (threads < 1 || seconds <= 0) {
    std::fprintf(stderr, "peak: expected <threads> >= 1 and <seconds> > 0\n");
    return 2;
  }
  std::vector<double> gflops(threads);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back(Run, seconds, &gflops[t]);
  }
  Run(seconds, &gflops[0]);
  for (std::thread& other : others) other.join();
  double total = 0;
  for (double g : gflops) total += g;
  std::printf("%.3f\n", total);
}
