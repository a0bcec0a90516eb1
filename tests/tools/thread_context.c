/* SPDX-License-Identifier: MIT */
/* A library that publishes on which span each thread works, as OpenTelemetry's libraries do (OTEP 4947). Built once for
 * each way in which code finds a variable of a thread. `room` makes the library's block too large for the room that the
 * C library keeps free, so that each thread has it somewhere else. */
#include <stddef.h>

__attribute__((visibility("default"))) __thread const void *otel_thread_ctx_v1;

#ifdef ROOM
static __thread char room[ROOM];
#endif

/* The thread works on the span of a record from now on; NULL: on none. */
void attach(const void *record);

__attribute__((visibility("default"))) void attach(const void *record)
{
#ifdef ROOM
    *(volatile char *)room = 1;
#endif
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(const void *volatile *)&otel_thread_ctx_v1 = record;
}
