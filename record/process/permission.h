/* SPDX-License-Identifier: MIT */
/* Why a process may not be read. The kernel only says "not permitted"; here the causes are looked at one by one, so
 * that the message names the one that holds and what to do about it. */
#ifndef PYREEL_RECORD_PROCESS_PERMISSION_H
#define PYREEL_RECORD_PROCESS_PERMISSION_H

#include "formats/base/fault.h"

#include <sys/types.h>

/* Puts the cause and the way out into `why`; returns false. */
bool permission_explain(pid_t pid, struct fault *why);

#endif
