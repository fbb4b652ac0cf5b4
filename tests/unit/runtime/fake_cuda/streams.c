/* Streams, events and graphs. */
#include <stdlib.h>

#include "driver.h"

int cuStreamCreate(mlc_cu_stream* stream, unsigned flags) {
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  ++fake_held;
  return 0;
}
int cuStreamDestroy_v2(mlc_cu_stream stream) {
  free(stream);
  --fake_held;
  return 0;
}
int cuStreamSynchronize(mlc_cu_stream stream) {
  (void)stream;
  return fake_failure("cuStreamSynchronize");
}
int cuStreamWaitEvent(mlc_cu_stream stream, mlc_cu_event event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  fake_note("wait\n");
  return 0;
}
int cuEventCreate(mlc_cu_event* event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof **event);
  ++fake_held;
  return 0;
}
int cuEventDestroy_v2(mlc_cu_event event) {
  free(event);
  --fake_held;
  return 0;
}
int cuEventRecord(mlc_cu_event event, mlc_cu_stream stream) {
  if (stream != NULL && stream->captured != NULL) fake_note("record in a capture\n");
  event->at = fake_now_ms;
  return 0;
}
int cuEventSynchronize(mlc_cu_event event) {
  (void)event;
  return 0;
}
int cuEventElapsedTime(float* milliseconds, mlc_cu_event start, mlc_cu_event end) {
  *milliseconds = (float)(end->at - start->at);
  return 0;
}
int cuStreamBeginCapture_v2(mlc_cu_stream stream, int mode) {
  (void)mode;
  stream->captured = calloc(1, sizeof *stream->captured);
  return fake_failure("cuStreamBeginCapture");
}
int cuStreamEndCapture(mlc_cu_stream stream, mlc_cu_graph* graph) {
  *graph = stream->captured;
  stream->captured = NULL;
  ++fake_held;
  return 0;
}
int cuStreamIsCapturing(mlc_cu_stream stream, int* status) {
  *status = stream->captured != NULL;
  return 0;
}
int cuGraphInstantiateWithFlags(mlc_cu_graph_exec* exec, mlc_cu_graph graph,
                                unsigned long long flags) {
  (void)flags;
  const int result = fake_failure("cuGraphInstantiateWithFlags");
  if (result != 0) return result;
  *exec = malloc(sizeof **exec);
  (*exec)->graph = *graph;
  fake_note("instantiate %d\n", graph->count);
  ++fake_held;
  return 0;
}
int cuGraphExecUpdate_v2(mlc_cu_graph_exec exec, mlc_cu_graph graph, mlc_cu_graph_update* info) {
  (void)info;
  const int result = fake_failure("cuGraphExecUpdate");
  if (result != 0) return result;
  exec->graph = *graph;
  fake_note("update %d\n", graph->count);
  return 0;
}
int cuGraphUpload(mlc_cu_graph_exec exec, mlc_cu_stream stream) {
  (void)exec, (void)stream;
  return 0;
}
int cuGraphLaunch(mlc_cu_graph_exec exec, mlc_cu_stream stream) {
  (void)stream;
  const int result = fake_failure("cuGraphLaunch");
  if (result != 0) return result;
  fake_note("graph_launch %d\n", exec->graph.count);
  for (int i = 0; i < exec->graph.count; ++i) fake_execute(&exec->graph.calls[i]);
  return 0;
}
int cuGraphExecDestroy(mlc_cu_graph_exec exec) {
  free(exec);
  --fake_held;
  return 0;
}
int cuGraphDestroy(mlc_cu_graph graph) {
  free(graph);
  --fake_held;
  return 0;
}
