// A kernel that needs curand's headers, the runtime and the driver: what FlashInfer's builds need.
#include <cuda.h>
#include <curand_kernel.h>
#include <cub/cub.cuh>

__global__ void draw(float *out, unsigned long long seed) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  float sum = Reduce(storage).Sum(curand_uniform(&state));
  if (threadIdx.x == 0) *out = sum;
}

int main() {
  // Without a driver cuInit answers with an error; linking it is what matters.
  if (cuInit(0) != CUDA_SUCCESS) return 7;
  float *out;
  if (cudaMalloc(&out, sizeof *out) != cudaSuccess) return 8;
  draw<<<1, 128>>>(out, 1);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 9;
}
