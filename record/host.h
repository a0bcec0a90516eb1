/* SPDX-License-Identifier: MIT */
/* What the recording says of the machine it was made on. */
#ifndef PYREEL_RECORD_HOST_H
#define PYREEL_RECORD_HOST_H

#include "formats/event.h"

/* Fills host, kernel, machine, processor, processors and memory; the texts live as long as the program. */
void host_describe(struct recording *recording);

#endif
