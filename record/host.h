/* SPDX-License-Identifier: MIT */
/* What the recording says of the machine it was made on. */
#ifndef PYREEL_RECORD_HOST_H
#define PYREEL_RECORD_HOST_H

#include "formats/model/event.h"

/* Fills host, kernel, machine, processor, processors and memory. */
void host_describe(struct recording *recording);

/* Frees the texts that host_describe() made. */
void host_forget(struct recording *recording);

#endif
