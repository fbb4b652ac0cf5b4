/* The members of mlc_model_api in libraries for CPUs, by the same names. Internal to the runtime.
   C11. */
#ifndef MLC_COMPILER_RUNTIME_MODEL_API_H_
#define MLC_COMPILER_RUNTIME_MODEL_API_H_

#include "compiler/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

mlc_status mlc_runtime_open(const mlc_model_api* api, const char* weights_path, mlc_model** model);
void mlc_runtime_close(mlc_model* model);
int32_t mlc_runtime_input_count(const mlc_model* model);
int32_t mlc_runtime_output_count(const mlc_model* model);
const mlc_port* mlc_runtime_input(const mlc_model* model, int32_t index);
const mlc_port* mlc_runtime_output(const mlc_model* model, int32_t index);
int64_t mlc_runtime_session_bytes(const mlc_model* model, int32_t threads);
mlc_status mlc_runtime_create_session(const mlc_model* model, const mlc_session_options* options,
                                      mlc_session** session);
void mlc_runtime_destroy_session(mlc_session* session);
mlc_status mlc_runtime_run(mlc_session* session, const void* const* inputs, void* const* outputs);
const mlc_port* mlc_runtime_result(const mlc_session* session, int32_t index);
int32_t mlc_runtime_step_count(const mlc_model* model);
const char* mlc_runtime_step_label(const mlc_model* model, int32_t step);
mlc_status mlc_runtime_run_profiled(mlc_session* session, const void* const* inputs,
                                    void* const* outputs, double* step_ns);
const char* mlc_runtime_status_text(mlc_status status);
mlc_status mlc_runtime_open_with(const mlc_model_api* api, const mlc_open_options* options,
                                 mlc_model** model);
int32_t mlc_runtime_device(const mlc_model* model);
const char* mlc_runtime_session_error(const mlc_session* session);
int32_t mlc_runtime_in_place_input(const mlc_model* model, int32_t output);
mlc_status mlc_runtime_read_cache(mlc_session* session, int32_t output, void* buffer);
mlc_status mlc_runtime_write_cache(mlc_session* session, int32_t output, const void* buffer);
mlc_status mlc_runtime_run_device(mlc_session* session, void* stream, const void* const* inputs,
                                  void* const* outputs);
mlc_status mlc_runtime_run_timed(mlc_session* session, const void* const* inputs,
                                 void* const* outputs, int32_t runs, double* run_ns);

#ifdef __cplusplus
}
#endif

#endif
