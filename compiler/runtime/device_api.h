/* The members of mlc_model_api that differ in libraries for GPUs, whose table points at a
   mlc_device_image; by the same names. Internal to the runtime. C11. */
#ifndef MLC_COMPILER_RUNTIME_DEVICE_API_H_
#define MLC_COMPILER_RUNTIME_DEVICE_API_H_

#include "compiler/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

mlc_status mlc_device_open(const mlc_model_api* api, const char* weights_path, mlc_model** model);
mlc_status mlc_device_open_with(const mlc_model_api* api, const mlc_open_options* options,
                                mlc_model** model);
void mlc_device_close(mlc_model* model);
int64_t mlc_device_session_bytes(const mlc_model* model, int32_t threads);
mlc_status mlc_device_create_session(const mlc_model* model, const mlc_session_options* options,
                                     mlc_session** session);
void mlc_device_destroy_session(mlc_session* session);
mlc_status mlc_device_run(mlc_session* session, const void* const* inputs, void* const* outputs);
mlc_status mlc_device_run_profiled(mlc_session* session, const void* const* inputs,
                                   void* const* outputs, double* step_ns);
int32_t mlc_device_device(const mlc_model* model);
const char* mlc_device_session_error(const mlc_session* session);
mlc_status mlc_device_read_cache(mlc_session* session, int32_t output, void* buffer);
mlc_status mlc_device_write_cache(mlc_session* session, int32_t output, const void* buffer);
mlc_status mlc_device_run_device(mlc_session* session, void* stream, const void* const* inputs,
                                 void* const* outputs);
mlc_status mlc_device_run_timed(mlc_session* session, const void* const* inputs,
                                void* const* outputs, int32_t runs, double* run_ns);

#ifdef __cplusplus
}
#endif

#endif
