/* SPDX-License-Identifier: MIT */
#include "record/process/own_thread.h"

bool own_thread_start(pthread_t *thread, const pthread_attr_t *attributes, const sigset_t *but, void *(*run)(void *),
                      void *self)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (int number = 1; but && number <= SIGRTMAX; number++)
        if (sigismember(but, number) == 1)
            sigdelset(&blocked, number);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool good = pthread_create(thread, attributes, run, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}
