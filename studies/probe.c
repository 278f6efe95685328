// Fused multiply-adds in registers, on every CPU that this process may use at once; the slowest thread's nanoseconds.
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

enum { MOST = 1024, STEPS = 250000, CHAINS = 10 };
static pthread_barrier_t all_there;
static volatile float sink;
typedef struct { int cpu; int64_t ns; } job;

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

__attribute__((target("avx2,fma"))) static void compute(void) {
  __m256 one = _mm256_set1_ps(1.f), factor = _mm256_set1_ps(.999f), chain[CHAINS];
  for (int each = 0; each < CHAINS; each++) chain[each] = _mm256_set1_ps(each);
  for (int step = 0; step < STEPS; step++)
    for (int each = 0; each < CHAINS; each++) chain[each] = _mm256_fmadd_ps(chain[each], factor, one);
  float values[8];
  for (int each = 0; each < CHAINS; each++) { _mm256_storeu_ps(values, chain[each]); sink += values[0]; }
}

static void *run(void *given) {
  job *own = given;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(own->cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  pthread_barrier_wait(&all_there);
  int64_t begin = now();
  compute();
  own->ns = now() - begin;
  return 0;
}

int64_t probe(void) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  pthread_t threads[MOST];
  job jobs[MOST];
  int count = 0;
  for (int cpu = 0; cpu < MOST; cpu++)
    if (CPU_ISSET(cpu, &allowed)) jobs[count++] = (job){cpu, 0};
  pthread_barrier_init(&all_there, 0, count);
  for (int each = 0; each < count; each++) pthread_create(threads + each, 0, run, jobs + each);
  int64_t slowest = 0;
  for (int each = 0; each < count; each++) {
    pthread_join(threads[each], 0);
    if (jobs[each].ns > slowest) slowest = jobs[each].ns;
  }
  pthread_barrier_destroy(&all_there);
  return slowest;
}
