/* SPDX-License-Identifier: MIT */
/* Threads of the recorder beside its first one. */
#ifndef PYREEL_RECORD_PROCESS_OWN_THREAD_H
#define PYREEL_RECORD_PROCESS_OWN_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread that gets no signal: signals interrupt the sleep of the recorder's first thread. `attributes`: NULL
 * for the usual ones; the signals in the set `but` it gets all the same, unless `but` is NULL. */
bool own_thread_start(pthread_t *thread, const pthread_attr_t *attributes, const sigset_t *but, void *(*run)(void *),
                      void *self);

#endif
