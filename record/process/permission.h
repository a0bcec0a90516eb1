/* SPDX-License-Identifier: MIT */
/* Explains why a process may not be read. The kernel only says "not permitted". This module checks the possible causes
 * one by one, so that the message names the cause and what to do about it. */
#ifndef PYREEL_RECORD_PROCESS_PERMISSION_H
#define PYREEL_RECORD_PROCESS_PERMISSION_H

#include "formats/base/fault.h"

#include <sys/types.h>

/* Puts the cause, and what to do, into `why`. Always returns false. */
bool permission_explain(pid_t pid, struct fault *why);

#endif
