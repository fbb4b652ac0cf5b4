__device__ __forceinline__ void LoadF32x4(float* to, const float* from) {
  const float4 value = *(const float4*)from;
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  to[3] = value.w;
}

extern "C" __global__ void __launch_bounds__(128)
row_sum_p0(
    const float* __restrict__ x,
    float* __restrict__ sum,
    unsigned char* Scratch, unsigned char* Counters) {
  extern __shared__ __align__(128) unsigned char SharedMemory[];
  float* const partial = (float*)(SharedMemory + 0);
  float total[1];
  const int block_index = blockIdx.x;
  const int thread_index = threadIdx.x;
  total[0] = 0.0f;
  for (int i = 0; i < 1024; i += 512) {
    float V0[4];
    LoadF32x4(V0, &x[block_index * 1024 + i + thread_index * 4]);
    float T1 = V0[0];
    T1 = T1 + V0[1];
    T1 = T1 + V0[2];
    T1 = T1 + V0[3];
    total[0] = total[0] + T1;
  }
  const float T2 = total[0];
  const float T3 = __shfl_xor_sync(0xffffffffu, T2, 16);
  total[0] = T2 + T3;
  const float T4 = total[0];
  const float T5 = __shfl_xor_sync(0xffffffffu, T4, 8);
  total[0] = T4 + T5;
  const float T6 = total[0];
  const float T7 = __shfl_xor_sync(0xffffffffu, T6, 4);
  total[0] = T6 + T7;
  const float T8 = total[0];
  const float T9 = __shfl_xor_sync(0xffffffffu, T8, 2);
  total[0] = T8 + T9;
  const float T10 = total[0];
  const float T11 = __shfl_xor_sync(0xffffffffu, T10, 1);
  total[0] = T10 + T11;
  if ((int)((unsigned)thread_index % 32u) == 0) {
    partial[(int)((unsigned)thread_index / 32u)] = total[0];
  }
  __syncthreads();
  if (thread_index == 0) {
    float V12[4];
    LoadF32x4(V12, &partial[0]);
    float T13 = V12[0];
    T13 = T13 + V12[1];
    T13 = T13 + V12[2];
    T13 = T13 + V12[3];
    sum[block_index] = T13;
  } else {
    __syncwarp();
  }
}
